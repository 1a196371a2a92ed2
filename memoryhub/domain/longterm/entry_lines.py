"""One line of exported long-term memory: an entry with its provenance, checks, history and settled pairs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.utils.dateparse import parse_datetime

from memoryhub.detectors import secrets
from memoryhub.domain import quarantine, spaces
from memoryhub.domain.longterm import conflicts, entries
from memoryhub.domain.longterm.indexing import index
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Agent, EntryPair, EntryRevision, LongtermEntry, Proposal, Record, Space
from memoryhub.text import input_checks

FIELDS = (
    "content", "scope", "revision", "state", "session_id", "reason", "metadata", "checked_by", "actor_kind", "actor_name",
)  # fmt: skip
CAME_FROM = "came_from"  # in the metadata: the record and proposal of the space it was brought from
MOMENTS = ("checked_at", "retired_at", "created_at", "modified_at")
BESIDE = ("agent", "record", "proposal", "review_by")
WHOLE = ("content", "metadata")  # looked at in their own ways
OF_PART = (
    "number", "content", "state", "reason", "actor_kind", "actor_name", "created_at",
    "with", "kind", "cosine", "verdict", "settled_by", "settled_at",
)  # fmt: skip
NAMES = frozenset(("number", "history", "settled", *FIELDS, *MOMENTS, *BESIDE, *OF_PART))  # of what a line holds
# Reasons that the hub itself wrote: the numbers in them mean entries of the same file.
NAMES_ENTRIES = re.compile(r"(?:replaced by|merged with) L-\d+(?:, L-\d+)*|L-\d+ says it")


def as_line(entry: LongtermEntry, settled: list[EntryPair]) -> dict[str, Any]:
    moments = {name: getattr(entry, name).isoformat() if getattr(entry, name) else None for name in MOMENTS}
    history = entries.history(entry).order_by("number")
    elsewhere = _origin(entry)
    return {
        "number": entry.number,
        **{name: getattr(entry, name) for name in FIELDS},
        "metadata": {key: value for key, value in entry.metadata.items() if key != CAME_FROM or not elsewhere},
        "agent": entry.agent.slug if entry.agent else None,
        "record": entry.record_id or elsewhere.get("record"),
        "proposal": entry.proposal or elsewhere.get("proposal"),
        "review_by": entry.review_by.isoformat() if entry.review_by else None,
        **moments,
        "history": [
            {
                "number": one.number, "content": one.content, "state": one.state, "reason": one.reason,
                "actor_kind": one.actor_kind, "actor_name": one.actor_name, "created_at": one.created_at.isoformat(),
            }
            for one in history
        ],
        "settled": [
            {
                "with": one.older.number, "kind": one.kind, "cosine": one.cosine, "verdict": one.verdict,
                "settled_by": one.settled_by, "settled_at": one.settled_at.isoformat(), "created_at": one.created_at.isoformat(),
            }
            for one in settled
        ],
    }  # fmt: skip


def _origin(entry: LongtermEntry) -> dict[str, int]:
    """The record and proposal of another hub, where `find_origin` wrote them down; others may use that word too."""
    found = entry.metadata.get(CAME_FROM)
    return found if isinstance(found, dict) and found.keys() <= {"record", "proposal"} else {}


@dataclass(frozen=True)
class ParsedEntry:
    """A line of a file as what it will be here, checked and not stored yet."""

    line: dict[str, Any]
    entry: LongtermEntry
    history: list[EntryRevision]
    settled: dict[int, EntryPair]  # by the number that the other entry has in the file


def parse_entry(space: Space, actor: Actor, line: dict[str, Any]) -> ParsedEntry:
    """One entry as it was; the line of activity says who brought it in."""
    if line.get("number") is not None:
        line["number"] = _number(line["number"])
    scope = line.get("scope", entries.GROUP)
    entry = LongtermEntry(
        space=space, content=_checked_text(space, line["content"]),
        scope=scope, agent=_owner(space, scope, line.get("agent")), revision=_number(line.get("revision") or 1),
        state=entries.RETIRED if line.get("state") == entries.RETIRED else entries.ACTIVE,
        session_id=input_checks.check_text(line.get("session_id") or "", "session_id", 200),
        reason=_reason(line, 2000), metadata=input_checks.check_metadata(line.get("metadata")),
        review_by=date.fromisoformat(line["review_by"]) if line.get("review_by") else None,
        checked_by=input_checks.check_text(line.get("checked_by") or "", "checked_by", 150),
        actor_kind=_actor_kind(line), actor_name=input_checks.check_text(line.get("actor_name") or actor.name, "actor_name", 150),
    )  # fmt: skip
    for name in MOMENTS:
        if line.get(name):
            setattr(entry, name, _moment(line[name]))
    for name in ("record", "proposal"):
        line[name] = int(line[name]) if line.get(name) else None
    return ParsedEntry(line, entry, _history(entry, line), _settled(space, line))


def insert_entry(actor: Actor, arrival: ParsedEntry, number: int, numbers: Mapping[int, int]) -> None:
    """One entry under its new number; `numbers` says those of the others of its file."""
    entry, space = arrival.entry, arrival.entry.space
    entry.number = number
    _set_origin(space, arrival)
    entry.reason = _renumber(entry.reason, numbers)
    entry.save(force_insert=True)
    for one in arrival.history:
        one.entry_id, one.reason = entry.pk, _renumber(one.reason, numbers)
    EntryRevision.objects.bulk_create(arrival.history)
    if not arrival.history:
        entries.write_revision(entry, actor, "brought in")
    if entry.state != entries.RETIRED:
        index(space, entry)
    for there, pair in arrival.settled.items():
        conflicts.import_pair(
            pair, entry, entries.entries_of(space).filter(number=numbers.get(there), number__lt=number).first()
        )


def _renumber(reason: str, numbers: Mapping[int, int]) -> str:
    """A reason of the hub's own with the numbers that its entries have here: an undo goes by them (`longterm.take_back`)."""
    if not NAMES_ENTRIES.fullmatch(reason):
        return reason
    return re.sub(r"L-(\d+)", lambda named: _local_label(int(named[1]), numbers), reason)


def _local_label(number: int, numbers: Mapping[int, int]) -> str:
    return f"L-{numbers[number]}" if number in numbers else f"L-{number} elsewhere"


def _owner(space: Space, scope: Any, slug: Any) -> Agent | None:
    """Whose own an entry is. Without that agent it stays out: nobody else may find it. (Of a deleted agent it is nobody's.)"""
    if scope not in (entries.GROUP, entries.AGENT) or not isinstance(slug, str | None):
        raise Invalid("the scope is group or agent, and agent the name of one", code="invalid_content")
    if scope == entries.GROUP or slug is None:
        return None
    agent = Agent.objects.within(space).filter(slug=slug).first()
    if agent is None:
        raise Invalid(
            f"it is the own memory of the agent {slug}, whom this space has not; add it first", code="invalid_content"
        )
    return agent


def _number(value: Any) -> int:
    number = int(value)
    if not 0 < number < 2**31:
        raise Invalid(f"{number} is no number of a revision", code="invalid_content")
    return number


def _checked_text(space: Space, content: Any) -> str:
    return spaces.check_secrets(space, input_checks.check_content(content))


def _reason(line: dict[str, Any], most: int) -> str:
    """Reasons lose their secrets, as everywhere."""
    return secrets.redact(input_checks.check_text(line.get("reason") or "", "reason", most))[0][:most]


def _set_origin(space: Space, arrival: ParsedEntry) -> None:
    """The record and the proposal it came from, where this space has these very ones; else their numbers are kept beside."""
    entry, record, proposal = arrival.entry, arrival.line["record"], arrival.line["proposal"]
    if record and Record.objects.within(space).filter(pk=record, session_id=entry.session_id).exists():
        entry.record_id, record = record, None
    said_first = arrival.history[0].content if arrival.history else entry.content
    if proposal and _promoted_text(space, proposal) == said_first:
        entry.proposal, proposal = proposal, None
    elsewhere = {name: value for name, value in (("record", record), ("proposal", proposal)) if value}
    if elsewhere:
        entry.metadata = {**entry.metadata, CAME_FROM: elsewhere}


def _promoted_text(space: Space, number: int) -> str | None:
    """What a promotion of this number asks to keep; numbers of another hub may be other proposals here."""
    found = Proposal.objects.within(space).filter(number=number, kind=Proposal.Kind.PROMOTION).first()
    return bytes(found.content or b"").decode("utf-8", "replace") if found else None


def _history(entry: LongtermEntry, line: dict[str, Any]) -> list[EntryRevision]:
    space, now = entry.space, entry.content
    history = line.get("history") or []
    if len({_number(one["number"]) for one in history}) != len(history):
        raise Invalid("its history has a revision twice", code="invalid_content")
    return [
        EntryRevision(
            space_id=space.pk, number=_number(one["number"]),
            content=now if one["content"] == now else _checked_text(space, one["content"]),
            state=str(one.get("state") or "active")[:8], reason=_reason(one, 500),
            created_at=_moment(one["created_at"]), actor_kind=_actor_kind(one),
            actor_name=input_checks.check_text(one.get("actor_name") or "", "actor_name", 150),
        )
        for one in history
    ]  # fmt: skip


def _settled(space: Space, line: dict[str, Any]) -> dict[int, EntryPair]:
    """The pairs of which a person said that both stand; exports of before had none."""
    return {_number(one["with"]): _pair(space, one) for one in line.get("settled") or []}


def _pair(space: Space, one: dict[str, Any]) -> EntryPair:
    cosine = float(one["cosine"])
    if one["verdict"] != conflicts.KEEP_BOTH or one["kind"] not in conflicts.KINDS or not math.isfinite(cosine):
        raise Invalid("a settled pair in it has another form than Export gives it", code="invalid_content")
    return EntryPair(
        space_id=space.pk, kind=one["kind"], cosine=cosine, verdict=conflicts.KEEP_BOTH,
        settled_by=input_checks.check_text(one["settled_by"], "settled_by", 150), settled_at=_moment(one["settled_at"]),
        created_at=_moment(one["created_at"]),
    )  # fmt: skip


def _actor_kind(line: dict[str, Any]) -> str:
    kind = line.get("actor_kind")
    return kind if kind in dict(LongtermEntry.ACTOR_KINDS) else LongtermEntry.IMPORT


def _moment(text: str) -> datetime:
    found = parse_datetime(text)
    if found is None or found.tzinfo is None:
        raise Invalid(f"{text!r} is no moment with a time zone", code="invalid_content")
    return found


def clean_line(line: dict[str, Any]) -> dict[str, Any]:
    """What Export writes into a line, and no secret beside the texts; those are refused for theirs (`checked_text`)."""
    clean = {
        key: _clean_value(line[key])
        for key in ("number", *FIELDS, *BESIDE, *MOMENTS)
        if key in line and key not in WHOLE
    }
    clean |= {
        "content": line["content"],
        "metadata": quarantine.without_secrets(input_checks.check_metadata(line.get("metadata"))),
    }
    for name in ("history", "settled"):
        clean[name] = [
            {key: _clean_value(one[key], key) for key in OF_PART if key in one} for one in line.get(name) or []
        ]
    return clean


def _clean_value(value: Any, key: str = "") -> Any:
    if value is not None and not isinstance(value, str | int | float):
        raise TypeError
    return secrets.redact(value)[0] if isinstance(value, str) and key != "content" else value


def parse_json(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise Invalid("it is not JSON", code="invalid_content") from None
    if not isinstance(found, dict):
        raise Invalid("it is not an object", code="invalid_content")
    return found
