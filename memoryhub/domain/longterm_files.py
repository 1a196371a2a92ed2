"""Long-term memory as JSON lines, out and in again without loss: texts, provenance, checks, history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from django.db import transaction
from django.utils.dateparse import parse_datetime

from memoryhub.domain import activity, contents, longterm, secrecy, spaces
from memoryhub.domain.access import Actor, require
from memoryhub.errors import Invalid
from memoryhub.models import Agent, EntryRevision, LongtermEntry, Proposal, Record, Space

MOST = 5000  # entries of one upload; more come in by `memoryhub restore`
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
CAME_FROM = "came_from"  # in the metadata: the record and proposal of the space it was brought from
MOMENTS = ("checked_at", "retired_at", "created_at", "modified_at")


def export(space: Space) -> Iterator[str]:
    """Every entry with its history, one JSON object a line, oldest first."""
    for entry in longterm.of(space).select_related("agent").order_by("number").iterator(200):
        yield json.dumps(as_line(entry), ensure_ascii=False) + "\n"


def as_line(entry: LongtermEntry) -> dict[str, Any]:
    moments = {name: getattr(entry, name).isoformat() if getattr(entry, name) else None for name in MOMENTS}
    history = longterm.history(entry).order_by("number")
    elsewhere = entry.metadata.get(CAME_FROM) or {}
    return {
        "number": entry.number,
        **{name: getattr(entry, name) for name in KEPT},
        "metadata": {key: value for key, value in entry.metadata.items() if key != CAME_FROM},
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
    }  # fmt: skip


@transaction.atomic
def take_in(space: Space, actor: Actor, data: bytes) -> int:
    """Brings exported entries in under new numbers, all or none; a refusal names the line."""
    require(actor, "promote")
    lines = [line for line in text_of(data).split("\n") if line.strip()]
    if not lines or len(lines) > MOST:
        raise Invalid(f"The file has {len(lines)} entries; 1 to {MOST:,} can come in at once.", code="invalid_content")
    space = Space.objects.select_for_update().get(pk=space.pk)
    for at, line in enumerate(lines, 1):
        try:
            bring(space, actor, parsed(line))
        except (Invalid, AttributeError, KeyError, TypeError, ValueError) as wrong:
            says = f"Line {at}: {said(wrong)}. Nothing was brought in."
            raise Invalid(says, code="invalid_content", line=at) from None
    many = f"{len(lines)} entries"
    activity.record(space, actor, "longterm.take_in", "brought in", many, url="longterm/", adds="from JSON lines")
    return len(lines)


def said(wrong: Exception) -> str:
    """What is wrong with a line, for whoever has to mend it."""
    if isinstance(wrong, Invalid):
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


def bring(space: Space, actor: Actor, line: dict[str, Any]) -> LongtermEntry:
    """One entry as it was, under a new number; the line of activity says who brought it in."""
    scope = line.get("scope", longterm.GROUP)
    entry = LongtermEntry(
        space=space, number=spaces.next_number(space, "last_entry"), content=kept(space, line["content"]),
        scope=scope, agent=whose(space, scope, line.get("agent")), revision=counted(line.get("revision") or 1),
        state=longterm.RETIRED if line.get("state") == longterm.RETIRED else longterm.ACTIVE,
        session_id=contents.clean(line.get("session_id") or "", "session_id", 200),
        reason=contents.clean(line.get("reason") or "", "reason", 2000), metadata=contents.metadata(line.get("metadata")),
        review_by=date.fromisoformat(line["review_by"]) if line.get("review_by") else None,
        checked_by=contents.clean(line.get("checked_by") or "", "checked_by", 150),
        actor_kind=kind_of(line), actor_name=contents.clean(line.get("actor_name") or actor.name, "actor_name", 150),
    )  # fmt: skip
    for name in MOMENTS:
        if line.get(name):
            setattr(entry, name, moment(line[name]))
    bring_origin(space, entry, line)
    entry.save()
    bring_history(entry, actor, line)
    if entry.state != longterm.RETIRED:
        longterm.index(space, entry)
    return entry


def whose(space: Space, scope: Any, slug: Any) -> Agent | None:
    """Whose own an entry is. Without that agent it stays out: nobody else may find it. (Of a deleted agent it is nobody's.)"""
    if scope not in (longterm.GROUP, longterm.AGENT) or not isinstance(slug, str | None):
        raise Invalid("the scope is group or agent, and agent the name of one", code="invalid_content")
    if scope == longterm.GROUP or slug is None:
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
    return secrecy.check(space, contents.checked(content))


def bring_origin(space: Space, entry: LongtermEntry, line: dict[str, Any]) -> None:
    """The record and the proposal it came from, where this space has these very ones; else their numbers are kept beside."""
    record, proposal = (int(line[name]) if line.get(name) else None for name in ("record", "proposal"))
    if record and Record.objects.within(space).filter(pk=record, session_id=entry.session_id).exists():
        entry.record_id, record = record, None
    said_first = next((one["content"] for one in line.get("history") or []), entry.content)
    if proposal and said_by(space, proposal) == said_first:
        entry.proposal, proposal = proposal, None
    elsewhere = {name: value for name, value in (("record", record), ("proposal", proposal)) if value}
    if elsewhere:
        entry.metadata = {**entry.metadata, CAME_FROM: elsewhere}


def said_by(space: Space, number: int) -> str | None:
    """What a promotion of this number asks to keep; numbers of another hub may be other proposals here."""
    found = Proposal.objects.within(space).filter(number=number, kind=Proposal.Kind.PROMOTION).first()
    return bytes(found.content or b"").decode("utf-8", "replace") if found else None


def bring_history(entry: LongtermEntry, actor: Actor, line: dict[str, Any]) -> None:
    history = line.get("history") or []
    if len({counted(one["number"]) for one in history}) != len(history):
        raise Invalid("its history has a revision twice", code="invalid_content")
    for one in history:
        EntryRevision.objects.create(
            space_id=entry.space_id, entry_id=entry.pk, number=counted(one["number"]), content=kept(entry.space, one["content"]),
            state=str(one.get("state") or "active")[:8], reason=contents.clean(one.get("reason") or "", "reason", 500),
            created_at=moment(one["created_at"]), actor_kind=kind_of(one),
            actor_name=contents.clean(one.get("actor_name") or "", "actor_name", 150),
        )  # fmt: skip
    if not history:
        longterm.write_revision(entry, actor, "brought in")


def kind_of(line: dict[str, Any]) -> str:
    kind = line.get("actor_kind")
    return kind if kind in dict(LongtermEntry.ACTOR_KINDS) else LongtermEntry.IMPORT


def moment(text: str) -> datetime:
    found = parse_datetime(text)
    if found is None or found.tzinfo is None:
        raise Invalid(f"{text!r} is no moment with a time zone", code="invalid_content")
    return found
