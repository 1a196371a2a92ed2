"""The class of all caches in a process. `caches` lists them by name."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

V = TypeVar("V")
K = TypeVar("K", bound=Hashable)

caches: dict[str, Cache[Any]] = {}
ENTRY_BYTES = 1 << 10  # about what an entry takes beside its texts: its objects


def text_bytes(key: Hashable) -> int:
    """What the texts in a key take: that of a prompt has the query and the task of a call, each up to 20,000 characters."""
    return sum(sys.getsizeof(one) for one in key if isinstance(one, str)) if isinstance(key, tuple) else 0


class Cache(Generic[V]):
    """Values by their keys; the least recently used are dropped first.

    A value that is put with a mark (for example the revision of a space) is only returned for an equal mark. `key`,
    `invalidated_by` and `saves` describe the cache in the list of all caches.
    """

    def __init__(
        self, name: str, *, key: str, invalidated_by: str, saves: str, max_items: int = 0, max_bytes: int = 0,
        size_of: Callable[[V], int] | None = None,
    ) -> None:  # fmt: skip
        """The bound is `max_items`, or `max_bytes` with `size_of`, which returns the bytes of a value."""
        self.name, self.key, self.invalidated_by, self.saves = name, key, invalidated_by, saves
        self.max_items, self.max_bytes, self.size_of = max_items, max_bytes, size_of
        self.size = 0  # the number of values, or their bytes if that is the bound
        self._entries: OrderedDict[Hashable, tuple[Hashable, V, int]] = OrderedDict()  # mark, value, size
        self._lock = threading.Lock()  # jobs run in threads
        caches[name] = self

    @property
    def bound(self) -> str:
        return f"{self.max_bytes / (1 << 20):g} MiB" if self.max_bytes else f"{self.max_items:,}"

    def get(self, key: Hashable, mark: Hashable = None) -> V | None:
        """The value of a key if it was put with this mark; without a mark any value. None if there is none."""
        found = self._entries.get(key)
        if found is None or (mark is not None and found[0] != mark):
            return None
        try:  # noqa: SIM105  `suppress` takes as long as all the rest, and prompts are served from here
            self._entries.move_to_end(key)  # one step for the interpreter, so no lock
        except KeyError:  # another thread dropped it meanwhile
            pass
        return found[1]

    def get_each(self, first: Hashable, others: Iterable[K], mark: Hashable) -> dict[K, V]:
        """The values of the keys `(first, other)` that were put with this mark, by `other`."""
        found = {}
        for other in others:
            if (value := self.get((first, other), mark)) is not None:
                found[other] = value
        return found

    def put(self, key: Hashable, value: V, mark: Hashable = None) -> None:
        """Stores a value, unless it is larger than the whole cache."""
        size = self.size_of(value) + text_bytes(key) if self.size_of else 1
        with self._lock:
            self._remove(key)
            if size > (bound := self.max_items or self.max_bytes):
                return
            self._entries[key] = mark, value, size
            self.size += size
            while self.size > bound:
                _, removed = self._entries.popitem(last=False)  # in one step: `get` moves entries without the lock
                self.size -= removed[2]

    def _remove(self, key: Hashable) -> None:
        if removed := self._entries.pop(key, None):
            self.size -= removed[2]

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._remove(key)

    def items(self) -> list[tuple[Hashable, V]]:
        """All keys and values."""
        found = list(self._entries.items())  # in one step: `get` moves entries without the lock
        return [(key, value) for key, (_, value, _) in found]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.size = 0
