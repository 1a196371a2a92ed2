"""An embedder that knows nothing: the same text gives the same vector, near to one of a few hundred centres. It serves
the hub and what it is compared with alike, so it needs numpy alone."""

from __future__ import annotations

import hashlib
import zlib

import numpy as np

DIMENSIONS = 256
CLUSTERS = 400
SPREAD = 0.9

CENTRES = np.random.default_rng(7).normal(size=(CLUSTERS, DIMENSIONS))


def vector(text: str) -> np.ndarray:
    """A unit vector for a text."""
    seed = zlib.crc32(text.encode())
    found = CENTRES[seed % CLUSTERS] + np.random.default_rng(seed).normal(scale=SPREAD, size=DIMENSIONS)
    return found / np.linalg.norm(found)


def vectors(count: int, seed: int) -> np.ndarray:
    """Many at once, of the same kind."""
    rng = np.random.default_rng(seed)
    found = CENTRES[rng.integers(0, CLUSTERS, count)] + rng.normal(scale=SPREAD, size=(count, DIMENSIONS))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def key_of(text: str) -> str:
    """A name for a text, the same for everybody."""
    return hashlib.sha1(text.encode()).hexdigest()
