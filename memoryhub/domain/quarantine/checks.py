"""What comes into quarantine: checked before anything is stored, and without a secret anywhere in it.

Other agents are given the metadata of an output, and the names of its session and node, so these pass the same gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.detectors import secrets
from memoryhub.domain import spaces, working
from memoryhub.domain.quarantine import gate
from memoryhub.errors import HubError, Invalid
from memoryhub.models import Agent, Record, Space
from memoryhub.text import input_checks

SCOPES = (working.GROUP, working.AGENT)
MIN_NUMBER = 10**5  # a shorter number under a name for secrets is a count or a port
KEYS_LOOKED_AT = 3  # above a value, nearest first: `{"password": {"old": "…"}}`
NAMED, VALUE = ("name", "key", "id", "variable", "header"), ("value", "val", "content")
Leaf = str | int | float
Replace = Callable[[tuple[str, ...], Leaf], Any]
clean_beside: Cache[bool] = Cache(
    "metadata and names without findings", key="the space's gate, names, metadata", max_items=4096,
    invalidated_by="nothing: detectors do not change", saves="looking at what comes beside each output",
)  # fmt: skip
MAX_CACHED = 500  # characters


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


def look_beside(space: Space, record: Record) -> str:
    """Takes secrets out of the metadata and the names of a record, and adds what the gate finds in them to its findings. Returns the
    step that holds it, if one does: a secret holds the output whatever the gate says."""
    key = repr((space.settings["ingress"], record.session_id, record.node_id, record.metadata))
    if clean_beside.get(key):
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
        clean_beside.put(key, True)
    return "secrets" if removed else holding


def _take_out_secrets(record: Record) -> list[dict[str, Any]]:
    """Replaces the secrets in the metadata and the names of a record; a finding for each field that had one."""
    cleaned = {
        "metadata": _metadata_without_secrets(record.metadata),
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


def _metadata_without_secrets(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata with marks; none of it where a secret is split over several values."""
    if not metadata:
        return metadata
    clean: dict[str, Any] = without_secrets(metadata)
    hits = secrets.hits(texts_beside(clean))
    return {"removed": secrets.MARK.format(kind=hits[0][2])} if hits else clean


def size_of(record: Record) -> int:
    """About how many bytes a record stores."""
    return len(record.content.encode()) + input_checks.json_size(record.metadata)


# ---- metadata and names


def texts_beside(metadata: dict[str, Any], *names: str) -> str:
    """Everything readable beside an output, one a line, so that detectors find what is split over two values as well."""
    texts = [str(value) for _, value in _leaves(metadata) if isinstance(value, str)]
    return "\n".join(part for part in [*names, *texts] if part)


def without_secrets(value: Any) -> Any:
    """A JSON value with a mark in the place of each secret, in keys as well. The name of a value may be its key, one above that,
    or stand beside it (`{"name": "DB_PASSWORD", "value": "…"}`, `["DB_PASSWORD", "…"]`)."""
    leaves = list(_leaves(value))
    suspects = spaces.secret_suspects(_lines(names, leaf) for names, leaf in leaves)
    if not suspects:
        return value
    marked = {leaves[at] for at in suspects}
    return _rebuilt(value, (), lambda names, leaf: _redacted(names, leaf) if (names, leaf) in marked else leaf)


def _lines(names: tuple[str, ...], leaf: Leaf) -> str:
    """A value alone and behind each of its names, as it is searched."""
    text = _as_text(leaf)
    return "\n".join([text, *(f"{name}: {text}" for name in names)]) if text else ""


def _as_text(leaf: Leaf) -> str:
    if isinstance(leaf, str):
        return leaf
    return str(leaf) if not isinstance(leaf, bool) and abs(leaf) >= MIN_NUMBER else ""


def _redacted(names: tuple[str, ...], leaf: Leaf) -> Leaf:
    """A value with a mark in place of each secret, or of the whole value where one of its names is that of a secret."""
    text = _as_text(leaf)
    for name in names:
        lead = f"{name}: "
        clean = secrets.redact(lead + text)[0]
        if clean.startswith(lead) and clean[len(lead) :] != text:
            return clean[len(lead) :]
    clean = secrets.redact(text)[0]
    return clean if clean != text else leaf


def _leaves(value: Any) -> Iterator[tuple[tuple[str, ...], Leaf]]:
    """Every text and number of a JSON value, keys too, each with the names that may say what it is, nearest first."""
    found: list[tuple[tuple[str, ...], Leaf]] = []

    def note(over: tuple[str, ...], leaf: Leaf) -> Leaf:
        found.append((over, leaf))
        return leaf

    _rebuilt(value, (), note)
    yield from found


def _rebuilt(value: Any, names: tuple[str, ...], replace: Replace) -> Any:
    """A JSON value with each of its texts and numbers replaced."""
    if isinstance(value, dict):
        beside = _name_beside(value)
        return {
            replace((), key): _rebuilt(
                inner, (key, *(beside if key in VALUE else ()), *names)[:KEYS_LOOKED_AT], replace
            )
            for key, inner in value.items()
        }
    if isinstance(value, list):
        before = ["", *value[:-1]]
        return [
            _rebuilt(inner, (*((name,) if isinstance(name, str) and name else ()), *names)[:KEYS_LOOKED_AT], replace)
            for name, inner in zip(before, value, strict=False)
        ]
    return replace(names, value) if isinstance(value, str | int | float) and not isinstance(value, bool) else value


def _name_beside(value: dict[str, Any]) -> tuple[str, ...]:
    """What a pair of name and value says that its value is."""
    return tuple(value[key] for key in NAMED if isinstance(value.get(key), str))
