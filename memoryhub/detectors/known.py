"""A text that memory already holds, prepared once for many comparisons."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"\w+")
SHORTEST = 4
"""Words a line needs before its return means anything: `## Testing` stands in every file."""


def words(line: str) -> tuple[str, ...]:
    """A line as its words: bullets, punctuation, case and spacing do not make a fact new."""
    return tuple(_WORD.findall(line.casefold()))


@dataclass(frozen=True)
class Known:
    """Where a text stands (a path, `L-88`) and what it says."""

    label: str
    text: str

    @cached_property
    def lines(self) -> dict[tuple[str, ...], int]:
        """Word sequence of every telling line -> its 1-based number."""
        found: dict[tuple[str, ...], int] = {}
        for number, line in enumerate(self.text.split("\n"), 1):
            key = words(line)
            if len(key) >= SHORTEST:
                found.setdefault(key, number)
        return found

    @cached_property
    def index(self) -> dict[str, list[tuple[tuple[str, ...], int]]]:
        """Long words -> the lines that have them, so that only lines sharing a rare word are compared."""
        index: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for key, number in self.lines.items():
            for word in {word for word in key if len(word) > 4}:
                index.setdefault(word, []).append((key, number))
        return index
