"""What the tests of the layers share: a space with two agents, and people in it."""

import copy
import importlib

import numpy as np
import pytest

from memoryhub.db import cache, statements
from memoryhub.domain import accounts, longterm, prompts, retrieval, spaces
from memoryhub.domain.retrieval import in_database, in_memory
from memoryhub.models import HUB, Actor, Chunk, ChunkCount, Embedding

rank_module = importlib.import_module("memoryhub.domain.retrieval.rank")  # beside it stands the function of this name
INDEXES = ["memory", "vector index", "database"]


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
    """Chunks with random vectors, as an entry of that size would have them; they spread in few directions, as those of texts do."""
    rng = np.random.default_rng(seed)
    entry = longterm.store(space, HUB, "A base entry.")
    chunks = Chunk.objects.bulk_create(
        [
            Chunk(space_id=space.pk, entry_id=entry.pk, position=n + 1, start=0, end=1, text=f"n{n}", length=1)
            for n in range(count)
        ]
    )
    vectors = (rng.normal(size=(count, 16)) @ rng.normal(size=(16, 256))).astype(np.float32)
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


def cold(space, query, **more):
    """The long-term items that retrieval gives for a query."""
    return retrieval.retrieve(space, query, hot=0, **more).items


def caches_of_this_process():
    """What each cache holds now; given to `take_caches` later, this process is one that was not asked in between."""
    return {name: copy.deepcopy(one._entries) for name, one in cache.caches.items()}


def take_caches(held):
    for name, entries in held.items():
        cache.caches[name]._entries = entries


def clear_caches():
    for one in cache.caches.values():
        one.clear()


def bound(module, name, most, monkeypatch):
    """Puts an empty cache with another bound in the place of one of a module."""
    old = getattr(module, name)
    monkeypatch.setitem(cache.caches, old.name, old)
    limit = {"max_bytes": most, "size_of": old.size_of} if old.max_bytes else {"max_items": most}
    named = {"key": old.key, "invalidated_by": old.invalidated_by, "saves": old.saves}
    monkeypatch.setattr(module, name, cache.Cache(old.name, **named, **limit))


def answer_from(index, monkeypatch):
    """Lets this index answer: in memory, in memory without room for vectors, or the plain statement."""
    if index == "vector index":
        monkeypatch.setattr(in_memory, "fits_in_memory", lambda chunks, dimensions: False)
    elif index == "database":
        monkeypatch.setattr(rank_module, "in_memory", in_database)


@pytest.fixture
def asked(monkeypatch):
    """The statements that are read from now on: SQL and parameters."""
    rows, asked = statements.rows, []
    monkeypatch.setattr(
        statements, "rows", lambda sql, *args, **more: asked.append((sql, *args)) or rows(sql, *args, **more)
    )
    return asked
