"""Stretches of a text whose words, taken together, are those of texts that turn agents to somebody else's ends.

A linear model: each word, and each pair of words that follow each other, has a weight; the sum, divided by the root of their
number, is what a stretch scores. The weights are plain data (`wording.txt`: one of them a line, in hundredths), learnt from public
collections of attacks, from sentences of our own and from memory files of honest repositories. The more stretches a text has,
the more a stretch must score, so that a long file is as seldom flagged by chance as a note of one line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

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

_LINK = r"https?://[^\s)>\"'`\]]{1,500}"
_MAIL = r"[\w.+-]{1,64}+@[\w-]{1,64}\.[\w.-]{2,64}"
_END = rf"[.!?](?=\s)|\n(?=\s{{0,{MAX_RUN}}}(?:\n|[-*>|#]|\d{{1,3}}[.)]))"


def _token(letters: str, *others: str) -> Plain:
    return plain("|".join([_LINK, *others, f"{letters}{{1,40}}(?:'[a-z]{{1,3}})?", _END]))


_ASCII, _ANY = "[A-Za-z0-9]", r"[^\W_]"
_TOKENS = {
    (True, False): _token(_ASCII), (False, False): _token(_ANY),
    (True, True): _token(_ASCII, _MAIL), (False, True): _token(_ANY, _MAIL),
}  # fmt: skip
"""By whether a text is ASCII, whose letters are found more quickly, and whether it has an @, where addresses are asked for."""
_HERE = ("localhost", "127.", "0.", "[::1]", "host.docker.internal")
_NOBODY = ("@example.com", "@example.org", "@example.net")
"""Addresses of documentation, which nobody can have."""
_ENDS = frozenset(".!?\n")


Feature = str | tuple[str, str]
"""A word, or a pair of neighbours."""


class Model(NamedTuple):
    weights: dict[Feature, float]
    bias: float
    first: float
    """What a stretch must score that is all of a text."""
    more: float
    """How much more for each doubling of their number, over the logarithm of two."""


def stretches(text: str) -> list[list[str]]:
    """The words of each stretch of a normalised text, in order."""
    words, ends = _words_and_ends(_tokens(text).findall(text))
    found: list[list[str]] = []
    start = 0
    for end in (*ends, len(words)):
        while end - start >= MIN_WORDS or (end == len(words) and end - start >= SHORTEST):
            spend()
            found.append(words[start : min(end, start + MAX_WORDS)])
            start += len(found[-1])
    return found


def _words_and_ends(tokens: list[str]) -> tuple[list[str], list[int]]:
    """The words as the model reads them, and how many of them stand before each end of a sentence or line."""
    words: list[str] = []
    ends: list[int] = []
    start = 0
    for at in [place for place, one in enumerate(tokens) if one in _ENDS]:
        words += tokens[start:at]
        ends.append(len(words))
        start = at + 1
    words += tokens[start:]
    read = {one: one if one.isalpha() else _read(one) for one in set(words)}
    return [*map(read.__getitem__, words)], ends


def _tokens(text: str) -> Plain:
    return _TOKENS[text.isascii(), "@" in text]


def _places(text: str) -> list[tuple[int, int]]:
    """Where each word of a text stands."""
    return [match.span() for match in _tokens(text).finditer(text) if match.group() not in _ENDS]


def _read(token: str) -> str:
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
    weights, bias, _, _ = model()
    return max((bias + _sum(features(words), weights) for words in stretches(text)), default=-math.inf)


def _sum(found: set[Feature], weights: dict[Feature, float]) -> float:
    return sum(map(weights.__getitem__, weights.keys() & found)) * scale(found)


def suspicious(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Start and end of each stretch of a normalised text that scores too much, and its heaviest words."""
    parts = stretches(text)
    if not parts:
        return
    weights, bias, first, more = model()
    limit = first + more * math.log(len(parts)) - bias
    places: list[tuple[int, int]] = []
    at = 0
    for words in parts:
        found = features(words)
        if _sum(found, weights) > limit:
            places = places or _places(text)
            yield places[at][0], places[at + len(words) - 1][1], _heaviest(found, weights)
        at += len(words)


def _heaviest(found: set[Feature], weights: dict[Feature, float]) -> list[str]:
    known = (
        (-weights[one], one if isinstance(one, str) else " ".join(one)) for one in found if weights.get(one, 0) > 0
    )
    return [name for _, name in sorted(known)[:_NAMED]]
