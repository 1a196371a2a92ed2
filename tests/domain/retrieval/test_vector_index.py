"""Large spaces are searched by an index that vectors enter later: nothing is missed before, nothing is slower to store."""

import numpy as np
import pytest
from django.db import connection

from memoryhub.db import statements
from memoryhub.domain import longterm, retrieval, spaces
from memoryhub.domain.jobs import queue
from memoryhub.domain.longterm import chunks, conflicts
from memoryhub.domain.retrieval import index, vector_index
from memoryhub.models import HUB, ChunkCount, Embedding
from tests.domain.layers import clear_caches, cold, fill_with_noise, forge, rank_module, space  # noqa: F401

FACT = "The refund of a card takes ten days."


@pytest.fixture(autouse=True)
def _large_from_500_on(monkeypatch):
    large_from_500_on(monkeypatch)


def large_from_500_on(monkeypatch):
    monkeypatch.setattr(vector_index, "MAX_EXACT", 500)
    monkeypatch.setattr(index, "MAX_KEPT_BYTES", 500 * 1024)
    clear_caches()


def used(space, vector):
    """The vector indexes that a search reads."""
    embedder = retrieval.serving_embedder(space)
    sql = retrieval.nearest_by_index(space, embedder, 5)
    plan = statements.rows("EXPLAIN " + sql, {"vector": statements.Half.of(vector)})
    return {name for name in indexes() if any(name in line for (line,) in plan)}


def indexes():
    return {name for name in vector_index._standing() if name.startswith(("embedding_own", "embedding_near"))}


def nearest(space, monkeypatch, vector, **more):
    """The ids of the chunks that retrieval gives for a query with this vector."""
    with monkeypatch.context() as patched:
        patched.setattr(rank_module, "query_vector", lambda embedder, text: statements.Half.of(vector))
        return [item.id for item in cold(space, "zzqq", cold=5, threshold=-1, **more)]


def inside(space):
    return Embedding.objects.within(space).filter(in_index=True).count()


def test_a_large_space_is_searched_by_the_index_and_loses_next_to_nothing(space, monkeypatch):
    small = spaces.create(HUB, "small")
    fill_with_noise(small, 30, seed=2)
    chunks, noise = fill_with_noise(space, 1500)
    longterm.run_reembedding(space, "wordllama")
    embedder = retrieval.serving_embedder(space)
    assert vector_index.standing_index(space.pk, embedder)
    rng = np.random.default_rng(3)
    hits = 0
    for at in rng.integers(0, 1500, 20):
        query = noise[at] + rng.normal(scale=0.05, size=256)
        monkeypatch.setattr(rank_module, "query_vector", lambda e, t, q=query: statements.Half.of(q))
        found = retrieval.retrieve(space, "zzz", hot=0, cold=5, threshold=-1).cold
        truth = {chunks[n].pk for n in np.argsort(-(noise @ query))[:5]}
        assert len(found) == 5
        hits += len(truth & {item.id for item in found})
        assert len(retrieval.retrieve(small, "zzz", hot=0, cold=5, threshold=-1).cold) == 5
    assert hits >= 97
    with connection.cursor() as cursor:
        cursor.execute("SHOW hnsw.iterative_scan")
        assert cursor.fetchone()[0] == "relaxed_order"


def test_what_is_promoted_into_a_large_space_is_found_at_once_and_enters_later(space, monkeypatch):
    fill_with_noise(space, 600)
    vector_index.let_in_all()
    assert inside(space) == 601 and vector_index.standing_index(space.pk, retrieval.serving_embedder(space))
    entry = longterm.store(space, HUB, FACT)

    (chunk,) = chunks.chunks_of(entry)
    (vector,) = retrieval.serving_embedder(space).embed([FACT])
    assert nearest(space, monkeypatch, vector)[0] == chunk.pk and inside(space) == 601
    assert vector_index.let_in_all() == 1
    assert nearest(space, monkeypatch, vector)[0] == chunk.pk and inside(space) == 602
    longterm.retire(space, HUB, entry.number)
    assert chunk.pk not in nearest(space, monkeypatch, vector) and inside(space) == 601


def test_both_parts_together_give_what_one_look_at_all_would(space, monkeypatch):
    chunks, noise = fill_with_noise(space, 600)
    vector_index.let_in_all()
    ids = [chunk.pk for chunk in chunks]
    Embedding.objects.within(space).filter(chunk_id__in=ids[::2]).update(in_index=False)
    for query in noise[:20] + np.random.default_rng(5).normal(scale=0.02, size=(20, 256)):
        truth = [ids[n] for n in np.argsort(-(noise @ query))[:5]]
        assert nearest(space, monkeypatch, query) == truth


def test_the_few_that_one_agent_has_among_many_are_all_found(space, forge, monkeypatch):
    chunks, noise = fill_with_noise(space, 600)
    vector_index.let_in_all()
    query = noise[0]
    farthest = [chunks[n].pk for n in np.argsort(noise @ query)[:3]]
    Embedding.objects.within(space).filter(chunk_id__in=farthest).update(agent_id=forge.pk)
    with connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL hnsw.max_scan_tuples = 1; SET LOCAL hnsw.ef_search = 5; SET LOCAL enable_sort = off"
        )  # as among some 100,000
    assert nearest(space, monkeypatch, query, agent=forge, scope="agent") == farthest[::-1]


def test_the_shared_index_serves_until_every_large_space_has_its_own(space, monkeypatch):
    _, noise = fill_with_noise(space, 600)
    embedder = retrieval.serving_embedder(space)
    own, shared = vector_index.index_names(space.pk, embedder.embedded_by)
    with monkeypatch.context() as patched:
        patched.setattr(vector_index, "MOST_OWN", 0)
        vector_index.let_in_all()
    assert indexes() == {shared} and vector_index.standing_index(space.pk, embedder)
    before = nearest(space, monkeypatch, noise[0])
    vector_index.let_in_all()
    assert indexes() == {own, shared}, "another process may not know of its own yet"
    assert used(space, noise[0]) == {own}
    vector_index.let_in_all()
    assert indexes() == {own} and nearest(space, monkeypatch, noise[0]) == before


def test_each_large_space_has_an_index_of_its_own_until_there_are_too_many(space, monkeypatch):
    other, small = spaces.create(HUB, "other"), spaces.create(HUB, "small")
    _, noise = fill_with_noise(space, 600)
    fill_with_noise(other, 600, seed=2)
    fill_with_noise(small, 30)
    monkeypatch.setattr(vector_index, "MOST_OWN", 1)
    vector_index.let_in_all()
    by = retrieval.serving_embedder(space).embedded_by
    (own, shared), theirs = (vector_index.index_names(one.pk, by) for one in (space, other))
    assert indexes() in ({own, shared}, {theirs[0], shared}) and used(space, noise[0]) in ({own}, {shared})
    Embedding.objects.within(other).delete()
    other.delete()
    vector_index.let_in_all()
    assert theirs[0] not in indexes() and len(nearest(space, monkeypatch, noise[0])) == 5


def test_the_index_of_a_space_goes_when_the_space_is_small_again(space, monkeypatch):
    _, noise = fill_with_noise(space, 600)
    vector_index.let_in_all()
    (own, *_) = vector_index.index_names(space.pk, retrieval.serving_embedder(space).embedded_by)
    ChunkCount.objects.within(space).update(chunks=251)
    vector_index.let_in_all()
    assert indexes() == {own}
    ChunkCount.objects.within(space).update(chunks=250)
    vector_index.let_in_all()
    assert not indexes() and len(nearest(space, monkeypatch, noise[0])) == 5


def test_no_other_space_is_found_by_the_same_index(space, monkeypatch):
    other = spaces.create(HUB, "other")
    chunks, noise = fill_with_noise(space, 600)
    theirs, _ = fill_with_noise(other, 600)  # the same vectors
    assert vector_index.let_in_all() == 1202
    for one, own in ((space, chunks), (other, theirs)):
        found = nearest(one, monkeypatch, noise[7])
        assert found[0] == own[7].pk and set(found) < {chunk.pk for chunk in own} and len(found) == 5


def test_what_a_process_can_keep_stays_outside(space, monkeypatch):
    monkeypatch.setattr(index, "MAX_KEPT_BYTES", 12 << 20)
    fill_with_noise(space, 600)
    assert vector_index.let_in_all() == 0
    assert inside(space) == 0 and not vector_index.standing_index(space.pk, retrieval.serving_embedder(space))


def test_another_vector_in_the_place_of_one_that_entered_stands_outside(space):
    noise, _ = fill_with_noise(space, 600)
    vector_index.let_in_all()
    chunks.embed_chunks(noise[:1], retrieval.serving_embedder(space))
    assert inside(space) == 600


def test_pairs_are_found_by_the_index_and_among_what_stands_outside(space):
    fill_with_noise(space, 600)
    first = longterm.store(space, HUB, FACT)
    vector_index.let_in_all()
    embedder = retrieval.serving_embedder(space)
    second = longterm.store(space, HUB, FACT + " Always.")
    (vector,) = embedder.embed([FACT])
    found = conflicts.neighbours(space, embedder, statements.Half.of(vector), least=0.8)
    assert [pk for pk, _ in found] == [first.pk, second.pk]


def test_a_new_embedder_has_its_index_before_it_serves(space):
    fill_with_noise(space, 600)
    longterm.run_reembedding(space, "hashing")
    space.refresh_from_db()
    assert vector_index.standing_index(space.pk, retrieval.serving_embedder(space)) and inside(space) == 601


def test_letting_in_is_work_that_comes_again(space):
    assert queue.periods["every.vector_index.let_in"].total_seconds() == 60
