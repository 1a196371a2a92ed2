"""What a process keeps of the rows that questions brought up lately: the same chunks answer many questions.

Nothing kept here is ever taken on trust. It is of one `longterm_mark` of its space, which whatever may change what an answer
shows changes in the same transaction; and with every answer the database says which mark the space has now.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

NO_SPACE = 0  # in place of a mark: the space is gone
MARK = "SELECT longterm_mark FROM memoryhub_space WHERE id = %s"

T = TypeVar("T")


def mark_in(rows: Sequence[tuple[Any, ...]]) -> int:
    """The mark that comes first in the rows of a statement about a space."""
    return rows[0][0] if rows else NO_SPACE


@dataclass(slots=True)
class Shelf(Generic[T]):
    """What is known of one space, by chunk, all of it under one mark."""

    mark: int
    known: dict[int, T] = field(default_factory=dict)


@dataclass(slots=True)
class Kept(Generic[T]):
    """What this process has read; with more than so many, or so much where they are weighed, it begins anew."""

    most: int
    weighs: Callable[[T], int] = lambda one: 1
    shelves: dict[Hashable, Shelf[T]] = field(default_factory=dict)
    size: int = 0

    def under(self, key: Hashable, mark: int) -> dict[int, T]:
        """What is known under this mark; what is of another one is dropped."""
        shelf = self.shelves.get(key)
        if shelf is None or shelf.mark != mark:
            self.size -= sum(map(self.weighs, shelf.known.values())) if shelf else 0
            shelf = self.shelves[key] = Shelf(mark)
        return shelf.known

    def put(self, key: Hashable, mark: int, found: dict[int, T]) -> None:
        if self.size > self.most:
            self.clear()
        known = self.under(key, mark)
        self.size += sum(self.weighs(one) for chunk, one in found.items() if chunk not in known)
        known.update(found)

    def of(
        self, key: Hashable, mark: int, chunks: Iterable[int], read: Callable[[list[int]], tuple[int, dict[int, T]]]
    ) -> tuple[int, dict[int, T]]:
        """What is known of these chunks, and the mark that it holds under.

        What is missing is read, and may bring another mark: then all of it is worth nothing.
        """
        known = self.under(key, mark)
        found = {chunk: known[chunk] for chunk in chunks if chunk in known}
        missing = [chunk for chunk in chunks if chunk not in found]
        if not missing:
            return mark, found
        now, new = read(missing)
        self.put(key, now, new)
        return now, found | new

    def clear(self) -> None:
        self.shelves.clear()
        self.size = 0
