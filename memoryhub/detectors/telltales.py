"""By which words a line is known again among very many: which lines are worth comparing by `duplicate` (pure).

Two lines that say the same or nearly (`duplicate.NEAR`: four fifths of all their words are in both) differ in few words.
So if the words of both stand in one order, the longest first, the first two that both have are among the first few of
each; neither has many more words than the other; and their words as a mask of bits differ in few bits. A table of pairs
of first words finds every such line of up to fourteen words by a few keys, and of longer ones all but those that share no
two of their four longest words. Pairs, because a single word may be the longest of every tenth line.

The table holds what this module made of texts when they came. Whoever changes it, or what a word is (`known.words`), adds
a migration that makes the table anew, as 0013 did; a test says when.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from .known import tells, words

KEPT = 4  # first words of a line whose pairs are kept: as many as a line of fourteen words needs
MOST_ASKED = 400  # pairs of one text that are asked for
LONGEST = 600  # words of a line: what is stored comes in chunks of at most 500 characters


class Telltale(NamedTuple):
    """Two first words of a line as one code, how many words it has, and all of them as a mask; all as PostgreSQL has numbers."""

    code: int
    size: int
    mask: int


def kept(text: str) -> list[Telltale]:
    """What is stored of a text, so that its lines are known again."""
    return list(dict.fromkeys(one for line in telling(text) for one in pairs(line, KEPT)))


def asked(text: str) -> list[Telltale]:
    """What the lines of a text would be known by, had they been stored; of a very long text its beginning."""
    found: dict[Telltale, None] = {}
    for line in telling(text):
        found.update(dict.fromkeys(pairs(line, len(line))))
        if len(found) >= MOST_ASKED:
            break
    return list(found)[:MOST_ASKED]


def as_json(found: Iterable[Telltale], beside: str = "") -> str:
    """What PostgreSQL reads as records, with the same beside each; written by hand, as there is nothing to quote."""
    return ", ".join(f'{{{beside}"code": {code}, "size": {size}, "mask": {mask}}}' for code, size, mask in found)


def telling(text: str) -> Iterator[tuple[str, ...]]:
    return (key for line in text.split("\n") if tells(key := words(line)))


def pairs(line: tuple[str, ...], most: int) -> list[Telltale]:
    """Pairs of the first words of a line: of so many that a line that is alike has two of them, if so many are allowed."""
    written = [word.encode("utf-8", "surrogatepass") for word in set(line)]
    coded = sorted(((word, zlib.crc32(word)) for word in written), key=lambda one: (-len(one[0]), one[1]))
    size, mask = len(coded), 0
    if size > LONGEST:
        return []
    for _, code in coded:
        mask |= 1 << (code >> 26)
    mask -= (mask >> 63) << 64
    in_both = (4 * size + 4) // 5  # at least
    first = coded[: min(size - in_both + 2, most)]
    if size == 1:
        first *= 2
    return [
        Telltale(zlib.crc32(later, code) - (1 << 31), size, mask) for (_, code), (later, _) in combinations(first, 2)
    ]
