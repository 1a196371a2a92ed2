"""What people decide on a record, one at a time or many: admit, discard, and undo."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from memoryhub.detectors import secrets
from memoryhub.domain import activity, spaces, working
from memoryhub.domain.accounts import require
from memoryhub.domain.quarantine.records import ADMITTED, enter_working, get, history, locked_state, write_state
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Agent, LongtermEntry, Record, RecordState, Space, WorkingEntry

PROMOTED, DISCARDED = RecordState.PROMOTED, RecordState.DISCARDED


@transaction.atomic
def admit(space: Space, actor: Actor, record_id: int) -> RecordState:
    """A person lets a held or discarded record into working memory."""
    require(actor, "edit")
    record = get(space, record_id)
    before = locked_state(space, record)
    if before.state in (ADMITTED, PROMOTED):
        raise Conflict(f"This record is {before.state} already.", code="already_decided")
    agent = Agent.objects.within(space).filter(pk=record.agent_id).first()
    if record.scope == working.AGENT and agent is None:
        raise Conflict("The agent whose own memory this was meant for is gone; promote the record instead.")
    state = write_state(record, actor, ADMITTED, working_id=enter_working(space, agent, record))
    _record_activity(space, actor, "quarantine.admit", "admitted", record)
    return state


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
    if now.state == PROMOTED:
        spaces.send_event("promotion_undone", space, actor, now.reason)
    elif before.state == PROMOTED:
        spaces.send_event("promotion_redone", space, actor, before.reason)
    elif now.state == ADMITTED:
        _set_removed(now, True)
    if before.state == ADMITTED:
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
    space: Space, actor: Actor, record_ids: Iterable[int], verb: str, reason: str = ""
) -> tuple[list[int], list[str]]:
    """One decision on many records, or its undoing: the ids of those it was done to, and a sentence for each of the others."""
    done: list[int] = []
    refused = []
    for record_id in record_ids:
        try:
            _decide(space, actor, record_id, verb, reason)
            done.append(record_id)
        except (Conflict, NotFound) as refusal:
            refused.append(f"#{record_id}: {refusal.message}")
    return done, refused


def _decide(space: Space, actor: Actor, record_id: int, verb: str, reason: str) -> RecordState:
    if verb == "discard":
        return discard(space, actor, record_id, reason)
    return undo(space, actor, record_id) if verb == "undo" else admit(space, actor, record_id)
