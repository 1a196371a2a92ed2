"""Quarantine: what agents said, raw and for good. No retrieval, no prompt and no search of an agent reads it.

A record is never changed and never deleted, which the database refuses too; what became of it stands in rows beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.detectors import secrets
from memoryhub.domain import activity, retrieval, spaces, working
from memoryhub.domain.accounts import require
from memoryhub.domain.quarantine import checks, gate, judge
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import HUB, Actor, Agent, LongtermEntry, Record, RecordState, Space, WorkingEntry
from memoryhub.text import input_checks

HELD, ADMITTED, PROMOTED, DISCARDED = (
    RecordState.HELD,
    RecordState.ADMITTED,
    RecordState.PROMOTED,
    RecordState.DISCARDED,
)
NODES = {"agent": "an answer", "fact_check": "a fact check", "memory_retrieval": "a retrieval"}

INSERT = f"""
INSERT INTO "quarantine"."record" (space_id, agent_id, agent_name, session_id, node_id, node_kind, scope, content, sha256,
    metadata, findings, codes, created_at, words)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {retrieval.TSVECTOR})
RETURNING id
"""  # noqa: S608 (only names of text search configurations are put in)
STATE_FIELDS = (
    "space_id", "record_id", "state", "is_newest", "reason", "working_id", "created_at", "actor_kind", "actor_id", "actor_name",
)  # fmt: skip
INSERT_STATE = f'INSERT INTO "quarantine"."state" ({", ".join(STATE_FIELDS)}) VALUES ({{values}}) RETURNING id'  # noqa: S608

MOST_COUNTED = 50_000
# The gate's own word on each record of a day: from the day's first record on, by the index of the states.
TODAY = """
SELECT state, reason, count(*) FROM (
    SELECT s.state, s.reason FROM "quarantine"."state" s, (
        SELECT id FROM "quarantine"."record" WHERE space_id = %s AND created_at >= %s ORDER BY created_at LIMIT 1
    ) first WHERE s.space_id = %s AND s.record_id >= first.id AND s.actor_kind = 'hub' ORDER BY s.record_id DESC LIMIT %s
) newest GROUP BY state, reason
"""


@dataclass(frozen=True)
class Logged:
    """What `log` answers: the record, and what the gate made of it."""

    record: Record
    state: str
    findings: list[dict[str, Any]]
    working_id: int | None

    @property
    def id(self) -> int:
        return self.record.pk


def log(
    space: Space,
    agent: Agent | None,
    *,
    content: str,
    session_id: str,
    node_id: str,
    node_kind: str = "agent",
    scope: str = working.GROUP,
    metadata: dict[str, Any] | None = None,
    by: Actor | None = None,
    at: datetime | None = None,
) -> Logged:
    """Keeps an output of an agent for good, and lets it into working memory if the space's gate agrees."""
    by = by or (Actor.of_agent(agent) if agent else HUB)
    record = checks.checked(space, agent, content, session_id, node_id, node_kind, scope, metadata)
    record.agent_name = by.name
    record.created_at = at or timezone.now()
    verdict = gate.examine(space, agent, record.content, node_kind)
    checks.keep_no_secret(record, verdict)
    state, reason = verdict.state, verdict.reason
    if state == ADMITTED and checks.has_secret_beside(record):
        state, reason = HELD, "secrets"
    asks_judge = state == ADMITTED and judge.judge_settings(space)["is_on"]
    if asks_judge:
        state, reason = HELD, judge.REASON
    # One statement is a transaction by itself, without the trips that begin and end one.
    with transaction.atomic() if asks_judge else nullcontext():
        working_id = keep(space, agent, record, by, state, reason)
        if asks_judge:
            judge.ask_later(space, record.pk)
    return Logged(record, state, record.findings, working_id)


def keep(space: Space, agent: Agent | None, record: Record, by: Actor, state: str, reason: str) -> int | None:
    """Stores a record, what the gate made of it and the line of activity in one statement, and says where it entered."""
    its_id = "(SELECT id FROM record)"
    first = {
        "space_id": record.space_id, "state": state, "is_newest": True, "reason": reason[:500], "working_id": None,
        "created_at": record.created_at, **HUB.as_fields(),
    }  # fmt: skip
    changes = [recording(record), activity.adding_about("record", line_of(space, by, record, state, reason))]
    if state != ADMITTED:
        (record.pk,) = statements.together(*changes, stating(first, record_id=its_id))
        return None
    changes += working.entering(space, agent, entry_of(record, record.created_at), "record")
    changes.append(stating(first, record_id=its_id, working_id="(SELECT id FROM entered)"))
    record.pk, working_id = statements.together(*changes, answer="SELECT record.id, entered.id FROM record, entered")
    return working_id


def recording(record: Record) -> statements.Change:
    """A new record as a change that can travel with what is made of it."""
    record.sha256 = sha256(record.content.encode()).hexdigest()
    record.codes = sorted({one["code"] for one in record.findings})
    return statements.Change(INSERT, [
        record.space_id, record.agent_id, record.agent_name, record.session_id, record.node_id, record.node_kind,
        record.scope, record.content, record.sha256, statements.Json(record.metadata), statements.Json(record.findings), record.codes,
        record.created_at, *retrieval.words_by_configuration(record.content[: input_checks.INDEXED]),
    ], "record")  # fmt: skip


def stating(one: Mapping[str, Any], **elsewhere: str) -> statements.Change:
    """The same for a state, given by column; what is not known yet is named by where it comes from."""
    values = [one[name] for name in STATE_FIELDS if name not in elsewhere]
    return statements.Change(
        INSERT_STATE.format(values=", ".join(elsewhere.get(name, "%s") for name in STATE_FIELDS)), values
    )


def enter_working(space: Space, agent: Agent | None, record: Record) -> int:
    """Lets a record that was held into working memory, with a whole time to live from now on."""
    (entry_id,) = statements.together(*working.entering(space, agent, entry_of(record, timezone.now())))
    return entry_id


def entry_of(record: Record, at: datetime) -> working.Output:
    """A record as it stands in working memory."""
    return working.Output(
        record.content, record.scope, record.metadata, record.findings, record.session_id, at, record.pk
    )


def write_state(
    record: Record, actor: Actor, state: str, *, reason: str = "", working_id: int | None = None
) -> RecordState:
    """The next row of a record's history; it alone is the newest."""
    RecordState.objects.within(record.space_id).filter(record_id=record.pk, is_newest=True).update(is_newest=False)
    made = RecordState(
        space_id=record.space_id, record_id=record.pk, state=state, reason=reason[:500], working_id=working_id,
        **actor.as_fields(),
    )  # fmt: skip
    (made.pk,) = statements.together(stating({name: getattr(made, name) for name in STATE_FIELDS}))
    return made


def line_of(space: Space, actor: Actor, record: Record, state: str, reason: str) -> activity.Line:
    outcome = "the gate admitted it" if state == ADMITTED else f"the gate held it{': ' + reason if reason else ''}"
    says = ("quarantine.log", "logged", NODES[record.node_kind])
    return activity.line(space, actor, *says, url="quarantine/", adds=f"; {outcome}", aside=record.session_id)


def get(space: Space, record_id: int) -> Record:
    record = Record.objects.within(space).filter(pk=record_id).first()
    if record is None:
        raise NotFound("There is no such record in this space.")
    return record


def history(record: Record) -> QuerySet[RecordState]:
    """Each state the record went through, oldest first."""
    return RecordState.objects.within(record.space_id).filter(record_id=record.pk).order_by("id")


def find(
    space: Space,
    *,
    words: str = "",
    state: str = "",
    agent: str = "",
    session: str = "",
    node_kind: str = "",
    finding: str = "",
    before: int | None = None,
) -> QuerySet[Record]:
    """The records that fit, newest first; discarded ones only when asked for."""
    found = Record.objects.within(space).defer("words").order_by("-id")
    if before:
        found = found.filter(pk__lt=before)
    exact = {"agent_name": agent, "session_id": session, "node_kind": node_kind}
    found = found.filter(**{name: value for name, value in exact.items() if value})
    if finding:
        found = found.filter(codes__contains=[finding])
    if words.strip():
        found = found.filter(retrieval.records_with(words))
    return found.in_state(space, state) if state else found.not_in_state(space, DISCARDED)


def with_states(records: Iterable[Record]) -> list[Record]:
    """The records, each with `.state` (its newest row of history)."""
    records = list(records)
    rows = RecordState.objects.filter(record_id__in=[one.pk for one in records], is_newest=True)
    states = {row.record_id: row for row in rows.filter(space_id__in={one.space_id for one in records})}
    for one in records:
        one.state = states.get(one.pk)
    return records


@dataclass(frozen=True)
class Stretch:
    """Part of a session, oldest first, and whether it began before this and goes on after it."""

    records: list[Record]
    has_earlier: bool
    has_later: bool


def session(space: Space, session_id: str, limit: int = 200, around: Record | None = None) -> Stretch:
    """A session as it went; of a long one the part around a record."""
    found = Record.objects.within(space).filter(session_id=session_id).defer("words")
    first = around.pk if around else 0
    earlier = list(found.filter(pk__lt=first).order_by("-id")[: limit + 1])[::-1]
    later = list(found.filter(pk__gte=first).order_by("id")[: limit + 1])
    before = min(len(earlier), max(limit // 2, limit - len(later)))
    kept = earlier[len(earlier) - before :] + later[: limit - before]
    return Stretch(with_states(kept), before < len(earlier), limit - before < len(later))


def today(space: Space) -> dict[str, Any]:
    """What the gate did in the last 24 hours: how many came in, each finding that held; of a flood its newest part."""
    rows = statements.rows(TODAY, [space.pk, timezone.now() - timedelta(hours=24), space.pk, MOST_COUNTED])
    held = {reason or "held": n for state, reason, n in rows if state == HELD}
    admitted = sum(n for state, _, n in rows if state == ADMITTED)
    return {"admitted": admitted, "held": held, "all": admitted + sum(held.values())}


def waiting(space: Space) -> int:
    """How many records the gate holds for a person."""
    return RecordState.objects.within(space).filter(state=HELD, is_newest=True).count()


def locked_state(space: Space, actor: Actor, record: Record) -> RecordState:
    """The newest state under a lock, so that of two decisions the second sees the first."""
    newest = RecordState.objects.within(space).select_for_update().filter(record_id=record.pk, is_newest=True)
    # Who waited for the lock finds that the row is no longer the newest; then another one is.
    state = newest.first() or newest.first()
    if state is None:
        raise NotFound("There is no such record in this space.")
    return state


@transaction.atomic
def admit(space: Space, actor: Actor, record_id: int) -> RecordState:
    """A person lets a held or discarded record into working memory."""
    require(actor, "edit")
    record = get(space, record_id)
    before = locked_state(space, actor, record)
    if before.state in (ADMITTED, PROMOTED):
        raise Conflict(f"This record is {before.state} already.", code="already_decided")
    agent = Agent.objects.within(space).filter(pk=record.agent_id).first()
    if record.scope == working.AGENT and agent is None:
        raise Conflict("The agent whose own memory this was meant for is gone; promote the record instead.")
    state = write_state(record, actor, ADMITTED, working_id=enter_working(space, agent, record))
    note_decision(space, actor, "quarantine.admit", "admitted", record)
    return state


@transaction.atomic
def discard(space: Space, actor: Actor, record_id: int, reason: str) -> RecordState:
    """Hides a record with a reason; it stays stored, and an entry it had in working memory goes."""
    require(actor, "edit")
    record = get(space, record_id)
    before, reason = locked_state(space, actor, record), secrets.redact(reason)[0]
    if not reason.strip():
        raise Invalid("Say why, so that others need not ask.", code="reason_missing", field="reason")
    if before.state == DISCARDED:
        raise Conflict("This record is discarded already.", code="already_decided")
    if before.state == PROMOTED:
        raise Conflict("This record was promoted; retire the long-term entry first.", code="already_decided")
    set_removed(before, True)
    state = write_state(record, actor, DISCARDED, reason=reason.strip(), working_id=before.working_id)
    note_decision(space, actor, "quarantine.discard", "discarded", record, adds=f": “{reason.strip()[:200]}”")
    return state


def hold(space: Space, actor: Actor, record_id: int) -> None:
    """Locks a record that an approved proposal promotes: before the space, as everywhere."""
    record = Record.objects.within(space).filter(pk=record_id).first()
    if record is not None:
        locked_state(space, actor, record)


def was_promoted(space: Space, actor: Actor, record_id: int, entry: LongtermEntry) -> None:
    """Writes into a record's history that an approved proposal promoted it (in the caller's transaction)."""
    record = Record.objects.within(space).filter(pk=record_id).first()
    if record is not None:
        before = locked_state(space, actor, record)
        write_state(record, actor, PROMOTED, reason=f"L-{entry.number}", working_id=before.working_id)


@transaction.atomic
def undo(space: Space, actor: Actor, record_id: int) -> RecordState:
    """Takes back the last decision of a person: the record stands as it stood before, and so does what came of it."""
    require(actor, "edit")
    record = get(space, record_id)
    now = locked_state(space, actor, record)
    states = list(history(record))
    if len(states) < 2 or now.actor_kind == "hub":
        raise Conflict("There is nothing to undo: no person decided on this record.", code="nothing_to_undo")
    before = states[-2]
    if now.state == PROMOTED:
        spaces.send_event("promotion_undone", space, actor, now.reason)
    elif before.state == PROMOTED:
        spaces.send_event("promotion_redone", space, actor, before.reason)
    elif now.state == ADMITTED:
        set_removed(now, True)
    if before.state == ADMITTED:
        set_removed(before, False)
    state = write_state(record, actor, before.state, reason=before.reason, working_id=before.working_id)
    note_decision(space, actor, "quarantine.undo", f"undid “{now.state}” of", record)
    return state


def set_removed(state: RecordState, removed: bool) -> None:
    entries = WorkingEntry.objects.within(state.space_id).filter(pk=state.working_id)
    entries.update(removed_at=timezone.now() if removed else None)


def note_decision(space: Space, actor: Actor, verb: str, says: str, record: Record, adds: str = "") -> None:
    thing = activity.shorten(" ".join(record.content.split()), 80)
    activity.record(
        space, actor, verb, says, thing, url=f"quarantine/{record.pk}/", adds=adds, aside=record.session_id,
        details={"id": record.pk},
    )  # fmt: skip


def in_bulk(
    space: Space, actor: Actor, record_ids: Iterable[int], verb: str, reason: str = ""
) -> tuple[list[int], list[str]]:
    """The same decision on many records, or its undoing; what cannot be done is said, and the others are done."""
    done: list[int] = []
    refused = []
    for record_id in record_ids:
        try:
            decide(space, actor, record_id, verb, reason)
            done.append(record_id)
        except (Conflict, NotFound) as refusal:
            refused.append(f"#{record_id}: {refusal.message}")
    return done, refused


def decide(space: Space, actor: Actor, record_id: int, verb: str, reason: str) -> RecordState:
    if verb == "discard":
        return discard(space, actor, record_id, reason)
    return undo(space, actor, record_id) if verb == "undo" else admit(space, actor, record_id)
