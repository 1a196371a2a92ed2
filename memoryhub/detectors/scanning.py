"""Search for words first, so that patterns are tried only near them: the difference between 150 ms and 15 ms for 100 kB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from .stems import Triples

REACH = 500
"""Characters searched on each side of a needle in a line without end."""


def lowered(text: str) -> str:
    """Lower case without moving any offset (`İ` alone would become two characters)."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "İ".join(part.lower() for part in text.split("İ"))


def replaced(text: str, by: Mapping[str, str]) -> str:
    """The text with other characters in place of some, one for one, so that offsets stay; those that are read as nothing stay.

    Quicker than `str.translate`, which asks for each character: few of very many stand in a text. They are replaced in order, so
    that none is replaced twice: what a letter is read as comes before it.
    """
    for char in sorted(by.keys() & set(text)) if by else ():
        if by[char] and by[char] != char:
            text = text.replace(char, by[char])
    return text


class Words(str):
    """Words of a text, one a line."""

    triples: np.ndarray | None = None
    """Which triples of bytes stand in them; made when many needles are first asked for (`Triples`)."""


_SHORT = 10_000  # characters of words, up to which asking for each needle is quicker than loading NumPy, and not slower than using it


class Needles:
    """Many needles of which few stand in a text: in a long one, one pass over its words tells which may."""

    def __init__(self, needles: Iterable[str]) -> None:
        self.needles = tuple(needles)
        numbered = list(enumerate(self.needles))
        self._all = _by_parts(numbered)
        self._in_ascii = _by_parts([(place, one) for place, one in numbered if one.isascii()])

    def there(self, words: Words) -> frozenset[str]:
        """The needles that can stand in a text of these distinct words."""
        return frozenset(map(self.needles.__getitem__, self.within(words)))

    def within(self, words: Words) -> list[int]:
        """Their places."""
        if len(words) > _SHORT:
            return [place for place in self._table.places(words) if may_contain(self.needles[place], words)]
        if not words:
            return []
        whole, parted = self._in_ascii if words.isascii() else self._all
        found = [place for place, needle in whole if needle in words]
        more = [place for place, longest, parts in parted if longest in words and all(one in words for one in parts)]
        return sorted(found + more) if more else found

    @cached_property
    def _table(self) -> Triples:
        # Inside: NumPy takes longer to import than a short text to check.
        from .stems import Triples

        return Triples(self.needles)


_Numbered = list[tuple[int, str]]


def _by_parts(needles: _Numbered) -> tuple[_Numbered, list[tuple[int, str, list[str]]]]:
    """Those without a blank; and of the others what stands between blanks, the longest of it apart: most texts lack that."""
    parted = [(place, sorted(one.split(), key=len)) for place, one in needles if " " in one]
    whole = [(place, one) for place, one in needles if " " not in one]
    return whole, [(place, longest, parts) for place, (*parts, longest) in parted]


def distinct_words(text: str) -> Words:
    """Each word of a text once, one a line: shorter than the text, and what stands in none of them does not stand in it."""
    return Words("\n".join(set(text.split())))


def may_contain(needle: str, words: str) -> bool:
    """Whether a text of these words can contain a needle: each part of it between blanks stands in one of the words."""
    return all(part in words for part in needle.split()) if " " in needle else needle in words


def offsets_of(text: str, needles: Iterable[str], words: str) -> Iterator[int]:
    """Every offset at which one of the needles begins, needle by needle; `words` are its distinct words."""
    for needle, parts in _in_parts(tuple(needles), words.isascii()):
        for part in parts:
            if part not in words:
                break
        else:
            at = text.find(needle)
            while at >= 0:
                yield at
                at = text.find(needle, at + len(needle))


@lru_cache(maxsize=512)
def _in_parts(needles: tuple[str, ...], is_ascii: bool) -> tuple[tuple[str, list[str]], ...]:
    """The needles that can stand in such a text, each with its parts between blanks (`may_contain`)."""
    return tuple((one, one.split() or [one]) for one in needles if one.isascii() or not is_ascii)


def lines_around(text: str, needles: Iterable[str], words: str, following: int = 0) -> list[tuple[int, int]]:
    """Start and end of the lines (and of some that follow) in which a needle stands, in order, merged where they touch."""
    found: list[tuple[int, int]] = []
    for at in sorted(offsets_of(text, needles, words)):
        if found and at < found[-1][1] - REACH:
            continue
        start = max(text.rfind("\n", max(0, at - REACH), at), at - REACH, 0)
        end = min(_line_end(text, at, following), at + 2 * REACH)
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _line_end(text: str, at: int, following: int) -> int:
    end = text.find("\n", at)
    for _ in range(following):
        end = text.find("\n", end + 1) if end >= 0 else end
    return len(text) if end < 0 else end
