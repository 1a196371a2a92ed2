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
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from .errors import Conflict, HubRefused, HubUnavailable, NotFound
from .hub import MemoryHub, Proposal
from .langgraph_items import (
    as_found,
    as_stored,
    as_text,
    by_age,
    escaped,
    fits,
    marked_pending,
    matches,
    moment,
    reason_of,
    unescaped,
)
from .records import Outcome, Record, file_bytes, sha256_of
from .threads import current_thread

LONG_TERM = ("long_term",)
MAX_BATCH = 200
MAX_WRITTEN = 10_000  # items that a store knows as it wrote them
TRIES = 3  # of a put that others get in the way of


class Written(NamedTuple):
    """An item as it stands on the hub, as far as this store knows."""

    sha256: str  # of the file
    created_at: str
    value: Any


class MemoryHubStore(BaseStore):
    """Items as files below `root`; `pending` lists the proposals that puts and deletes led to."""

    def __init__(self, hub: MemoryHub, root: str = "/memories/store/"):
        self.hub = hub
        self.root = "/" + root.strip("/") + "/"
        self.pending: list[Proposal] = []
        self._pending_writes: dict[
            str, tuple[Any, bytes]
        ] = {}  # by path, what waits: the value, and the text it was sent as
        self._written: dict[str, Written] = {}  # by path, what this store wrote last where no person decides

    # The two methods that all others come down to; reads see the state before the puts of the same batch

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        found = self._items_of([op for op in ops if isinstance(op, GetOp)])
        results = [self._answer(op, found) for op in ops]
        last = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        self._put_all([*last.values()])
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
        return tuple(unescaped(part) for part in parts), unescaped(key)

    # Reading

    def _paths(self, namespace: tuple[str, ...] = ()) -> list[str]:
        """The paths of all items at or below a namespace, by one call where they are not more than it names."""
        folder = self._folder(namespace)
        found = self.hub.glob("**/*.json", prefix=folder)
        files = self.hub.walk(folder) if found["truncated"] else found["matches"]
        return [entry["path"] for entry in files if entry["path"].endswith(".json")]

    def _oldest(self, namespace: tuple[str, ...], first: int) -> Iterator[list[str]]:
        """The paths of all items at or below a namespace as they were made: so many at first, then batch by batch."""
        start, count = 0, min(first, MAX_BATCH)
        while True:
            found = self.hub.glob("**/*.json", prefix=self._folder(namespace), oldest=count, offset=start)
            yield [entry["path"] for entry in found["matches"]]
            if not found["truncated"]:
                return
            start, count = start + count, MAX_BATCH

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
        scores = self._scores(op)
        wanted = op.offset + op.limit
        fitting = (item for item in self._ranked(op, scores) if matches(item, op.filter))
        chosen = list(islice(fitting, op.offset, wanted))
        return [as_found(item, scores.get(self._path(item.namespace, item.key))) for item in chosen]

    def _scores(self, op: SearchOp) -> dict[str, float]:
        """The items that a search of the hub finds by words or meaning, by path."""
        if not op.query:
            return {}
        folder = self._folder(op.namespace_prefix)
        found = self.hub.search(op.query, layers="files", limit=200)  # the id of a file is its path
        scores = {str(hit["id"]): float(hit.get("score") or 0) for hit in found if str(hit["id"]).startswith(folder)}
        return scores

    def _ranked(self, op: SearchOp, scores: dict[str, float]) -> Iterator[Item]:
        """The items that were found, best first, then the others, oldest first; those are read as far as somebody asks for them."""
        found = self._items([*scores])
        yield from (found[path] for path in sorted(found, key=lambda path: (-scores[path], *by_age(found[path]))))
        for paths in self._oldest(op.namespace_prefix, op.offset + op.limit):
            yield from self._items([path for path in paths if path not in scores]).values()

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

    def _put_all(self, puts: list[PutOp]) -> None:
        """Puts and deletes one after the other; what has to be known before is read at once for all."""
        files = [put for put in puts if put.namespace != LONG_TERM]
        unknown = [
            path for put in files if put.value is not None and not self._is_known(path := self._path_of(put), put)
        ]
        states = self._states(unknown)
        for put in puts:
            if put.namespace == LONG_TERM:
                self._promote(put)
            elif put.value is None:
                self._delete(self._path_of(put))
            else:
                path = self._path_of(put)
                self._put(put, path, *states.get(path, (self._written.get(path), None)))

    def _path_of(self, put: PutOp) -> str:
        return self._path(put.namespace, put.key)

    def _is_known(self, path: str, put: PutOp) -> bool:
        """Whether this store wrote the item last, as far as it knows, and it was another value: the hub says if it was not."""
        known = self._written.get(path)
        return known is not None and known.value != as_stored(put.value)

    def _states(self, paths: list[str]) -> dict[str, tuple[Written | None, int | None]]:
        """The published item of each path, and the newest proposal of this agent that waits for it."""
        found: dict[str, tuple[Written | None, int | None]] = {}
        waiting: dict[str, int] = {}
        for start in range(0, len(paths), MAX_BATCH):
            for file in self.hub.batch(paths[start : start + MAX_BATCH], waiting=True):
                found[file["path"]] = self._as_written(file), None
                if file.get("proposal"):
                    waiting[file["path"]] = file["proposal"]
        for start in range(0, len(waiting), MAX_BATCH):
            for file in self.hub.batch([*waiting][start : start + MAX_BATCH]):
                found[file["path"]] = self._as_written(file), waiting[file["path"]]
        return found

    def _as_written(self, file: Record) -> Written | None:
        item = None if file.get("error") else self._item(file)
        return Written(file.get("sha256") or "", item.created_at.isoformat(), item.value) if item else None

    def _put(self, op: PutOp, path: str, before: Written | None, waiting: int | None) -> None:
        value = as_stored(op.value)
        for tries_left in reversed(range(TRIES)):
            if before is not None and before.value == value:
                if waiting:
                    self._withdraw(waiting)
                return  # the same again would only be a proposal about a date
            text = self._text(path, value, before)
            try:
                outcome = self._write(op, path, text, before.sha256 if before and tries_left else None)
            except Conflict as refusal:
                if refusal.status != 412:
                    raise
                before, waiting = self._states([path])[path]
                continue
            self._wrote(path, text, value, outcome, waiting)
            return

    def _text(self, path: str, value: Any, before: Written | None) -> bytes:
        """The file of an item; what waits already is sent as it was, with the date of then, so that it is the same proposal."""
        waits, sent = self._pending_writes.pop(path, (None, b""))
        if waits == value:
            return sent
        now = datetime.now(UTC).isoformat()
        return as_text({"value": value, "created_at": before.created_at if before else now, "updated_at": now})

    def _write(self, op: PutOp, path: str, text: bytes, if_match: str | None) -> Outcome:
        notes = {"reason": reason_of(op), "thread_id": current_thread()}
        if if_match:
            with suppress(
                HubUnavailable
            ):  # the answer may be lost; sent again without the condition, it is the same write
                return self.hub.write(path, text, if_match=if_match, **notes)
        return self.hub.write(path, text, **notes)

    def _wrote(self, path: str, text: bytes, value: Any, outcome: Outcome, waiting: int | None) -> None:
        self._written.pop(path, None)
        if outcome.pending:
            self._pending_writes[path] = (value, text)
            if waiting not in (None, outcome["proposal"]["number"]):
                self._withdraw(waiting)
        else:
            created = json.loads(text)["created_at"]
            self._written[path] = Written(outcome.get("sha256") or sha256_of(text), created, value)
            for oldest in list(islice(self._written, max(0, len(self._written) - MAX_WRITTEN))):
                del self._written[oldest]
        self._note(outcome)

    def _withdraw(self, number: int) -> None:
        with suppress(HubRefused):  # a person decided on it meanwhile
            self.hub.withdraw(number)

    def _delete(self, path: str) -> None:
        self._pending_writes.pop(path, None)
        self._written.pop(path, None)
        try:
            self._note(self.hub.delete(path, thread_id=current_thread()))
        except NotFound:  # deleting what is not there is fine, as in every store
            if number := self.hub.batch([path], waiting=True)[0].get("proposal"):
                self._withdraw(number)

    def _promote(self, op: PutOp) -> None:
        content = (op.value or {}).get("content") or (op.value or {}).get("text")
        if not isinstance(content, str) or not content:
            raise HubRefused(
                "Long-term memory takes put(('long_term',), key, {'content': text}); people decide. Entries are "
                "retired in the hub, not deleted from here.",
                code="invalid",
            )
        self._note(self.hub.promote(content=content, reason=reason_of(op), thread_id=current_thread()))

    def _note(self, outcome: Outcome) -> None:
        if outcome.pending:
            self.pending.append(outcome["proposal"])
