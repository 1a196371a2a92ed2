"""Embedders turn texts into vectors. One file each; a file in this folder is in the list by being there.

A file has `make(model: str, environ: Mapping[str, str]) -> Embedder`. `MEMORYHUB_EMBEDDER` names the one in use, and
may name a model after a colon: `wordllama`, `hashing`, `openai_endpoint:text-embedding-3-small`.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from memoryhub.errors import Invalid, Unavailable

DEFAULT = "wordllama" if find_spec("wordllama") else "hashing"  # it has no wheel for every machine
EMBEDDED_BY = re.compile(r"[a-z0-9][a-z0-9._/@:-]{0,99}")
MAX_DIMENSIONS = 4000  # what pgvector can index as halfvec


class Embedder(Protocol):
    """`embedded_by` names the exact model, so that vectors of two models are never compared."""

    name: str
    embedded_by: str
    threshold: float
    is_local: bool  # answers within a millisecond and is never away

    @property
    def dimensions(self) -> int: ...

    def __hash__(self) -> int: ...

    def embed(self, texts: Sequence[str], *, seconds: float = 30.0) -> np.ndarray:
        """A unit vector (zeros for nothing to go by) per text, as float32 rows; `EmbedderUnavailable` if it can't."""
        ...


class EmbedderUnavailable(Unavailable):
    code = "embedder_unavailable"


class EmbedderTimeout(EmbedderUnavailable):
    """It did not answer within the time that the caller gave it; asking again at once would wait as long."""


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(choice: str | None = None, environ: Mapping[str, str] | None = None) -> Embedder:
    """The embedder that a choice (by default `MEMORYHUB_EMBEDDER`) names."""
    environ = os.environ if environ is None else environ
    choice = choice or environ.get("MEMORYHUB_EMBEDDER") or DEFAULT
    return _loaded(choice, environ.get("MEMORYHUB_EMBEDDER_URL", ""), environ.get("MEMORYHUB_EMBEDDER_KEY", ""))


def check(choice: str) -> None:
    """Refuses a choice that names no embedder, in a sentence that lists them."""
    name = choice.partition(":")[0]
    if name not in names():
        raise Invalid(
            f"MEMORYHUB_EMBEDDER is {choice!r}; allowed are {', '.join(names())} (a model may follow a colon).",
            code="unknown_embedder",
            allowed=names(),
        )


@lru_cache(maxsize=8)
def _loaded(choice: str, url: str, key: str) -> Embedder:
    check(choice)
    name, _, model = choice.partition(":")
    environ = {"MEMORYHUB_EMBEDDER_URL": url, "MEMORYHUB_EMBEDDER_KEY": key}
    embedder = importlib.import_module(f"{__name__}.{name}").make(model, environ)
    if not EMBEDDED_BY.fullmatch(embedder.embedded_by):
        raise Invalid(
            f"The model name {model!r} may hold small letters, digits and . _ / @ : - only.", code="unknown_embedder"
        )
    return embedder


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length one; a row of zeros stays, since nothing is like nothing."""
    vectors = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
