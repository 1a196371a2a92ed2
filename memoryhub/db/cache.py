"""The class of all caches in a process. `caches` lists them by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import cachetools

V = TypeVar("V")
K = TypeVar("K", bound=Hashable)

caches: dict[str, Cache[Any]] = {}


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
        sizes = {"getsizeof": lambda entry: size_of(entry[1])} if size_of else {}
        self._entries: cachetools.LRUCache[Hashable, tuple[Hashable, V]] = cachetools.LRUCache(
            max_items or max_bytes, **sizes
        )
        self._lock = threading.Lock()  # jobs run in threads
        caches[name] = self

    @property
    def bound(self) -> str:
        return f"{self.max_bytes / (1 << 20):g} MiB" if self.max_bytes else f"{self.max_items:,}"

    @property
    def size(self) -> int:
        """The number of values, or of bytes if that is the bound."""
        return int(self._entries.currsize)

    def get(self, key: Hashable, mark: Hashable = None) -> V | None:
        """The value of a key if it was put with this mark; without a mark any value. None if there is none."""
        with self._lock:
            try:
                found = self._entries[key]
            except KeyError:
                return None
        return found[1] if mark is None or found[0] == mark else None

    def get_each(self, first: Hashable, others: Iterable[K], mark: Hashable) -> dict[K, V]:
        """The values of the keys `(first, other)` that were put with this mark, by `other`."""
        found = {}
        with self._lock:
            for other in others:
                try:
                    of_mark, value = self._entries[first, other]
                except KeyError:
                    continue
                if of_mark == mark:
                    found[other] = value
        return found

    def put(self, key: Hashable, value: V, mark: Hashable = None) -> None:
        """Stores a value, unless it is larger than the whole cache."""
        with self._lock:
            self._entries.pop(key, None)
            with suppress(ValueError):  # it is larger than the bound
                self._entries[key] = mark, value

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._entries.pop(key, None)

    def items(self) -> list[tuple[Hashable, V]]:
        """All keys and values."""
        with self._lock:
            # The cache's own `items` would count as a use of each.
            return [(key, cachetools.Cache.__getitem__(self._entries, key)[1]) for key in self._entries]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
