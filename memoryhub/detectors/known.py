"""A text that memory already holds, prepared once for many comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from .unspaced import IS_UNSPACED, pieces

_WORD = re.compile(r"\w+")
SHORTEST = 4
"""Words a line needs before its return means anything: `## Testing` stands in every file."""


def words(line: str) -> tuple[str, ...]:
    """A line as its words: bullets, punctuation, case and spacing do not make a fact new."""
    found = _WORD.findall(line.casefold())
    return tuple(found if line.isascii() else [piece for word in found for piece in pieces(word)])


def mask(found: Iterable[str]) -> int:
    """Words as bits, one for each, of which several words may share one: what is missing in a mask is missing in the words."""
    bits = 0
    for word in found:
        bits |= 1 << (hash(word) & 1023)
    return bits


def tells(key: tuple[str, ...]) -> bool:
    """Whether a line has words enough that its return means anything; a pair of characters is half a word."""
    return len(key) >= SHORTEST and (len(key) >= 2 * SHORTEST or not all(map(IS_UNSPACED.match, key)))


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
            if tells(key):
                found.setdefault(key, number)
        return found

    @cached_property
    def lacks(self) -> int:
        """The bits of the words that no telling line has."""
        return ~mask({word for key in self.lines for word in key})

    @cached_property
    def index(self) -> dict[str, list[tuple[tuple[str, ...], int]]]:
        """Long words, and pairs -> the lines that have them, so that only lines sharing a rare word are compared."""
        index: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for key, number in self.lines.items():
            for word in {word for word in key if len(word) > 4 or IS_UNSPACED.match(word)}:
                index.setdefault(word, []).append((key, number))
        return index
