"""Long-term memory as JSON lines, out and in again without loss: texts, provenance, checks, history, settled pairs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.utils.dateparse import parse_datetime

from memoryhub.detectors import secrets
from memoryhub.domain import quarantine, spaces
from memoryhub.domain.longterm import conflicts, entries
from memoryhub.errors import Invalid, TooLarge
from memoryhub.models import Actor, Agent, EntryPair, EntryRevision, LongtermEntry, Proposal, Record, Space
from memoryhub.text import input_checks

MOST = 50_000  # entries of one file
LARGEST = 32 * 1024 * 1024
SAID = 20  # wrong lines that a refusal names
KEPT = (
    "content",
    "scope",
    "revision",
    "state",
    "session_id",
    "reason",
    "metadata",
    "checked_by",
    "actor_kind",
    "actor_name",
)
REFUSALS = (Invalid, TooLarge)
FAULTS = (*REFUSALS, AttributeError, KeyError, TypeError, ValueError)  # what a line that Export did not write may cause
CAME_FROM = "came_from"  # in the metadata: the record and proposal of the space it was brought from
MOMENTS = ("checked_at", "retired_at", "created_at", "modified_at")
BESIDE = ("agent", "record", "proposal", "review_by")
WHOLE = ("content", "metadata")  # looked at in their own ways
OF_PART = (
    "number", "content", "state", "reason", "actor_kind", "actor_name", "created_at",
    "with", "kind", "cosine", "verdict", "settled_by", "settled_at",
)  # fmt: skip
NAMES = frozenset(("number", "history", "settled", *KEPT, *MOMENTS, *BESIDE, *OF_PART))  # of what a line holds
# Reasons that the hub itself wrote: the numbers in them mean entries of the same file.
NAMES_ENTRIES = re.compile(r"(?:replaced by|merged with) L-\d+(?:, L-\d+)*|L-\d+ says it")


# ---- out


def export_entries(space: Space) -> Iterator[str]:
    """Every entry with its history, one JSON object a line, oldest first."""
    settled = conflicts.both_stand(space)
    for entry in entries.entries_of(space).select_related("agent").order_by("number").iterator(200):
        yield json.dumps(as_line(entry, settled.get(entry.number, [])), ensure_ascii=False) + "\n"


def as_line(entry: LongtermEntry, settled: list[EntryPair]) -> dict[str, Any]:
    moments = {name: getattr(entry, name).isoformat() if getattr(entry, name) else None for name in MOMENTS}
    history = entries.history(entry).order_by("number")
    elsewhere = came_from(entry)
    return {
        "number": entry.number,
        **{name: getattr(entry, name) for name in KEPT},
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


def came_from(entry: LongtermEntry) -> dict[str, int]:
    """The record and proposal of another hub, where `find_origin` wrote them down; others may use that word too."""
    found = entry.metadata.get(CAME_FROM)
    return found if isinstance(found, dict) and found.keys() <= {"record", "proposal"} else {}


# ---- in


@dataclass(frozen=True)
class Arrival:
    """A line of a file as what it will be here, checked and not stored yet."""

    line: dict[str, Any]
    entry: LongtermEntry
    history: list[EntryRevision]
    settled: dict[int, EntryPair]  # by the number that the other entry has in the file


def checked_import(space: Space, actor: Actor, data: bytes) -> list[dict[str, Any]]:
    """The lines of a file without secrets, each looked at; nothing is stored, and a refusal names each line that is wrong."""
    return _looked_at(space, actor, lines_of(data), set(range(1, MOST + 1)))


def without_secrets(space: Space, actor: Actor, data: bytes) -> list[dict[str, Any]]:
    """The same, where only lines that may hold a secret are looked at: the others are for a job to check."""
    lines = lines_of(data)
    return _looked_at(space, actor, lines, {at + 1 for at in spaces.secret_suspects(map(_said_in, lines))})


def check(space: Space, actor: Actor, lines: list[dict[str, Any]], progress: Callable[[int, int], None]) -> None:
    """Refuses lines that are wrong, as `checked` does."""
    wrong = {}
    for at, line in enumerate(lines, 1):
        try:
            arriving(space, actor, line)
        except FAULTS as refusal:
            wrong[at] = said(refusal)
        progress(0, len(lines))
    if wrong:
        raise refused(wrong)


def _looked_at(space: Space, actor: Actor, lines: list[str], closely: Container[int]) -> list[dict[str, Any]]:
    found, wrong = [], {}
    for at, text in enumerate(lines, 1):
        try:
            line = parsed(text)
            if at in closely:
                line = known(line)
                arriving(space, actor, line)
            found.append(line)
        except FAULTS as refusal:
            wrong[at] = said(refusal)
    if wrong:
        raise refused(wrong)
    return found


def known(line: dict[str, Any]) -> dict[str, Any]:
    """What Export writes into a line, and no secret beside the texts; those are refused for theirs (`kept`)."""
    clean = {key: plain(line[key]) for key in ("number", *KEPT, *BESIDE, *MOMENTS) if key in line and key not in WHOLE}
    clean |= {
        "content": line["content"],
        "metadata": quarantine.without_secrets(input_checks.metadata(line.get("metadata"))),
    }
    for name in ("history", "settled"):
        clean[name] = [{key: plain(one[key], key) for key in OF_PART if key in one} for one in line.get(name) or []]
    return clean


def plain(value: Any, key: str = "") -> Any:
    if value is not None and not isinstance(value, str | int | float):
        raise TypeError
    return secrets.redact(value)[0] if isinstance(value, str) and key != "content" else value


def _said_in(line: str) -> str:
    """All that a line says, each on lines of its own, so that it can be looked through for secrets."""
    try:
        return "\n".join(_texts(parsed(line)))
    except (Invalid, RecursionError):
        return line


def _texts(value: Any, lead: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield from (value, lead + value) if lead else (value,)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in NAMES:
                yield key
            yield from _texts(inner, "" if key in NAMES else f"{key}: ")


def lines_of(data: bytes) -> list[str]:
    if len(data) > LARGEST:
        raise Invalid("This is more than 32 MiB. Bring it in in parts.", code="too_large")
    lines = [line for line in text_of(data).split("\n") if line.strip()]
    if not lines or len(lines) > MOST:
        raise Invalid(
            f"The file has {len(lines):,} entries; 1 to {MOST:,} can come in at once.", code="invalid_content"
        )
    return lines


def refused(wrong: dict[int, str], so: str = "Nothing was brought in.") -> Invalid:
    told = [f"Line {at}: {says}" for at, says in list(wrong.items())[:SAID]]
    more = [f"and {len(wrong) - SAID:,} more lines"] if len(wrong) > SAID else []
    return Invalid(
        f"{'; '.join(told + more)}. {so}", code="invalid_content", line=next(iter(wrong)), lines=told + more, so=so
    )


def said(wrong: Exception) -> str:
    """What is wrong with a line, for whoever has to mend it."""
    if isinstance(wrong, REFUSALS):
        return wrong.message.removesuffix(".")
    return f"it lacks {wrong}" if isinstance(wrong, KeyError) else "a value in it has another form than Export gives it"


def text_of(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("The file is not UTF-8 text.", code="invalid_content") from None


def parsed(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise Invalid("it is not JSON", code="invalid_content") from None
    if not isinstance(found, dict):
        raise Invalid("it is not an object", code="invalid_content")
    return found


def arriving(space: Space, actor: Actor, line: dict[str, Any]) -> Arrival:
    """One entry as it was; the line of activity says who brought it in."""
    if line.get("number") is not None:
        line["number"] = counted(line["number"])
    scope = line.get("scope", entries.GROUP)
    entry = LongtermEntry(
        space=space, content=kept(space, line["content"]),
        scope=scope, agent=whose(space, scope, line.get("agent")), revision=counted(line.get("revision") or 1),
        state=entries.RETIRED if line.get("state") == entries.RETIRED else entries.ACTIVE,
        session_id=input_checks.clean(line.get("session_id") or "", "session_id", 200),
        reason=reason_of(line, 2000), metadata=input_checks.metadata(line.get("metadata")),
        review_by=date.fromisoformat(line["review_by"]) if line.get("review_by") else None,
        checked_by=input_checks.clean(line.get("checked_by") or "", "checked_by", 150),
        actor_kind=kind_of(line), actor_name=input_checks.clean(line.get("actor_name") or actor.name, "actor_name", 150),
    )  # fmt: skip
    for name in MOMENTS:
        if line.get(name):
            setattr(entry, name, moment(line[name]))
    for name in ("record", "proposal"):
        line[name] = int(line[name]) if line.get(name) else None
    return Arrival(line, entry, history_of(entry, line), settled_of(space, line))


def bring(space: Space, actor: Actor, lines: list[dict[str, Any]], first: int, some: range) -> None:
    """Stores some lines of a file, its first one under this number (in the caller's transaction, under the space's lock)."""
    numbers = {one["number"]: number for number, one in enumerate(lines, first) if one.get("number")}
    for at in some:
        try:
            store(actor, arriving(space, actor, lines[at]), first + at, numbers)
        except FAULTS as refusal:
            raise refused({at + 1: said(refusal)}, f"{some.start:,} entries are in.") from None


def store(actor: Actor, arrival: Arrival, number: int, numbers: Mapping[int, int]) -> None:
    """One entry under its new number; `numbers` says those of the others of its file."""
    entry, space = arrival.entry, arrival.entry.space
    entry.number = number
    find_origin(space, arrival)
    entry.reason = renumbered(entry.reason, numbers)
    entry.save(force_insert=True)
    for one in arrival.history:
        one.entry_id, one.reason = entry.pk, renumbered(one.reason, numbers)
    EntryRevision.objects.bulk_create(arrival.history)
    if not arrival.history:
        entries.write_revision(entry, actor, "brought in")
    if entry.state != entries.RETIRED:
        entries.index(space, entry)
    for there, pair in arrival.settled.items():
        conflicts.bring(
            pair, entry, entries.entries_of(space).filter(number=numbers.get(there), number__lt=number).first()
        )


def renumbered(reason: str, numbers: Mapping[int, int]) -> str:
    """A reason of the hub's own with the numbers that its entries have here: an undo goes by them (`longterm.take_back`)."""
    if not NAMES_ENTRIES.fullmatch(reason):
        return reason
    return re.sub(r"L-(\d+)", lambda named: here(int(named[1]), numbers), reason)


def here(number: int, numbers: Mapping[int, int]) -> str:
    return f"L-{numbers[number]}" if number in numbers else f"L-{number} elsewhere"


def whose(space: Space, scope: Any, slug: Any) -> Agent | None:
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


def counted(value: Any) -> int:
    number = int(value)
    if not 0 < number < 2**31:
        raise Invalid(f"{number} is no number of a revision", code="invalid_content")
    return number


def kept(space: Space, content: Any) -> str:
    return spaces.check_secrets(space, input_checks.checked(content))


def reason_of(line: dict[str, Any], most: int) -> str:
    """Reasons lose their secrets, as everywhere."""
    return secrets.redact(input_checks.clean(line.get("reason") or "", "reason", most))[0][:most]


def find_origin(space: Space, arrival: Arrival) -> None:
    """The record and the proposal it came from, where this space has these very ones; else their numbers are kept beside."""
    entry, record, proposal = arrival.entry, arrival.line["record"], arrival.line["proposal"]
    if record and Record.objects.within(space).filter(pk=record, session_id=entry.session_id).exists():
        entry.record_id, record = record, None
    said_first = arrival.history[0].content if arrival.history else entry.content
    if proposal and said_by(space, proposal) == said_first:
        entry.proposal, proposal = proposal, None
    elsewhere = {name: value for name, value in (("record", record), ("proposal", proposal)) if value}
    if elsewhere:
        entry.metadata = {**entry.metadata, CAME_FROM: elsewhere}


def said_by(space: Space, number: int) -> str | None:
    """What a promotion of this number asks to keep; numbers of another hub may be other proposals here."""
    found = Proposal.objects.within(space).filter(number=number, kind=Proposal.Kind.PROMOTION).first()
    return bytes(found.content or b"").decode("utf-8", "replace") if found else None


def history_of(entry: LongtermEntry, line: dict[str, Any]) -> list[EntryRevision]:
    space, now = entry.space, entry.content
    history = line.get("history") or []
    if len({counted(one["number"]) for one in history}) != len(history):
        raise Invalid("its history has a revision twice", code="invalid_content")
    return [
        EntryRevision(
            space_id=space.pk, number=counted(one["number"]), content=now if one["content"] == now else kept(space, one["content"]),
            state=str(one.get("state") or "active")[:8], reason=reason_of(one, 500),
            created_at=moment(one["created_at"]), actor_kind=kind_of(one),
            actor_name=input_checks.clean(one.get("actor_name") or "", "actor_name", 150),
        )
        for one in history
    ]  # fmt: skip


def settled_of(space: Space, line: dict[str, Any]) -> dict[int, EntryPair]:
    """The pairs of which a person said that both stand; exports of before had none."""
    return {counted(one["with"]): verdict_of(space, one) for one in line.get("settled") or []}


def verdict_of(space: Space, one: dict[str, Any]) -> EntryPair:
    cosine = float(one["cosine"])
    if one["verdict"] != conflicts.BOTH_STAND or one["kind"] not in conflicts.KINDS or not math.isfinite(cosine):
        raise Invalid("a settled pair in it has another form than Export gives it", code="invalid_content")
    return EntryPair(
        space_id=space.pk, kind=one["kind"], cosine=cosine, verdict=conflicts.BOTH_STAND,
        settled_by=input_checks.clean(one["settled_by"], "settled_by", 150), settled_at=moment(one["settled_at"]),
        created_at=moment(one["created_at"]),
    )  # fmt: skip


def kind_of(line: dict[str, Any]) -> str:
    kind = line.get("actor_kind")
    return kind if kind in dict(LongtermEntry.ACTOR_KINDS) else LongtermEntry.IMPORT


def moment(text: str) -> datetime:
    found = parse_datetime(text)
    if found is None or found.tzinfo is None:
        raise Invalid(f"{text!r} is no moment with a time zone", code="invalid_content")
    return found
