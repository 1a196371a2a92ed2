"""Where the words of rules stand in a text, by their first four letters: one pass with NumPy serves all rules.

Apart from the other searches, so that what only looks for secrets does not load NumPy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from .patterns import plain

_ROW = plain(r"[^\n]{0,800}(?:\n+|[^\s]{0,100}\s?)|[^\n]+")

# A stem is the first four letters of a word: what `ignore`, `ignores` and `ignoring` share. Those that rules name are numbered, and
# a table of all possible stems holds the numbers, so that one pass over a text serves all rules.
Group = frozenset[int]
_NUMBERS: dict[str, int] = {}
_LETTERS = np.zeros(256, np.int32)
_LETTERS[ord("a") : ord("z") + 1] = range(1, 27)
_STEMS = np.zeros(27**4, np.uint16)


def groups(words: str) -> tuple[Group, ...]:
    """Groups of stems from words with slashes between the groups."""
    return tuple(frozenset(_number(word[:4]) for word in group.split()) for group in words.split(" / "))


def opened(words: str) -> tuple[tuple[Group, ...], Group | None]:
    """Groups from words, and which words a pattern begins with: those before a `^`, or of the first group after a leading one."""
    first, mark, near = words.rpartition("^")
    return groups(near), groups(first or near)[0] if mark else None


def _number(stem: str) -> int:
    if stem not in _NUMBERS:
        first, second, third, fourth = _LETTERS[np.frombuffer(stem.encode("ascii").ljust(4), np.uint8)]
        _NUMBERS[stem] = len(_NUMBERS) + 1
        _STEMS[_place(first, second, third, fourth)] = _NUMBERS[stem]
    return _NUMBERS[stem]


def _place(first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Where a stem stands in the table."""
    return ((first * 27 + second) * 27 + third) * 27 + fourth


def _bits(mask: int) -> list[int]:
    """The positions of the bits that are set."""
    digits = bin(mask)[:1:-1]
    found, at = [], digits.find("1")
    while at >= 0:
        found.append(at)
        at = digits.find("1", at + 1)
    return found


class Together:
    """What many rules ask for: of each, groups of which a word has to stand near, in arrays that one pass answers for all."""

    def __init__(self, rules: Sequence[Sequence[Group]]) -> None:
        self.rules = [place for place, groups_of_rule in enumerate(rules) if groups_of_rule]
        kinds = list(dict.fromkeys(group for place in self.rules for group in rules[place]))
        places = {group: place for place, group in enumerate(kinds)}
        self.stems, self.stem_starts = _flat([sorted(group) for group in kinds])
        self.groups, self.group_starts = _flat([[places[group] for group in rules[place]] for place in self.rules])


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Lists one behind the other, and where each begins."""
    starts = np.cumsum([0, *map(len, lists)])[:-1]
    return np.array([one for items in lists for one in items], np.intp), starts


class Rows:
    """A lower-case text as rows (lines, long ones cut at a space), and where in it the stems stand that rules name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [match.start() for match in _ROW.finditer(text)]
        letters = _LETTERS[np.frombuffer(f" {text}   ".encode("ascii", "replace"), np.uint8)]
        # Counted without the blank that stands before the text here.
        begins = np.flatnonzero((letters[1:] > 0) & (letters[:-1] == 0))
        first, second = letters[begins + 1], letters[begins + 2]
        third = np.where(second, letters[begins + 3], 0)
        fourth = np.where(third, letters[begins + 4], 0)
        stems = _STEMS[_place(first, second, third, fourth)]
        named = np.flatnonzero(stems)
        begins, stems = begins[named], stems[named]
        rows = np.searchsorted(np.array(self.starts), begins, "right") - 1
        self._marks = np.zeros((len(_NUMBERS) + 1, len(self.starts) // 8 + 1), np.uint8)
        np.bitwise_or.at(self._marks, (stems, rows >> 3), (1 << (rows & 7)).astype(np.uint8))
        self._places: dict[int, list[int]] = {}
        for stem, at in zip(stems.tolist(), begins.tolist(), strict=True):
            self._places.setdefault(stem, []).append(at)
        self.stems = frozenset(self._places)
        self._begins: dict[Group, list[int]] = {}
        self._where: dict[Group, int] = {}
        self._bits: dict[int, int] = {}

    def have(self, groups: Sequence[Group]) -> bool:
        """Whether each of these groups has a word somewhere: quicker than asking where, and mostly false."""
        return not any(map(self.stems.isdisjoint, groups))

    def words(self, group: Group, start: int, end: int) -> list[int]:
        """Where in a stretch a word of the group begins, in order; many rules ask for the same group."""
        begins = self._begins.get(group)
        if begins is None:
            begins = sorted(chain.from_iterable(self._places[stem] for stem in group & self.stems))
            self._begins[group] = begins
        return begins[bisect_left(begins, start) : bisect_left(begins, end)]

    def near_all(self, asked: Together) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """The rules whose groups all have a word somewhere in two rows, and these stretches, as `near` tells them for one."""
        here = np.bitwise_or.reduceat(self._marks[asked.stems], asked.stem_starts)
        above = here >> 1
        above[:, :-1] |= here[:, 1:] << 7
        common = np.bitwise_and.reduceat((here | above)[asked.groups], asked.group_starts)
        for place in np.flatnonzero(common.any(axis=1)).tolist():
            rows = _bits(int.from_bytes(common[place].tobytes(), "little"))
            yield asked.rules[place], list(self._merged(rows))

    def near(self, groups: Sequence[Group]) -> Iterator[tuple[int, int]]:
        """Stretches of two rows in which every group has a word, merged where they touch."""
        common = -1
        for group in groups:
            common &= self._rows_of(group)
            if not common:
                return
        yield from self._merged(_bits(common))

    def _rows_of(self, group: Group) -> int:
        """One bit for each row with one of these stems or just above such a row; many rules ask for the same group."""
        here = self._where.get(group)
        if here is None:
            here = 0
            for stem in group & self.stems:
                here |= self._rows_with(stem)
            here |= here >> 1
            self._where[group] = here
        return here

    def _rows_with(self, stem: int) -> int:
        bits = self._bits.get(stem)
        if bits is None:
            bits = self._bits[stem] = int.from_bytes(self._marks[stem].tobytes(), "little")
        return bits

    def _merged(self, rows: list[int]) -> Iterator[tuple[int, int]]:
        at = 0
        while at < len(rows):
            first = last = rows[at]
            while at + 1 < len(rows) and rows[at + 1] <= last + 1:
                at += 1
                last = rows[at]
            start, end = self.starts[first], last + 2
            yield max(0, start - 2), self.starts[end] if end < len(self.starts) else len(self.text)
            at += 1
