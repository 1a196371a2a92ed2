"""What the tests of the layers share: a space with two agents, and people in it."""

import importlib

import numpy as np
import pytest

from memoryhub.db import statements
from memoryhub.domain import accounts, longterm, prompts, retrieval, spaces
from memoryhub.models import HUB, Actor, Chunk, ChunkCount, Embedding

rank_module = importlib.import_module("memoryhub.domain.retrieval.rank")


@pytest.fixture
def space(db):
    return spaces.create(HUB, "ledgerline")


@pytest.fixture
def forge(space):
    return prompts.create_agent(space, HUB, "forge")


@pytest.fixture
def counter(space):
    return prompts.create_agent(space, HUB, "counter")


def person(space, name, role):
    one = accounts.create_person(HUB, name)
    spaces.add_member(space, HUB, one, role)
    return Actor.of_person(one, role)


@pytest.fixture
def rk(space):
    return person(space, "rk", "reviewer")


@pytest.fixture
def viewer(space):
    return person(space, "vi", "viewer")


def fill_with_noise(space, count, seed=1):
    """Chunks with random vectors, as an entry of that size would have them."""
    rng = np.random.default_rng(seed)
    entry = longterm.store(space, HUB, "A base entry.")
    chunks = Chunk.objects.bulk_create(
        [
            Chunk(space_id=space.pk, entry_id=entry.pk, position=n + 1, start=0, end=1, text=f"n{n}", length=1)
            for n in range(count)
        ]
    )
    vectors = rng.normal(size=(count, 256)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    embedded_by = retrieval.serving_embedder(space).embedded_by
    Embedding.objects.bulk_create(
        [
            Embedding(space_id=space.pk, chunk_id=c.pk, embedded_by=embedded_by, vector=v.tolist())
            for c, v in zip(chunks, vectors, strict=True)
        ]
    )
    ChunkCount.objects.filter(space_id=space.pk).update(chunks=count + 1)
    return chunks, vectors


class AskingAtOnce:
    """In the place of `meanwhile.Asking`, so that each statement goes through `hot.rows`, where a test stands in between."""

    def __init__(self, sql, params=()):
        self.rows = lambda found=statements.rows(sql, params, binary=True): found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def one_by_one(monkeypatch):
    monkeypatch.setattr(rank_module, "Asking", AskingAtOnce)
