"""Items of LangGraph's store as files: their names, their JSON, their order, and which fit a filter."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from langgraph.store.base import Item, MatchCondition, PutOp, SearchItem

SAFE_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_@+:"
DEVICES = {"con", "nul", "prn", "aux", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
NOTHING = "%"  # the name of an empty key; in any other name two digits follow this sign


def marked_pending(value: Any, proposal: int) -> Any:
    """A value that waits for a person, saying so."""
    if not isinstance(value, dict):
        return value
    metadata = value.get("metadata")
    return {
        **value,
        "metadata": {**(metadata if isinstance(metadata, dict) else {}), "pending": True, "proposal": proposal},
    }


def without_pending(value: dict[str, Any]) -> dict[str, Any]:
    """The value without the marks of `marked_pending`, which a graph may put again with the value that it got."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("pending") is not True or "proposal" not in metadata:
        return value
    kept = {name: one for name, one in metadata.items() if name not in ("pending", "proposal")}
    return {**value, "metadata": kept} if kept else {name: one for name, one in value.items() if name != "metadata"}


def as_text(stored: dict[str, Any]) -> bytes:
    return (json.dumps(stored, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass")


def as_stored(value: dict[str, Any] | None) -> Any:
    """A value as the hub gives it back: without the marks of `marked_pending`, and its names are texts."""
    return json.loads(as_text(without_pending(value or {})))


def by_age(item: Item) -> tuple[datetime, str]:
    """Sorts items as they were put first, as InMemoryStore gives them."""
    return item.created_at, item.key


def escaped(part: str) -> str:
    """A part of a namespace, or a key, as the name of a file; `unescaped` gives it back."""
    if part.casefold() in DEVICES:  # which the hub refuses as names of files
        return f"%{ord(part[0]):02X}{escaped(part[1:])}"
    return "".join(char if char in SAFE_CHARACTERS else quoted(char) for char in part) or NOTHING


def quoted(char: str) -> str:
    return "%2E" if char == "." else "%7E" if char == "~" else quote(char, safe="", errors="surrogatepass")


def unescaped(name: str) -> str:
    return "" if name == NOTHING else unquote(name, errors="surrogatepass")


def reason_of(op: PutOp) -> str:
    """What the hub is told about a put: a NUL or half a character in its key would be refused there."""
    return f"store: put {op.key if op.key.isprintable() else ascii(op.key)}"


def as_found(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def moment(text: str | None) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else datetime.now(UTC)


def fits(condition: MatchCondition, name: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(name) < len(path):
        return False
    part = name[: len(path)] if condition.match_type == "prefix" else name[len(name) - len(path) :]
    return all(wanted in ("*", actual) for wanted, actual in zip(path, part, strict=True))


def matches(item: Item, wanted: dict[str, Any] | None) -> bool:
    return all(compares(item.value.get(key), value) for key, value in (wanted or {}).items())


def compares(actual: Any, wanted: Any) -> bool:
    """A filter as LangGraph's stores read it: equal values, nested, or `$eq $ne $gt $gte $lt $lte`."""
    if isinstance(wanted, dict):
        if any(key.startswith("$") for key in wanted):
            return all(operator(actual, name, value) for name, value in wanted.items())
        return isinstance(actual, dict) and all(compares(actual.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(actual, list | tuple) and len(actual) == len(wanted)
        return same and all(compares(mine, theirs) for mine, theirs in zip(actual, wanted, strict=True))
    return actual == wanted


def operator(actual: Any, name: str, wanted: Any) -> bool:
    if name in ("$eq", "$ne"):
        return (actual == wanted) is (name == "$eq")
    if name not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"Unsupported operator: {name}")
    mine, theirs = float(actual), float(wanted)
    return {"$gt": mine > theirs, "$gte": mine >= theirs, "$lt": mine < theirs, "$lte": mine <= theirs}[name]
