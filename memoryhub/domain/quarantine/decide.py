"""What people decide on a record, one at a time or many: admit, discard, and undo."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from itertools import accumulate
from typing import Any

from django.db import transaction
from django.utils import timezone

from memoryhub import detectors
from memoryhub.detectors import secrets
from memoryhub.domain import activity, spaces, working
from memoryhub.domain.accounts import require
from memoryhub.domain.quarantine.gate import Verdict, findings_of_entry
from memoryhub.domain.quarantine.records import ADMITTED, enter_working, get, history, locked_state, write_state
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Agent, LongtermEntry, Record, RecordState, Space, WorkingEntry

PROMOTED, DISCARDED = RecordState.PROMOTED, RecordState.DISCARDED


@transaction.atomic
def admit(space: Space, actor: Actor, record_id: int, *, looked: bool = False, without: str = "") -> RecordState:
    """A person lets a held or discarded record into working memory; `without` leaves out its `hidden` characters, or the `lines`
    with grave findings. With a grave finding in what would enter they have to say that they `looked` at it."""
    require(actor, "edit")
    record = get(space, record_id)
    instead = _shortened(space, record, without) if without else None
    check_looked(instead.findings if instead else record.findings, looked)
    before = locked_state(space, record)
    if before.state in (ADMITTED, PROMOTED):
        raise Conflict(f"This record is {before.state} already.", code="already_decided")
    agent = Agent.objects.within(space).filter(pk=record.agent_id).first()
    if record.scope == working.AGENT and agent is None:
        raise Conflict("The agent whose own memory this was meant for is gone; promote the record instead.")
    entry = enter_working(space, agent, record, seen_by=actor.name, instead=instead)
    reason = _left_out_words(record, without) if instead else ""
    state = write_state(record, actor, ADMITTED, reason=reason, working_id=entry)
    _record_activity(space, actor, "quarantine.admit", "admitted", record, adds=f" {reason}" if reason else "")
    return state


HIDDEN, LINES = "hidden", "lines"


def check_looked(findings: Iterable[dict[str, Any]], looked: bool) -> None:
    """Refuses to let in what has a grave finding, unless the person says that they looked at it."""
    grave = sorted({one["code"] for one in findings if one.get("severity") == "high"})
    if grave and not looked:
        names = " and ".join(detectors.IN_LISTS.get(code, code) for code in grave)
        raise Invalid(
            f"Confirm first that you looked at what the gate found: {names}.", code="needs_a_look", field="looked"
        )


def _shortened(space: Space, record: Record, without: str) -> Verdict:
    """The text of a record without what is left out, and what is found in that."""
    text = _without_hidden(record) if without == HIDDEN else _without_lines(record)
    if not text.strip():
        raise Invalid("Nothing is left of it then: discard the record instead.", field="looked")
    return Verdict(text, ADMITTED, findings_of_entry(space, text))


def _without_hidden(record: Record) -> str:
    """The text without hidden characters. Letters that only look like others stay."""
    text = record.content
    for one in reversed(detectors.find(text, only=["hidden"])):
        if one.kind not in ("lookalike", "styled"):
            text = text[: one.start] + text[one.end :]
    return text


def _without_lines(record: Record) -> str:
    left_out = set(grave_lines(record))
    lines = record.content.split("\n")
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in left_out)


def grave_lines(record: Record) -> list[int]:
    """The numbers of the lines with grave findings; none if they are about the whole text, or nothing else would be left."""
    grave = [one for one in record.findings if one.get("severity") == "high"]
    if not grave or any(one.get("beside") or one["start"] >= one["end"] for one in grave):
        return []
    lines = record.content.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    hit: set[int] = set()
    for one in grave:
        hit.update(range(bisect_right(starts, one["start"]), bisect_left(starts, one["end"]) + 1))
    is_left = any(line.strip() for number, line in enumerate(lines, 1) if number not in hit)
    return sorted(hit) if is_left else []


def _left_out_words(record: Record, without: str) -> str:
    if without == HIDDEN:
        return "without the hidden characters"
    return f"without {'lines' if len(numbers := grave_lines(record)) > 1 else 'line'} {', '.join(map(str, numbers))}"


@transaction.atomic
def see(space: Space, actor: Actor, record_id: int, *, looked: bool = False) -> RecordState:
    """A person says that they have seen an admitted record. Where other agents wait for that, they get it from now on."""
    require(actor, "edit")
    record = get(space, record_id)
    before = locked_state(space, record)
    if before.state != ADMITTED or not before.working_id:
        raise Conflict(f"This record is {before.state}: there is nothing in working memory to mark as seen.")
    check_looked(record.findings, looked)
    if not working.mark_seen(space, actor, before.working_id):
        raise Conflict("It was seen already, or has left working memory.", code="already_decided")
    state = write_state(record, actor, ADMITTED, reason=SEEN, working_id=before.working_id)
    _record_activity(space, actor, "quarantine.see", "marked as seen", record)
    return state


SEEN = "seen"


@transaction.atomic
def discard(space: Space, actor: Actor, record_id: int, reason: str) -> RecordState:
    """Hides a record with a reason; it stays stored, and an entry it had in working memory goes."""
    require(actor, "edit")
    record = get(space, record_id)
    before, reason = locked_state(space, record), secrets.redact(reason)[0]
    if not reason.strip():
        raise Invalid("Say why, so that others need not ask.", code="reason_missing", field="reason")
    if before.state == DISCARDED:
        raise Conflict("This record is discarded already.", code="already_decided")
    if before.state == PROMOTED:
        raise Conflict("This record was promoted; retire the long-term entry first.", code="already_decided")
    _set_removed(before, True)
    state = write_state(record, actor, DISCARDED, reason=reason.strip(), working_id=before.working_id)
    _record_activity(space, actor, "quarantine.discard", "discarded", record, adds=f": “{reason.strip()[:200]}”")
    return state


def lock_record(space: Space, actor: Actor, record_id: int) -> None:
    """Locks a record that an approved proposal promotes: before the space, as everywhere."""
    record = Record.objects.within(space).filter(pk=record_id).first()
    if record is not None:
        locked_state(space, record)


def was_promoted(space: Space, actor: Actor, record_id: int, entry: LongtermEntry) -> None:
    """Writes into a record's history that an approved proposal promoted it (in the caller's transaction)."""
    record = Record.objects.within(space).filter(pk=record_id).first()
    if record is not None:
        before = locked_state(space, record)
        write_state(record, actor, PROMOTED, reason=f"L-{entry.number}", working_id=before.working_id)


@transaction.atomic
def undo(space: Space, actor: Actor, record_id: int) -> RecordState:
    """Takes back the last decision of a person: the record stands as it stood before, and so does what came of it."""
    require(actor, "edit")
    record = get(space, record_id)
    now = locked_state(space, record)
    states = list(history(record))
    if len(states) < 2 or now.actor_kind == "hub":
        raise Conflict("There is nothing to undo: no person decided on this record.", code="nothing_to_undo")
    before = states[-2]
    is_same_entry = now.state == before.state == ADMITTED and now.working_id == before.working_id
    if is_same_entry and now.reason == SEEN:
        working.mark_unseen(space, now.working_id)
    elif is_same_entry:
        working.mark_seen(space, actor, now.working_id)
    elif now.state == PROMOTED:
        spaces.send_event("promotion_undone", space, actor, now.reason)
    elif before.state == PROMOTED:
        spaces.send_event("promotion_redone", space, actor, before.reason)
    elif now.state == ADMITTED:
        _set_removed(now, True)
    if before.state == ADMITTED and not is_same_entry:
        _set_removed(before, False)
    state = write_state(record, actor, before.state, reason=before.reason, working_id=before.working_id)
    _record_activity(space, actor, "quarantine.undo", f"undid “{now.state}” of", record)
    return state


def _set_removed(state: RecordState, removed: bool) -> None:
    entries = WorkingEntry.objects.within(state.space_id).filter(pk=state.working_id)
    entries.update(removed_at=timezone.now() if removed else None)


def _record_activity(space: Space, actor: Actor, verb: str, says: str, record: Record, adds: str = "") -> None:
    thing = activity.shorten(" ".join(record.content.split()), 80)
    activity.record(
        space, actor, verb, says, thing, url=f"quarantine/{record.pk}/", adds=adds, aside=record.session_id,
        details={"id": record.pk},
    )  # fmt: skip


def in_bulk(
    space: Space, actor: Actor, record_ids: Iterable[int], verb: str, reason: str = "", *, looked: Collection[int] = ()
) -> tuple[list[int], list[str]]:
    """One decision on many records, or its undoing: the ids of those it was done to, and a sentence for each of the others.
    `looked` are the records of whose grave findings the person says that they looked at them."""
    done: list[int] = []
    refused = []
    for record_id in record_ids:
        try:
            _decide(space, actor, record_id, verb, reason, record_id in looked)
            done.append(record_id)
        except (Conflict, NotFound, Invalid) as refusal:
            refused.append(f"Record {record_id}: {refusal.message}")
    return done, refused


def _decide(space: Space, actor: Actor, record_id: int, verb: str, reason: str, looked: bool) -> RecordState:
    match verb:
        case "discard":
            return discard(space, actor, record_id, reason)
        case "undo":
            return undo(space, actor, record_id)
        case "see":
            return see(space, actor, record_id, looked=looked)
    return admit(space, actor, record_id, looked=looked)
