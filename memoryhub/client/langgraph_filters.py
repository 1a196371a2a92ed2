"""Which items and namespaces a search of LangGraph's store asks for."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import Item, MatchCondition


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
