"""Fingerprints of lines: which of very many lines are worth comparing by `duplicate` (pure).

Two lines that say the same or nearly (`duplicate.MIN_ALIKE`: four fifths of all their words are in both) differ in few words.
So if the words of both are put in one order, the longest first, the first two that both have are among the first few of
each; neither has many more words than the other; and their words as a mask of bits differ in few bits. A table of pairs
of first words finds every such line of up to fourteen words by a few keys, and of longer ones all but those that share no
two of their four longest words. Pairs, because a single word may be the longest of every tenth line.

The table holds what this module made of texts when they came. Whoever changes it, or what a word is (`duplicate.words`), adds
a migration that makes the table anew, as 0013 did; a test says when.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from .duplicate import is_comparable, words

STORED_WORDS = 4  # first words of a line whose pairs are stored: as many as a line of fourteen words needs
MAX_LOOKED_UP = 400  # pairs of one text
MAX_WORDS = 600  # of a line: what is stored comes in chunks of at most 500 characters


class Fingerprint(NamedTuple):
    """Two first words of a line as one code, how many words it has, and all of them as a mask: integers as PostgreSQL has them."""

    code: int
    size: int
    mask: int


def to_store(text: str) -> list[Fingerprint]:
    """The fingerprints that are stored of a text."""
    return list(dict.fromkeys(one for line in _comparable_lines(text) for one in _pairs(line, STORED_WORDS)))


def to_look_up(text: str) -> list[Fingerprint]:
    """The fingerprints by which stored lines are found that are like those of a text; of a very long text its beginning."""
    found: dict[Fingerprint, None] = {}
    for line in _comparable_lines(text):
        found.update(dict.fromkeys(_pairs(line, len(line))))
        if len(found) >= MAX_LOOKED_UP:
            break
    return list(found)[:MAX_LOOKED_UP]


def as_json(found: Iterable[Fingerprint], beside: str = "") -> str:
    """The members of a JSON list, with `beside` in front of each; written by hand, as there is nothing to quote."""
    return ", ".join(f'{{{beside}"code": {code}, "size": {size}, "mask": {mask}}}' for code, size, mask in found)


def _comparable_lines(text: str) -> Iterator[tuple[str, ...]]:
    return (key for line in text.split("\n") if is_comparable(key := words(line)))


def _pairs(line: tuple[str, ...], most: int) -> list[Fingerprint]:
    """Pairs of so many first words that a line that is alike has two of them, but of `most` words at most."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in set(line)]
    coded = sorted(((word, zlib.crc32(word)) for word in encoded), key=lambda one: (-len(one[0]), one[1]))
    size, mask = len(coded), 0
    if size > MAX_WORDS:
        return []
    for _, code in coded:
        mask |= 1 << (code >> 26)
    mask -= (mask >> 63) << 64
    in_both = (4 * size + 4) // 5  # at least
    first = coded[: min(size - in_both + 2, most)]
    if size == 1:
        first *= 2
    return [
        Fingerprint(zlib.crc32(later, code) - (1 << 31), size, mask) for (_, code), (later, _) in combinations(first, 2)
    ]
