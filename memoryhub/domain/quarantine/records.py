"""Quarantine: what agents said, raw and for good. No retrieval, no prompt and no search of an agent reads it.

A record is never changed and never deleted, which the database refuses too; what became of it stands in rows beside it, its
states, of which one is the newest.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.detectors import secrets
from memoryhub.domain import activity, jobs, quotas, retrieval, working
from memoryhub.domain.quarantine import gate
from memoryhub.domain.quarantine.metadata import clean_metadata, texts_beside
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.models import HUB, Actor, Agent, Record, RecordState, Space
from memoryhub.text import input_checks

HELD, ADMITTED = RecordState.HELD, RecordState.ADMITTED
SCOPES = (working.GROUP, working.AGENT)
NODES = {"agent": "an answer", "fact_check": "a fact check", "memory_retrieval": "a retrieval"}

INSERT = f"""
INSERT INTO "quarantine"."record" (space_id, agent_id, agent_name, session_id, node_id, node_kind, scope, content, sha256,
    metadata, findings, codes, created_at, words)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::text[], %s, {retrieval.TSVECTOR})
RETURNING id, agent_id, scope, content, metadata, findings, session_id, created_at
"""  # noqa: S608 (only names of text search configurations are put in)
FIRST_STATE = """
INSERT INTO "quarantine"."state" (space_id, record_id, state, is_newest, reason, working_id, created_at, actor_kind, actor_name)
SELECT %s, id, %s, true, %s, {working_id}, created_at, 'hub', 'hub' FROM record RETURNING id
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
    if agent is not None:
        quotas.count_call(space, agent)
    by = by or (Actor.of_agent(agent) if agent else HUB)
    record = _checked(space, agent, content, session_id, node_id, node_kind, scope, metadata)
    if agent is not None:
        quotas.count_bytes(space, agent, _size_of(record))
    record.agent_name = by.name
    record.created_at = at or timezone.now()
    verdict = gate.examine(space, agent, record.content, node_kind, session=record.session_id, scope=record.scope)
    record.content, record.findings = verdict.content, verdict.findings
    state, reason = verdict.state, verdict.reason
    if (holding := _look_beside(space, record)) and state == ADMITTED:
        state, reason = HELD, holding
    asks_judge = state == ADMITTED and gate.judge_settings(space)["is_on"]
    if asks_judge:
        state, reason = HELD, gate.JUDGE
    # One statement is a transaction by itself, without the trips that begin and end one.
    with transaction.atomic() if asks_judge else nullcontext():
        working_id = _store(space, agent, record, by, state, reason, verdict.copy_of)
        if asks_judge:
            jobs.enqueue(gate.JUDGE_JOB, {"record": record.pk}, space=space)
    return Logged(record, state, record.findings, working_id)


# ---- what comes in, checked before anything is stored, and without a secret anywhere in it


def _checked(
    space: Space,
    agent: Agent | None,
    content: Any,
    session_id: Any,
    node_id: Any,
    node_kind: Any,
    scope: Any,
    metadata: Any,
) -> Record:
    """The record as it may be stored, or one refusal that names everything that is wrong, before anything is stored."""
    checks: dict[str, Callable[[], Any]] = {
        "content": lambda: input_checks.check_content(_given(content, "content")),
        "session_id": lambda: _name(session_id, "session_id"),
        "node_id": lambda: _name(node_id, "node_id"),
        "node_kind": lambda: _node_kind(node_kind),
        "scope": lambda: _scope(scope, agent),
        "metadata": lambda: input_checks.check_metadata(metadata),
    }
    values, refusals = {}, []
    for field, check in checks.items():
        try:
            values[field] = check()
        except HubError as refusal:
            refusals.append((field, refusal))
    if refusals:
        raise _all_in_one(refusals)
    values |= {"id": None, "space_id": space.pk, "agent_id": agent.pk if agent else None}
    return statements.instance(Record, values.items())


def _all_in_one(refusals: list[tuple[str, HubError]]) -> HubError:
    """One refusal as it is; of several the first one's status and code, with the sentences of all."""
    (field, first), *others = refusals
    if not others:
        return first
    fields = [{"field": name, "message": one.message} for name, one in refusals]
    message = " ".join(one.message for _, one in refusals)
    return type(first)(message, code=first.code, **{**first.details, "field": field, "fields": fields})


def _given(value: Any, field: str) -> Any:
    if value is None:
        raise Invalid(f"{field} is missing.", code="invalid", field=field)
    return value


def _node_kind(value: Any) -> str:
    if value not in Record.NodeKind.values:
        kinds = ", ".join(Record.NodeKind.values)
        raise Invalid(f"node_kind is one of {kinds}.", code="unknown_node_kind", field="node_kind")
    return str(value)


def _scope(value: Any, agent: Agent | None) -> str:
    if value not in SCOPES:
        raise Invalid(f"scope is one of {', '.join(SCOPES)}.", code="unknown_scope", field="scope")
    if value == working.AGENT and agent is None:
        says = "Only an agent has memory of its own; a person logs for the group."
        raise Invalid(says, code="invalid", field="scope")
    return str(value)


def _name(value: Any, field: str) -> str:
    text = input_checks.check_text(value, field, max_length=200)
    if not text.strip():
        raise Invalid(f"{field} is missing.", code="invalid", field=field)
    return text


def _size_of(record: Record) -> int:
    """About how many bytes a record stores."""
    return len(record.content.encode()) + input_checks.json_size(record.metadata)


_clean_beside: Cache[bool] = Cache(
    "metadata and names without findings", key="the space's gate, names, metadata", max_items=4096,
    invalidated_by="nothing: detectors do not change", saves="looking at what comes beside each output",
)  # fmt: skip
MAX_CACHED = 500  # characters


def _look_beside(space: Space, record: Record) -> str:
    """Takes secrets out of the metadata and the names of a record, and adds what the gate finds in them to its findings. Returns the
    step that holds it, if one does: a secret holds the output whatever the gate says."""
    key = repr((space.settings["ingress"], record.session_id, record.node_id, record.metadata))
    if _clean_beside.get(key):
        return ""
    removed = _take_out_secrets(record)
    text = texts_beside(record.metadata, record.session_id, record.node_id)
    found, holding = gate.examine_beside(space, text)
    says = {f"In the metadata or a name: {one.message}": one for one in reversed(found)}
    record.findings += [
        *removed,
        *(_beside(one.code, one.severity, message) for message, one in reversed(says.items())),
    ]
    if not (removed or found) and len(key) <= MAX_CACHED:
        _clean_beside.put(key, True)
    return "secrets" if removed else holding


def _take_out_secrets(record: Record) -> list[dict[str, Any]]:
    """Replaces the secrets in the metadata and the names of a record; a finding for each field that had one."""
    cleaned = {
        "metadata": clean_metadata(record.metadata),
        "session_id": secrets.redact(record.session_id)[0][:200],
        "node_id": secrets.redact(record.node_id)[0][:200],
    }
    changed = {field: clean for field, clean in cleaned.items() if clean != getattr(record, field)}
    for field, clean in changed.items():
        setattr(record, field, clean)
    return [
        _beside("secrets", "high", f"A secret in {field}. It was removed before anything was stored.")
        for field in changed
    ]


def _beside(code: str, severity: str, message: str) -> dict[str, Any]:
    """A finding that stands nowhere in the content."""
    return {"code": code, "severity": severity, "start": 0, "end": 0, "message": message, "beside": True}


# ---- stored


def _store(
    space: Space, agent: Agent | None, record: Record, by: Actor, state: str, reason: str, copy_of: int | None = None
) -> int | None:
    """Stores a record, what the gate made of it and the line of activity in one statement, and says where it entered."""
    changes = [_insert_record(record), activity.line_about_as_change("record", _line(space, by, record, state, reason))]
    first = [space.pk, state, reason[:500]]
    if state != ADMITTED:
        changes.append(statements.Change(FIRST_STATE.format(working_id="NULL"), first))
        (record.pk,) = statements.together(*changes, answer="SELECT id FROM record")
        return None
    changes += working.entering(space, agent, record.scope, record.created_at, copy_of)
    changes.append(statements.Change(FIRST_STATE.format(working_id="(SELECT id FROM entered)"), first))
    record.pk, working_id = statements.together(*changes, answer="SELECT record.id, entered.id FROM record, entered")
    return working_id


def _insert_record(record: Record) -> statements.Change:
    """A new record as a change that can travel with what is made of it."""
    record.sha256 = sha256(record.content.encode()).hexdigest()
    record.codes = sorted({one["code"] for one in record.findings})
    return statements.Change(INSERT, [
        record.space_id, record.agent_id, record.agent_name, record.session_id, record.node_id, record.node_kind,
        record.scope, record.content, record.sha256, statements.as_json(record.metadata), statements.as_json(record.findings),
        statements.as_array(record.codes), record.created_at,
        *retrieval.words_by_configuration(record.content[: input_checks.MAX_INDEXED]),
    ], "record")  # fmt: skip


def enter_working(
    space: Space, agent: Agent | None, record: Record, *, seen_by: str = "", instead: gate.Verdict | None = None
) -> int:
    """Lets a record that was held into working memory, with a whole time to live from now on. `instead` has another text, with
    what is found in it."""
    content, findings = (instead.content, instead.findings) if instead else (record.content, record.findings)
    return working.enter(space, agent, working.Output(
        content, record.scope, record.metadata, findings, record.session_id, timezone.now(), record.pk, seen_by,
    ))  # fmt: skip


def write_state(
    record: Record, actor: Actor, state: str, *, reason: str = "", working_id: int | None = None
) -> RecordState:
    """The next row of a record's history; it alone is the newest."""
    RecordState.objects.within(record.space_id).filter(record_id=record.pk, is_newest=True).update(is_newest=False)
    return RecordState.objects.create(
        space_id=record.space_id, record_id=record.pk, state=state, reason=reason[:500], working_id=working_id,
        **actor.as_fields(),
    )  # fmt: skip


def _line(space: Space, actor: Actor, record: Record, state: str, reason: str) -> activity.Line:
    outcome = "the gate admitted it" if state == ADMITTED else f"the gate held it{': ' + reason if reason else ''}"
    says = ("quarantine.log", "logged", NODES[record.node_kind])
    return activity.make_line(space, actor, *says, url="quarantine/", adds=f"; {outcome}", aside=record.session_id)


def get(space: Space, record_id: int) -> Record:
    record = Record.objects.within(space).filter(pk=record_id).first()
    if record is None:
        raise NotFound("There is no such record in this space.")
    return record


def history(record: Record) -> QuerySet[RecordState]:
    """Each state the record went through, oldest first."""
    return RecordState.objects.within(record.space_id).filter(record_id=record.pk).order_by("id")


def locked_state(space: Space, record: Record) -> RecordState:
    """The newest state under a lock, so that of two decisions the second sees the first."""
    newest = RecordState.objects.within(space).select_for_update().filter(record_id=record.pk, is_newest=True)
    # Who waited for the lock finds that the row is no longer the newest; then another one is.
    state = newest.first() or newest.first()
    if state is None:
        raise NotFound("There is no such record in this space.")
    return state
