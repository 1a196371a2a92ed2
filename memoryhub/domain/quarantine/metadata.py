"""Secrets in the metadata of an output, and what else stands beside its content.

Other agents are given the metadata, and the names of session and node, so these pass the gate as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from memoryhub.detectors import secrets
from memoryhub.domain import spaces

MIN_NUMBER = 10**5  # a shorter number under a name for secrets is a count or a port
KEYS_LOOKED_AT = 3  # above a value, nearest first: `{"password": {"old": "…"}}`
NAMED, VALUE = ("name", "key", "id", "variable", "header"), ("value", "val", "content")
Leaf = str | int | float
Replace = Callable[[tuple[str, ...], Leaf], Any]


def texts_beside(metadata: dict[str, Any], *names: str) -> str:
    """Everything readable beside an output, one a line, so that detectors find what is split over two values as well."""
    texts = [str(value) for _, value in _leaves(metadata) if isinstance(value, str)]
    return "\n".join(part for part in [*names, *texts] if part)


def clean_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata with marks; none of it where a secret is split over several values."""
    if not metadata:
        return metadata
    clean: dict[str, Any] = without_secrets(metadata)
    hits = secrets.hits(texts_beside(clean))
    return {"removed": secrets.MARK.format(kind=hits[0][2])} if hits else clean


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
