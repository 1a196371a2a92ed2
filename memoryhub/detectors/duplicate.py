"""Lines that memory already holds, word for word or nearly."""

from __future__ import annotations

from collections.abc import Sequence

from .finding import Finding, Lines
from .known import Known, mask, tells, words

CODE = "duplicate"
NEAR = 0.8
"""Shared words over all words from which two lines say the same."""


def find(text: str, lines: Lines, known: Sequence[Known] = ()) -> list[Finding]:
    """Lines of the text that one of the known texts has already."""
    if not known:
        return []
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        key = words(line)
        if tells(key) and (able := _able(key, known)) and (hit := _same(key, able) or _near(key, able)):
            found.append(_finding(lines, number, *hit))
    return found


def _able(key: tuple[str, ...], known: Sequence[Known]) -> list[Known]:
    """The texts that can have such a line: what lacks more than a fifth of its words has none that is alike (`NEAR`)."""
    mine = set(key)
    bits, most = mask(mine), len(mine) // 5
    return [one for one in known if (bits & one.lacks).bit_count() <= most]


Hit = tuple[Known, int, float]


def _same(key: tuple[str, ...], known: Sequence[Known]) -> Hit | None:
    return next(((one, one.lines[key], 1.0) for one in known if key in one.lines), None)


def _near(key: tuple[str, ...], known: Sequence[Known]) -> Hit | None:
    """The most alike known line among those that share one of the two rarest words."""
    mine = set(key)
    best: Hit | None = None
    for one in known:
        for other, number in _candidates(mine, one):
            theirs = set(other)
            alike = len(mine & theirs) / len(mine | theirs)
            if alike >= NEAR and (best is None or alike > best[2]):
                best = (one, number, alike)
    return best


def _candidates(mine: set[str], one: Known) -> list[tuple[tuple[str, ...], int]]:
    rare = sorted(mine & one.index.keys(), key=lambda word: len(one.index[word]))[:2]
    return [entry for word in rare for entry in one.index[word][:50]]


def _finding(lines: Lines, number: int, source: Known, at: int, alike: float) -> Finding:
    start, end = lines.span(number)
    how = "Already" if alike == 1.0 else f"{alike:.0%} alike: already"
    message = f"{how} in {source.label}, line {at}."
    details = {"label": source.label, "line": at, "alike": round(alike, 2)}
    return Finding(CODE, "low", start, end, number, message, "same" if alike == 1.0 else "near", details)
