"""LangGraph's `BaseStore` on the hub: every item is a JSON file, every put passes the gate.

An item `put(("users", "7"), "prefs", {...})` is the file `/memories/store/users/7/prefs.json`. Where a person decides on
changes, `get` gives what this agent has put and nobody decided on yet, with `{"metadata": {"pending": true, "proposal": 7}}`
in its value; a search gives what is published. A put takes the place of the agent's own that waits for the same item, and a
delete of an item that was never published takes it back. The namespace `("long_term",)` is long-term memory: `search` retrieves by
meaning, `put` asks people to promote `value["content"]`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from .errors import HubRefused, NotFound
from .hub import MemoryHub, Proposal
from .records import Outcome, Record, file_bytes
from .threads import current_thread

LONG_TERM = ("long_term",)
MAX_BATCH = 200
SAFE_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_@+:"


class MemoryHubStore(BaseStore):
    """Items as files below `root`; `pending` lists the proposals that puts and deletes led to."""

    def __init__(self, hub: MemoryHub, root: str = "/memories/store/"):
        self.hub = hub
        self.root = "/" + root.strip("/") + "/"
        self.pending: list[Proposal] = []
        self._pending_writes: dict[
            str, tuple[Any, bytes]
        ] = {}  # by path, what waits: the value, and the text it was sent as

    # The two methods that all others come down to; reads see the state before the puts of the same batch

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        found = self._items_of([op for op in ops if isinstance(op, GetOp)])
        results = [self._answer(op, found) for op in ops]
        last = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        for put in last.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _answer(self, op: Op, found: dict[str, Item]) -> Result:
        if isinstance(op, GetOp):
            return found.get(self._path(op.namespace, op.key))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"Unknown operation type: {type(op)}")

    # Names: every part of a namespace a directory, every key a file; dots and slashes are written as %2E and %2F

    def _path(self, namespace: tuple[str, ...], key: str) -> str:
        return self._folder(namespace) + escaped(key) + ".json"

    def _folder(self, namespace: tuple[str, ...]) -> str:
        return self.root + "".join(f"{escaped(part)}/" for part in namespace)

    def _name(self, path: str) -> tuple[tuple[str, ...], str]:
        *parts, key = path[len(self.root) :].removesuffix(".json").split("/")
        return tuple(unquote(part) for part in parts), unquote(key)

    # Reading

    def _paths(self, namespace: tuple[str, ...] = ()) -> list[str]:
        files = self.hub.walk(self._folder(namespace))
        return [entry["path"] for entry in files if entry["path"].endswith(".json")]

    def _items_of(self, gets: list[GetOp]) -> dict[str, Item]:
        return self._items([self._path(op.namespace, op.key) for op in gets], waiting=True)

    def _items(self, paths: list[str], *, waiting: bool = False) -> dict[str, Item]:
        wanted, items = list(dict.fromkeys(paths)), {}
        for start in range(0, len(wanted), MAX_BATCH):
            for file in self.hub.batch(wanted[start : start + MAX_BATCH], waiting=waiting or None):
                if not file.get("error") and (item := self._item(file)) is not None:
                    items[file["path"]] = item
        return items

    def _item(self, file: Record) -> Item | None:
        try:
            stored = json.loads(file_bytes(file))
            value, created, updated = stored["value"], stored["created_at"], stored["updated_at"]
        except (ValueError, KeyError, TypeError):
            return None  # a file that someone else put there
        namespace, key = self._name(file["path"])
        if file.get("proposal"):
            value = marked_pending(value, file["proposal"])
        return Item(value=value, key=key, namespace=namespace, created_at=created, updated_at=updated)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.namespace_prefix == LONG_TERM:
            return self._retrieve(op)
        items = [item for item in self._items(self._paths(op.namespace_prefix)).values() if matches(item, op.filter)]
        scores: dict[str, float] = {}
        if op.query:
            found = self.hub.search(op.query, layers="files", limit=200)
            scores = {str(hit["id"]): float(hit.get("score") or 0) for hit in found}  # the id of a file is its path
        ranked = sorted(
            items, key=lambda item: (-scores.get(self._path(item.namespace, item.key), -1.0), item.created_at, item.key)
        )
        chosen = ranked[op.offset : op.offset + op.limit]
        return [as_found(item, scores.get(self._path(item.namespace, item.key))) for item in chosen]

    def _retrieve(self, op: SearchOp) -> list[SearchItem]:
        if not op.query:
            return []
        found = self.hub.retrieve(op.query, hot=0, cold=min(op.offset + op.limit, 50), max_chars=100_000)
        items = [
            SearchItem(
                namespace=LONG_TERM,
                key=str(entry["id"]),
                value=dict(entry),
                created_at=moment(entry.get("created_at")),
                updated_at=moment(entry.get("created_at")),
                score=entry.get("score"),
            )
            for entry in found
        ]
        return items[op.offset : op.offset + op.limit]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {self._name(path)[0] for path in self._paths()}
        found = {name for name in found if all(fits(condition, name) for condition in op.match_conditions or ())}
        if op.max_depth is not None:
            found = {name[: op.max_depth] for name in found}
        return sorted(found)[op.offset : op.offset + op.limit]

    # Writing

    def _put(self, op: PutOp) -> None:
        if op.namespace == LONG_TERM:
            self._promote(op)
            return
        path = self._path(op.namespace, op.key)
        if op.value is None:
            self._delete(path)
            return
        given = without_pending(op.value)
        now = datetime.now(UTC).isoformat()
        before = self._items([path]).get(path)
        created = before.created_at.isoformat() if before else now
        stored = {"value": given, "created_at": created, "updated_at": now}
        if before is not None and before.value == given:
            return  # the same again would only be a proposal about a date
        text = (json.dumps(stored, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass")
        value = json.loads(text)["value"]  # as it is stored: without order, and its names are texts
        waiting, sent = self._pending_writes.pop(path, (None, b""))
        if waiting == value:
            text = sent  # with the date of then it is the same proposal
        earlier = self._waiting_proposal(path)
        outcome = self.hub.write(path, text, reason=f"store: put {op.key}", thread_id=current_thread())
        if outcome.pending:
            self._pending_writes[path] = (value, text)
            if earlier not in (None, outcome["proposal"]["number"]):
                self._withdraw(earlier)
        self._note(outcome)

    def _waiting_proposal(self, path: str) -> int | None:
        """The newest proposal of this agent that waits for an item."""
        return self.hub.batch([path], waiting=True)[0].get("proposal")

    def _withdraw(self, number: int) -> None:
        with suppress(HubRefused):  # a person decided on it meanwhile
            self.hub.withdraw(number)

    def _delete(self, path: str) -> None:
        self._pending_writes.pop(path, None)
        try:
            self._note(self.hub.delete(path, thread_id=current_thread()))
        except NotFound:  # deleting what is not there is fine, as in every store
            if number := self._waiting_proposal(path):
                self._withdraw(number)

    def _promote(self, op: PutOp) -> None:
        content = (op.value or {}).get("content") or (op.value or {}).get("text")
        if not isinstance(content, str) or not content:
            raise HubRefused(
                "Long-term memory takes put(('long_term',), key, {'content': text}); people decide. Entries are "
                "retired in the hub, not deleted from here.",
                code="invalid",
            )
        self._note(self.hub.promote(content=content, reason=f"store: put {op.key}", thread_id=current_thread()))

    def _note(self, outcome: Outcome) -> None:
        if outcome.pending:
            self.pending.append(outcome["proposal"])


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


def escaped(part: str) -> str:
    return "".join(char if char in SAFE_CHARACTERS else quoted(char) for char in part)


def quoted(char: str) -> str:
    return "%2E" if char == "." else "%7E" if char == "~" else quote(char, safe="")


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
