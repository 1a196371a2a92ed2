"""Lines that memory already holds, word for word or nearly; and the texts it holds, prepared once for many comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from .cjk import CJK, bigrams
from .costs import spend
from .finding import Finding, Lines
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


N = TypeVar("N")


def first_copy(text: str, known: Iterable[tuple[N, KnownText]]) -> N | None:
    """The name of the first of these texts that has the same words, or as many lines, of which each says nearly what a line of
    `text` says."""
    mine, others = KnownText("", text), list(known)
    alike = [one for _, one in others if 0 < len(mine.lines) == len(one.lines)]
    for line in mine.lines:
        alike = with_line(line, alike)
    return next((name for name, one in others if one.words == mine.words or one in alike), None)
