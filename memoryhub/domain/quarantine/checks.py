"""What comes into quarantine: checked before anything is stored, and without a secret anywhere in it."""

from __future__ import annotations

from typing import Any

from memoryhub.detectors import secrets
from memoryhub.domain import working
from memoryhub.domain.quarantine import gate
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Record, Space
from memoryhub.text import input_checks

SCOPES = (working.GROUP, working.AGENT)
MOST_NAMES = 4096
clean_names: set[str] = set()


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
    """The record as it may be stored, or a refusal before anything is."""
    if node_kind not in Record.NodeKind.values:
        raise Invalid(
            f"node_kind is one of {', '.join(Record.NodeKind.values)}.", code="unknown_node_kind", field="node_kind"
        )
    if scope not in SCOPES:
        raise Invalid(f"scope is one of {', '.join(SCOPES)}.", code="unknown_scope", field="scope")
    if scope == working.AGENT and agent is None:
        raise Invalid(
            "Only an agent has memory of its own; a person logs for the group.", code="invalid", field="scope"
        )
    return Record(
        space_id=space.pk,
        agent_id=agent.pk if agent else None,
        session_id=named(session_id, "session_id"),
        node_id=named(node_id, "node_id"),
        node_kind=node_kind,
        scope=scope,
        content=input_checks.checked(content),
        metadata=input_checks.metadata(metadata),
    )


def named(value: Any, field: str) -> str:
    text = input_checks.clean(value, field, most=200)
    if not text.strip():
        raise Invalid(f"{field} is missing.", code="invalid", field=field)
    return text


def keep_no_secret(record: Record, verdict: gate.Verdict) -> None:
    """Puts what the gate left over into the record: nothing that is stored has a secret in it."""
    record.content, record.findings = verdict.content, list(verdict.findings)
    for field, look in (("metadata", without_secrets), ("session_id", named_without), ("node_id", named_without)):
        clean = look(getattr(record, field))
        if clean != getattr(record, field):
            setattr(record, field, clean if field == "metadata" else clean[:200])
            says = f"A secret in {field}. It was removed before anything was stored."
            record.findings.append(
                {"code": "secrets", "severity": "high", "start": 0, "end": 0, "message": says, "beside": True}
            )


def named_without(name: str) -> str:
    """The same for what names a session or a node; most come again and again, so those without a secret are remembered."""
    if name in clean_names:
        return name
    clean = secrets.redact(name)[0]
    if clean == name:
        if len(clean_names) >= MOST_NAMES:
            clean_names.clear()
        clean_names.add(name)
    return clean


def without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return secrets.redact(value)[0]
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    if isinstance(value, dict):
        return {without_secrets(key): without_secret_of(key, inner) for key, inner in value.items()}
    return value


def without_secret_of(key: str, value: Any) -> Any:
    """A value whose key says that it is secret (`{"password": "…"}`) is one, though alone it would not look like it."""
    if not isinstance(value, str):
        return without_secrets(value)
    lead = f"{key}: "
    said = secrets.redact(lead + value)[0]
    return said[len(lead) :] if said.startswith(lead) else secrets.redact(value)[0]


def has_secret_beside(record: Record) -> bool:
    return any(one.get("beside") for one in record.findings)
