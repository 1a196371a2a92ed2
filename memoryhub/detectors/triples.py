"""Which of many needles may stand in a text, by three of their letters at a time: one pass over its words, with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .scanning import Words

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
