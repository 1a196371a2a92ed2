"""The index in memory and the plain statement bring up the same chunks, with the same values, in spaces of any texts."""

from itertools import count, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryhub.domain import longterm, prompts, retrieval, spaces
from memoryhub.domain.retrieval import in_database, in_memory
from memoryhub.domain.retrieval.index import Query, SearchOptions, readers_for
from memoryhub.models import HUB
from tests.domain.layers import answer_from, clear_caches, space  # noqa: F401

WORDS = [
    "refund", "card", "bank", "teal", "10", "ten", "Größe", "naïve", "退款", "银行卡", "возврат", "बैंक", "بطاقة", "don't", "v1.2",
    "a\\b", "'quoted'", "of", "the", "🙂",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
NEARLY = 1e-3  # vectors are stored with half precision
number = count()


def values(hits):
    return {one.id: pytest.approx([one.cosine or 0.0, one.words, one.coverage], abs=NEARLY) for one in hits.candidates}


def measured(hits):
    return {one.id: [one.cosine or 0.0, one.words, one.coverage] for one in hits.candidates}


@pytest.mark.parametrize("kept", ["vectors and words", "words"])
@pytest.mark.parametrize("with_vector", [True, False])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=12),
    queries=st.lists(TEXTS, min_size=2, max_size=4),
)
def test_both_indexes_bring_up_the_same(db, monkeypatch, kept, with_vector, texts, queries):
    space = spaces.create(HUB, f"generated-{next(number)}")
    agent = prompts.create_agent(space, HUB, "forge")
    for text, is_own in texts:
        longterm.store(space, HUB, text, **({"scope": "agent", "agent": agent} if is_own else {}))
    embedder = retrieval.serving_embedder(space)
    if kept == "words":
        answer_from("vector index", monkeypatch)
    for text in queries:
        asked = Query(text, embedder, retrieval.query_vector(embedder, text)) if with_vector else Query(text)
        for readers in (
            readers_for(None, None, False),
            readers_for(agent, "agent", False),
            readers_for(None, None, True),
        ):
            given_ = (space.pk, asked, readers, SearchOptions(20, candidates=True))
            here, there = in_memory.best(*given_), in_database.best(*given_)
            assert measured(here) == values(there) and here.texts == there.texts
            mixed = {one.id: one.mixed for one in there.best}
            assert mixed.keys() == {one.id for one in here.best}
            assert all(mixed[one.id] >= mixed[next_.id] - NEARLY for one, next_ in pairwise(here.best))


def test_the_statement_answers_for_another_embedder_and_where_memory_keeps_changing(space, monkeypatch):
    longterm.store(space, HUB, "Refunds need a receipt.")
    asked = []
    best = in_database.best
    monkeypatch.setattr(in_database, "best", lambda *given_: asked.append(given_) or best(*given_))
    assert len(retrieval.retrieve(space, "receipt", hot=0, embedder=retrieval.load_embedder("hashing")).cold) == 1
    assert len(asked) == 1
    monkeypatch.setattr(in_memory.texts, "mark_in", lambda rows: 0)
    clear_caches()
    assert len(retrieval.retrieve(space, "receipt", hot=0).cold) == 1
    assert len(asked) == 2
