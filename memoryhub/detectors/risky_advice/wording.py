"""Stretches of a text whose words, taken together, are those of texts that turn agents to somebody else's ends.

A linear model: each word, and each pair of words that follow each other, has a weight; the sum, divided by the root of their
number, is what a stretch scores. The weights are plain data (`wording.txt`: one of them a line, in hundredths), learnt from public
collections of attacks, from sentences of our own and from memory files of honest repositories. The more stretches a text has,
the more a stretch must score, so that a long file is as seldom flagged by chance as a note of one line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..costs import spend
from ..normalise import MAX_RUN
from ..patterns import Plain, plain

WEIGHTS = Path(__file__).with_name("wording.txt")
MAX_WORDS, MIN_WORDS = 60, 24
"""Words of a stretch: it ends after so many, or at the end of a sentence or line once it has so few."""
SHORTEST = 6
"""Fewer words say too little of a text that has no others."""
_MIN_FEATURES = 22
_NAMED = 4
_FEW = 4
"""Stretches up to which weighing all of them is quicker than looking which may weigh enough."""

# What follows the first sign of a link and of an address.
_LINK = r"(?<=h)ttps?://[^\s)>\"'`\]]{1,500}"
_MAIL = r"(?<=[\w.+-])[\w.+-]{0,63}+@[\w-]{1,64}\.[\w.-]{2,64}"
_END = rf"(?<=[.!?])(?=\s)|(?<=\n)(?=\s{{0,{MAX_RUN}}}(?:\n|[-*>|#]|\d{{1,3}}[.)]))"


def _token(letter: str, flags: str, *others: str) -> Plain:
    """It begins with a sign that Python looks for at once. Most words stand before a blank, and are neither link nor address."""
    word = rf"(?<={letter}){letter}{{0,39}}"
    rest = rf"{word}+(?=\s)", _LINK, *others, rf"{word}(?:'[a-z]{{1,3}})?", _END
    return plain(rf"[\w.!?\n+-](?:{'|'.join(rest)})", flags)


_ASCII, _ANY = ("[A-Za-z0-9]", "a"), (r"[^\W_]", "")
_TOKENS = {
    (True, False): _token(*_ASCII), (False, False): _token(*_ANY),
    (True, True): _token(*_ASCII, _MAIL), (False, True): _token(*_ANY, _MAIL),
}  # fmt: skip
"""By whether a text is ASCII, whose letters are found more quickly, and whether it has an @, where addresses are asked for."""
_HERE = ("localhost", "127.", "0.", "[::1]", "host.docker.internal")
_NOBODY = ("@example.com", "@example.org", "@example.net")
"""Addresses of documentation, which nobody can have."""
_ENDS = frozenset(".!?\n")


Feature = str | tuple[str, str]
"""A word, or a pair of neighbours."""


@dataclass(frozen=True)
class Model:
    weights: dict[Feature, float]
    bias: float
    first: float
    """What a stretch must score that is all of a text."""
    more: float
    """How much more for each doubling of their number, over the logarithm of two."""

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The words that it knows, numbered from one; an end of a sentence or line is below zero."""
        known = {word: None for name in self.weights for word in ([name] if isinstance(name, str) else name)}
        return {word: number for number, word in enumerate(known, 1)} | dict.fromkeys(_ENDS, -1)

    @cached_property
    def gains(self) -> tuple[Any, Any]:
        """What each word adds at most, by its number, and each pair, by both; in hundredths."""
        words = np.zeros(len(self.numbers) + 1, np.int32)
        pairs = np.zeros((len(words), len(words)), np.int16)
        for name, weight in self.weights.items():
            place = self.numbers[name] if isinstance(name, str) else tuple(map(self.numbers.__getitem__, name))
            (words if isinstance(name, str) else pairs)[place] = max(0, round(100 * weight))
        return words, pairs


class _Read:
    """The words of a normalised text as the model reads them, and its stretches."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text).findall(text)
        numbers = model().numbers
        number = {one: numbers.get(_read(one), 0) for one in set(self._tokens)}
        read = np.fromiter(map(number.__getitem__, self._tokens), np.int32, len(self._tokens))
        ends = np.flatnonzero(read < 0)
        self._words = np.flatnonzero(read >= 0)
        self._numbers = read[self._words]
        self.stretches = list(_stretches((ends - np.arange(len(ends))).tolist(), len(self._words)))

    def words(self, start: int, end: int) -> list[str]:
        return [_read(self._tokens[at]) for at in self._words[start:end].tolist()]

    def weighty(self, least: float) -> list[int]:
        """The places of the stretches whose words can add up to so much."""
        of_words, of_pairs = model().gains
        gains = of_words[self._numbers]
        gains[:-1] += of_pairs[self._numbers[:-1], self._numbers[1:]]
        sums = np.add.reduceat(gains, [start for start, _ in self.stretches])
        return np.flatnonzero(sums > 100 * least - 1).tolist()  # type: ignore[no-any-return]


def _stretches(ends: list[int], count: int) -> Iterator[tuple[int, int]]:
    """Start and end of each stretch in a number of words; `ends`: how many of them stand before each end of a sentence or line."""
    start = 0
    for end in (*ends, count):
        while end - start >= MIN_WORDS or (end == count and end - start >= SHORTEST):
            spend()
            yield start, min(end, start + MAX_WORDS)
            start = min(end, start + MAX_WORDS)


def _tokens(text: str) -> Plain:
    return _TOKENS[text.isascii(), "@" in text]


def _places(text: str) -> list[tuple[int, int]]:
    """Where each word of a text stands."""
    return [match.span() for match in _tokens(text).finditer(text) if match.group() not in _ENDS]


def _read(token: str) -> str:
    if token.isalpha():
        return token
    if "://" in token:
        return "<here>" if token.partition("://")[2].startswith(_HERE) else "<url>"
    if "@" in token:
        return "<nobody>" if token.endswith(_NOBODY) else "<mail>"
    return "<num>" if token[0].isdigit() else token


def written(feature: str) -> str:
    """How the first word of a feature begins in a text."""
    first = feature.split(" ", 1)[0]
    return {"<mail>": "@", "<url>": "http", "<here>": "http", "<num>": ""}.get(first, first)


def features(words: Sequence[str]) -> set[Feature]:
    """The words and the pairs of neighbours, each once."""
    return {*words, *pairwise(words)}


def scale(found: set[Feature]) -> float:
    return 1 / math.sqrt(max(len(found), _MIN_FEATURES))


@cache
def model() -> Model:
    """The weights of words and pairs; the first line has the bias and what has to be reached."""
    head, *lines = WEIGHTS.read_text("utf-8").splitlines()
    bias, first, more = map(float, head.split())
    pairs = (line.rsplit("\t", 1) for line in lines)
    return Model({_feature(name): int(weight) / 100 for name, weight in pairs}, bias, first, more)


def _feature(name: str) -> Feature:
    first, _, second = name.partition(" ")
    return (first, second) if second else first


def score(text: str) -> float:
    """What the highest stretch of a normalised text scores; of too few words, less than any."""
    weights, bias, read = model().weights, model().bias, _Read(text)
    return max((bias + _sum(features(read.words(*one)), weights) for one in read.stretches), default=-math.inf)


def _sum(found: set[Feature], weights: dict[Feature, float]) -> float:
    return sum(map(weights.__getitem__, weights.keys() & found)) * scale(found)


def suspicious(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Start and end of each stretch of a normalised text that scores too much, and its heaviest words."""
    read = _Read(text)
    if not read.stretches:
        return
    by = model()
    limit = by.first + by.more * math.log(len(read.stretches)) - by.bias
    places: list[tuple[int, int]] = []
    for at in read.weighty(limit / scale(set())) if len(read.stretches) > _FEW else range(len(read.stretches)):
        start, end = read.stretches[at]
        found = features(read.words(start, end))
        if _sum(found, by.weights) > limit:
            places = places or _places(text)
            yield places[start][0], places[end - 1][1], _heaviest(found, by.weights)


def _heaviest(found: set[Feature], weights: dict[Feature, float]) -> list[str]:
    known = (
        (-weights[one], one if isinstance(one, str) else " ".join(one)) for one in found if weights.get(one, 0) > 0
    )
    return [name for _, name in sorted(known)[:_NAMED]]
