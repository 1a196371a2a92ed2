"""What comes into quarantine: checked before anything is stored, and without a secret anywhere in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memoryhub.db.cache import Cache
from memoryhub.detectors import secrets
from memoryhub.domain import working
from memoryhub.domain.quarantine import beside, gate
from memoryhub.errors import HubError, Invalid
from memoryhub.models import Agent, Record, Space
from memoryhub.text import input_checks

SCOPES = (working.GROUP, working.AGENT)
clean_names: Cache[bool] = Cache(
    "names without secrets", key="session or node", max_items=4096, invalidated_by="nothing: detectors do not change",
    saves="looking for secrets in names that come with each output",
)  # fmt: skip


def checked(
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
    return Record(space_id=space.pk, agent_id=agent.pk if agent else None, **values)


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


def take_out_secrets(record: Record, verdict: gate.Verdict) -> None:
    """Puts what the gate left over into the record: nothing that is stored has a secret in it."""
    record.content, record.findings = verdict.content, list(verdict.findings)
    cleaned = {
        "metadata": _metadata_without_secrets(record.metadata),
        "session_id": _name_without_secrets(record.session_id)[:200],
        "node_id": _name_without_secrets(record.node_id)[:200],
    }
    for field, clean in cleaned.items():
        if clean != getattr(record, field):
            setattr(record, field, clean)
            says = f"A secret in {field}. It was removed before anything was stored."
            record.findings.append(_beside("secrets", "high", says))


def look_beside(space: Space, record: Record) -> str:
    """What the gate finds in the metadata and the names goes to the record's findings; the step that holds it, if one does.

    A secret there has been taken out, and holds the output whatever the gate says.
    """
    text = beside.texts_beside(record.metadata, record.session_id, record.node_id)
    found, holding = gate.examine_beside(space, text)
    for one in found:
        says = f"In the metadata or a name: {one.message}"
        if not any(known["message"] == says for known in record.findings):
            record.findings.append(_beside(one.code, one.severity, says))
    return "secrets" if has_secret_beside(record) else holding


def _beside(code: str, severity: str, message: str) -> dict[str, Any]:
    """A finding that stands nowhere in the content."""
    return {"code": code, "severity": severity, "start": 0, "end": 0, "message": message, "beside": True}


def _name_without_secrets(name: str) -> str:
    """The name of a session or a node without secrets; most come again and again."""
    if clean_names.get(name):
        return name
    clean = secrets.redact(name)[0]
    if clean == name:
        clean_names.put(name, True)
    return clean


def _metadata_without_secrets(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata with marks; none of it where a secret is split over several values."""
    if not metadata:
        return metadata
    clean: dict[str, Any] = beside.without_secrets(metadata)
    hits = secrets.hits(beside.texts_beside(clean))
    return {"removed": secrets.MARK.format(kind=hits[0][2])} if hits else clean


def has_secret_beside(record: Record) -> bool:
    return any(one.get("beside") and one["code"] == "secrets" for one in record.findings)


def size_of(record: Record) -> int:
    """About how many bytes a record stores."""
    return len(record.content.encode()) + input_checks.json_size(record.metadata)
