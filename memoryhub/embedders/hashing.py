"""Hashed words and letter triples: no model, no dependency, the same on every machine. For tests, and words alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from memoryhub.embedders import unit
from memoryhub.errors import Invalid

_WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
WORD = re.compile(r"\w+")
WORD_WEIGHT = 2.0  # a shared word says more than a shared triple


class Hashing:
    name = "hashing"
    is_local = True
    embedded_by = "hashing/256"
    dimensions = 256
    threshold = 0.25

    def reads(self, text: str) -> bool:
        """Scripts without blanks between words make one word of a whole sentence here."""
        return 2 * len(_WITHOUT_BLANKS.findall(text)) <= sum(map(str.isalpha, text))

    def embed(self, texts: Sequence[str], *, seconds: float = 30.0) -> np.ndarray:
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for feature, count in Counter(_features(text)).items():
                place, sign = _place(feature)
                row[place % self.dimensions] += sign * np.sqrt(count) * (WORD_WEIGHT if len(feature) != 3 else 1.0)
        return unit(rows)


def _features(text: str) -> Iterator[str]:
    for word in WORD.findall(text.casefold()):
        yield f"={word}="
        yield from (word[at : at + 3] for at in range(len(word) - 2))


def _place(feature: str) -> tuple[int, int]:
    digest = int.from_bytes(blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest())
    return digest >> 1, 1 if digest & 1 else -1


def make(model: str, environ: Mapping[str, str]) -> Hashing:
    if model:
        raise Invalid("The embedder hashing has one model; leave out what follows the colon.", code="unknown_embedder")
    return Hashing()
