"""A text without some of its stretches, and where its characters stand in the whole one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Joined:
    text: str
    starts: list[int]  # of each part in the joined text
    shifts: list[int]  # how much further in the whole text each part stands

    def place(self, offset: int) -> int:
        return offset + self.shifts[bisect_right(self.starts, offset) - 1]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the whole text a stretch stands."""
        return self.place(start), self.place(end - 1) + 1

    def goes_over(self, start: int, end: int) -> bool:
        """Whether something was taken out of the middle of a stretch."""
        return bisect_right(self.starts, start) != bisect_right(self.starts, end - 1)


def joined(text: str, gone: Iterable[tuple[int, int]]) -> Joined:
    """The text without these stretches, which are in order and do not overlap."""
    parts, starts, shifts, at, size = [], [0], [0], 0, 0
    for start, end in gone:
        parts.append(text[at:start])
        size += start - at
        at = end
        starts.append(size)
        shifts.append(end - size)
    return Joined("".join([*parts, text[at:]]), starts, shifts)
