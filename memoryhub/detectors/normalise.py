"""A text without disguises, as a model reads it, with the offsets of the original."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from .patterns import plain
from .scanning import lowered, replaced

CYRILLIC = dict(zip("аеѕіјорсԁухһԛԝАВЕЅІЈКМНОРСТУХЗҮ", "aesijopcdyxhqwABESIJKMHOPCTYX3Y", strict=True))
GREEK = dict(zip("αινορυχϲΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aivopuxcABEZHIKMNOPTYX", strict=True))
LOOKALIKES = CYRILLIC | GREEK


_INVISIBLE = plain(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]+"
)
_TAGS = range(0xE0020, 0xE007F)
_QUOTES = {"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "–": "-", "—": "-"}


MAX_RUN = 100
"""Blanks, or one sign, again and again: what stands behind so many is as near as behind these."""
_SAMPLE = 50  # one character in so many: a run that is too long has two of them in a row
_RUN_IN_SAMPLE = plain(r"\s(?=\s)|([^\w\s])(?=\1)")
_LONG_RUN = plain(rf"\s{{{MAX_RUN + 1},}}|([^\w\s])\1{{{MAX_RUN},}}")


@dataclass(frozen=True, slots=True)
class Joined:
    """A text without some of its stretches, and where its characters stand in the whole one."""

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


def normalise(text: str) -> tuple[str, Joined | None]:
    """The text in lower case, look-alikes as Latin, nothing invisible, endless runs of blanks and of one sign cut short; and
    where its characters stood, None if no offset moved."""
    lower = lowered(text)
    read = {} if lower.isascii() else {char: _plain(char) for char in set(lower) if char > "\x7f"}
    lower = replaced(lower, read)
    gone = [match.span() for match in _INVISIBLE.finditer(lower)] if "" in read.values() else []
    seen = joined(lower, gone)
    if runs := [seen.span(*run) for run in _long_runs(seen.text)]:
        seen = joined(lower, _merged([*gone, *runs]))
    return (seen.text, seen) if gone or runs else (lower, None)


def _merged(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches in order, one in place of those that overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _long_runs(text: str) -> list[tuple[int, int]]:
    """What is too long of each run."""
    if not any(_is_run(text, match.start() * _SAMPLE) for match in _RUN_IN_SAMPLE.finditer(text[::_SAMPLE])):
        return []
    return [(match.start() + MAX_RUN, match.end()) for match in _LONG_RUN.finditer(text)]


def _is_run(text: str, at: int) -> bool:
    """Whether nothing else stands between two characters of the sample."""
    piece = text[at : at + _SAMPLE + 1]
    return piece.isspace() or piece == piece[0] * len(piece)


@lru_cache(maxsize=8192)
def _plain(char: str) -> str:
    if char in LOOKALIKES:
        return LOOKALIKES[char].lower()
    if char in _QUOTES:
        return _QUOTES[char]
    if ord(char) in _TAGS:
        return chr(ord(char) - 0xE0000).lower()
    if _INVISIBLE.match(char):
        return ""
    if "\uff01" <= char <= "\uff5e" or "\U0001d400" <= char <= "\U0001d7ff":
        return unicodedata.normalize("NFKC", char).lower()
    return char
