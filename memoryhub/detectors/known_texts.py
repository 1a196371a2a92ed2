"""A text that memory already holds, prepared once for many comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from .cjk import CJK, bigrams
from .patterns import plain

_WORD = plain(r"\w+")
MIN_WORDS = 4
"""Words that a line needs to be compared: `## Testing` stands in every file."""


def words(line: str) -> tuple[str, ...]:
    """A line as its words: bullets, punctuation, case and spacing do not make a fact new."""
    found = _WORD.findall(line.casefold())
    return tuple(found if line.isascii() else [pair for word in found for pair in bigrams(word)])


def word_mask(found: Iterable[str]) -> int:
    """Words as bits of a number. Several words may share a bit; a word whose bit is missing is missing."""
    bits = 0
    for word in found:
        bits |= 1 << (hash(word) & 1023)
    return bits


def is_comparable(line: tuple[str, ...]) -> bool:
    """Whether a line has so many words that meeting it again means something; a pair of characters is half a word."""
    return len(line) >= MIN_WORDS and (len(line) >= 2 * MIN_WORDS or not all(map(CJK.match, line)))


Index = dict[str, list[tuple[frozenset[str], int]]]  # word -> the lines that have it: their words and numbers


@dataclass(frozen=True)
class KnownText:
    """Where a text stands (a path, `L-88`) and what it says."""

    label: str
    text: str

    @cached_property
    def lines(self) -> dict[tuple[str, ...], int]:
        """The words of every comparable line -> its 1-based number, of equal lines the first."""
        found: dict[tuple[str, ...], int] = {}
        for number, line in enumerate(self.text.split("\n"), 1):
            key = words(line)
            if is_comparable(key):
                found.setdefault(key, number)
        return found

    @cached_property
    def missing_words(self) -> int:
        """The mask of the words that no comparable line has."""
        return ~word_mask({word for key in self.lines for word in key})

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the whole text."""
        return words(self.text)

    @cached_property
    def index(self) -> Index:
        """Long words, and pairs of characters -> the lines that have them: only lines that share a rare one are compared."""
        index: Index = {}
        for key, number in self.lines.items():
            line = frozenset(key)
            for word in {word for word in line if len(word) > 4 or CJK.match(word)}:
                index.setdefault(word, []).append((line, number))
        return index
