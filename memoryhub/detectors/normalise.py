"""A text without disguises, as a model reads it, with the offsets of the original."""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Sequence
from itertools import pairwise

from .lookalikes import LOOKALIKES
from .patterns import plain
from .scanning import lowered

_INVISIBLE = plain(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)
_TAGS = range(0xE0020, 0xE007F)
_QUOTES = {"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "–": "-", "—": "-"}


MAX_RUN = 100
"""Blanks, or one sign, again and again: what stands behind so many is as near as behind these."""
_SAMPLE = 50  # one character in so many: a run that is too long has two of them in a row
_RUN_IN_SAMPLE = plain(r"\s(?=\s)|([^\w\s])(?=\1)")
_LONG_RUN = plain(rf"\s{{{MAX_RUN + 1},}}|([^\w\s])\1{{{MAX_RUN},}}")


def normalise(text: str) -> tuple[str, Sequence[int] | None]:
    """The text in lower case, look-alikes as Latin, nothing invisible, endless runs of blanks and of one sign cut short; and
    where each character stood, None if no offset moved."""
    lower = lowered(text)
    runs = _long_runs(lower)
    if text.isascii() and not runs:
        return lower, None
    changed = {char: read for char in set(lower) if char > "\x7f" and (read := _plain(char)) != char}
    if not all(len(read) == 1 for read in changed.values()):
        return _with_places(lower, changed)
    for char, read in changed.items():
        lower = lower.replace(char, read)
    return _without(lower, runs) if runs else (lower, None)


def _long_runs(text: str) -> list[tuple[int, int]]:
    """What is too long of each run."""
    if not any(_is_run(text, match.start() * _SAMPLE) for match in _RUN_IN_SAMPLE.finditer(text[::_SAMPLE])):
        return []
    return [(match.start() + MAX_RUN, match.end()) for match in _LONG_RUN.finditer(text)]


def _is_run(text: str, at: int) -> bool:
    """Whether nothing else stands between two characters of the sample."""
    piece = text[at : at + _SAMPLE + 1]
    return piece.isspace() or piece == piece[0] * len(piece)


def _with_places(lower: str, changed: dict[str, str]) -> tuple[str, Sequence[int]]:
    pairs = [(place, read) for place, char in enumerate(lower) for read in changed.get(char, char)]
    text, places = "".join(read for _, read in pairs), array("q", (place for place, _ in pairs))
    return _without(text, _long_runs(text), places)


def _without(text: str, runs: list[tuple[int, int]], places: Sequence[int] | None = None) -> tuple[str, Sequence[int]]:
    """A text without some stretches, and where each of its characters stood."""
    places = range(len(text)) if places is None else places
    ends = [0, *(at for run in runs for at in run), len(text)]
    kept = list(pairwise(ends))[::2]
    left = array("q")
    for start, end in kept:
        left.extend(places[start:end])
    return "".join(text[start:end] for start, end in kept), left


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
