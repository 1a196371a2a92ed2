"""Lines that memory already holds, word for word or nearly."""

from __future__ import annotations

from collections.abc import Sequence

from .costs import spend
from .finding import Finding, Lines
from .known_texts import Index, KnownText, is_comparable, word_mask, words

CODE = "duplicate"
MIN_ALIKE = 0.8
"""Shared words over all words from which two lines say the same."""
MAX_COMPARED = 50  # lines with one word

Hit = tuple[KnownText, int, float]  # the text, its line, how much alike


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """Lines of the text that one of the known texts has already."""
    if not known:
        return []
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        spend()
        key = words(line)
        if is_comparable(key) and (able := _able(key, known)) and (hit := _equal(key, able) or _most_alike(key, able)):
            found.append(_finding(lines, number, *hit))
    return found


def with_line(line: tuple[str, ...], known: Sequence[KnownText]) -> list[KnownText]:
    """Those of the texts that have this line of words, or one that is alike."""
    return [one for one in _able(line, known) if line in one.lines or _most_alike(line, [one])]


def _able(key: tuple[str, ...], known: Sequence[KnownText]) -> list[KnownText]:
    """The texts that can have such a line: one that lacks more than a fifth of its words has none that is alike."""
    mine = set(key)
    mask, most = word_mask(mine), len(mine) // 5
    return [one for one in known if (mask & one.missing_words).bit_count() <= most]


def _equal(key: tuple[str, ...], known: Sequence[KnownText]) -> Hit | None:
    return next(((one, one.lines[key], 1.0) for one in known if key in one.lines), None)


def _most_alike(key: tuple[str, ...], known: Sequence[KnownText]) -> Hit | None:
    """The most alike known line among those that share one of the two rarest words."""
    mine = frozenset(key)
    best: Hit | None = None
    for one in known:
        for theirs, number in _lines_with_rare_words(mine, one.index):
            shared = len(mine & theirs)
            alike = shared / (len(mine) + len(theirs) - shared)
            if alike >= MIN_ALIKE and (best is None or alike > best[2]):
                best = (one, number, alike)
    return best


def _lines_with_rare_words(mine: frozenset[str], index: Index) -> list[tuple[frozenset[str], int]]:
    shared = [index[word] for word in mine if word in index]
    rare = shared if len(shared) < 3 else sorted(shared, key=len)[:2]
    return [entry for entries in rare for entry in entries[:MAX_COMPARED]]


def _finding(lines: Lines, number: int, source: KnownText, at: int, alike: float) -> Finding:
    start, end = lines.span(number)
    label = source.label
    message = f"{alike:.0%} alike: already in {label}, line {at}." if alike < 1.0 else f"Already in {label}, line {at}."
    details = {"label": source.label, "line": at, "alike": round(alike, 2)}
    return Finding(CODE, "low", start, end, number, message, "same" if alike == 1.0 else "near", details)
