"""Where the words of rules stand in a text, by their first four letters: one pass with NumPy serves all rules.

Apart from the other searches, so that what only looks for secrets does not load NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from .patterns import plain
from .scanning import Words

_ROW = plain(r"[^\n]{0,800}(?:\n+|[^\s]{0,100}\s?)|[^\n]+")

# A stem is the first four letters of a word: what `ignore`, `ignores` and `ignoring` share. Those that rules name are numbered, and
# a table of all possible stems holds the numbers, so that one pass over a text serves all rules.
Group = frozenset[int]
_NUMBERS: dict[str, int] = {}
_LETTERS = np.zeros(256, np.int32)
_LETTERS[ord("a") : ord("z") + 1] = range(1, 27)
_STEMS = np.zeros(27**4, np.uint16)
_ONE, _BITS = np.uint64(1), np.uint64(64)
_NONE = np.zeros(1, np.uint16)
_FEW = 10  # rules, which in a short text are quicker asked one by one whether their words are there at all


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


class Together:
    """What many rules ask for: of each, groups of which a word has to stand near, in arrays that one pass answers for all."""

    def __init__(self, rules: Sequence[Sequence[Group]]) -> None:
        self.rules = [place for place, groups_of_rule in enumerate(rules) if groups_of_rule]
        kinds = list(dict.fromkeys(group for place in self.rules for group in rules[place]))
        places = {group: place for place, group in enumerate(kinds)}
        self.few = rules if len(rules) < _FEW else ()
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
        self._bounds = np.array([*(match.start() for match in _ROW.finditer(text)), len(text), len(text)])
        letters = _LETTERS[np.frombuffer(f" {text}   ".encode("ascii", "replace"), np.uint8)]
        # Counted without the blank that stands before the text here.
        begins = np.flatnonzero((letters[1:] > 0) & (letters[:-1] == 0))
        first, second = letters[begins + 1], letters[begins + 2]
        third = np.where(second, letters[begins + 3], 0)
        fourth = np.where(third, letters[begins + 4], 0)
        stems = _STEMS[_place(first, second, third, fourth)]
        named = np.flatnonzero(stems)
        begins, stems = begins[named], stems[named]
        rows = np.searchsorted(self._bounds[:-2], begins, "right").astype(np.uint64) - _ONE
        self._marks = np.zeros((len(_NUMBERS) + 1, len(self._bounds) // _BITS + 1), "<u8")
        np.bitwise_or.at(self._marks, (stems, rows // _BITS), _ONE << rows % _BITS)
        by_stem = np.argsort(stems, kind="stable")
        stems = np.concatenate((_NONE, stems[by_stem]))
        firsts = np.flatnonzero(stems[1:] != stems[:-1])
        bounds = [*firsts.tolist(), len(by_stem)]
        self._begins = begins[by_stem].tolist()
        self._spans = dict(zip(stems[firsts + 1].tolist(), pairwise(bounds), strict=True))  # of each stem, in `_begins`
        self._begins_of: dict[Group, list[int]] = {}

    def words(self, group: Group) -> list[int]:
        """Where the words of a group begin, in order; many rules ask for the same group."""
        begins = self._begins_of.get(group)
        if begins is None:
            here = (self._begins[slice(*self._spans[stem])] for stem in group & self._spans.keys())
            begins = sorted(chain.from_iterable(here))
            self._begins_of[group] = begins
        return begins

    def _have(self, groups: Sequence[Group]) -> bool:
        """Whether each of these groups has a word somewhere."""
        return not any(map(self._spans.keys().isdisjoint, groups))

    def near(self, asked: Together) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """The rules whose groups all have a word somewhere in two rows, and these stretches, merged where they touch."""
        if asked.few and not any(map(self._have, asked.few)):
            return
        here = np.bitwise_or.reduceat(self._marks[asked.stems], asked.stem_starts)
        above = here >> _ONE
        above[:, :-1] |= here[:, 1:] << (_BITS - _ONE)
        common = np.bitwise_and.reduceat((here | above)[asked.groups], asked.group_starts)
        rules = np.flatnonzero(common.any(axis=1))
        if not len(rules):
            return
        inside = np.zeros((len(rules), common.shape[1] * 64 + 1), np.bool_)  # the last of each is beyond the text
        inside[:, :-1] = np.unpackbits(common[rules].view(np.uint8), axis=1, bitorder="little")
        edges = np.flatnonzero(np.diff(inside.ravel(), prepend=False)).reshape(-1, 2)
        places, first = np.divmod(edges[:, 0], inside.shape[1])
        starts = np.maximum(self._bounds[first] - 2, 0).tolist()
        ends = self._bounds[edges[:, 1] % inside.shape[1] + 1].tolist()
        at = 0
        for rule, many in zip(rules.tolist(), np.bincount(places).tolist(), strict=True):
            yield asked.rules[rule], list(zip(starts[at : at + many], ends[at : at + many], strict=True))
            at += many


_TRIPLES = 8  # of a needle: enough to tell it from other words
_ANY = 1 << 18


class Triples:
    """A table of the needles' first triples."""

    def __init__(self, needles: Sequence[str]) -> None:
        triples = [_triples_of(needle)[:_TRIPLES] for needle in needles]
        self._triples = np.full((len(triples), max(map(len, triples), default=1)), _ANY)
        for place, codes in enumerate(triples):
            self._triples[place, : len(codes)] = codes

    def places(self, words: Words) -> list[int]:
        """The places of the needles whose triples all stand in a text of these words."""
        if words.triples is None:
            words.triples = _seen(words)
        return np.flatnonzero(words.triples[self._triples].all(axis=1)).tolist()  # type: ignore[no-any-return]


def _seen(words: str) -> np.ndarray:
    seen = np.zeros(_ANY + 1, np.bool_)
    seen[_codes(words)] = True
    seen[_ANY] = True
    return seen


def _codes(text: str) -> Any:
    """A number of eighteen bits for each three bytes of a text that follow each other."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8).astype(np.int32)
    return data[:-2] ^ data[1:-1] << 5 ^ data[2:] << 10


def _triples_of(needle: str) -> list[int]:
    """Those of each of its parts: between them stands a blank, which no word has."""
    return [code for part in needle.split() for code in _codes(part).tolist()]
