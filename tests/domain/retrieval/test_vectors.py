"""The vectors that a process keeps of a space: the same answers as the database gives, never of yesterday, never too many."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from django.db import transaction

import memoryhub
from memoryhub.db import statements
from memoryhub.domain import longterm, prompts, retrieval, spaces
from memoryhub.domain.longterm import chunks, indexing
from memoryhub.domain.longterm import reembed as reembedding
from memoryhub.domain.retrieval import index
from memoryhub.domain.retrieval.in_memory import postings, texts, vectors
from memoryhub.models import HUB, ChunkCount, Embedding, LexemeCount, Space
from tests.domain.layers import (  # noqa: F401
    INDEXES,
    answer_from,
    asked,
    bound,
    caches_of_this_process,
    clear_caches,
    cold,
    counter,
    forge,
    space,
    take_caches,
)

ROOT = Path(memoryhub.__file__).parents[1]
FACTS = ["A card refund takes ten days.", "Anna loves teal.", "The bank closes at noon.", "Refunds need a receipt."]
QUERIES = ["how long does a card refund take", "money given back", "teal", "the opening hours of the bank", "zzqq"]


@pytest.fixture(autouse=True)
def _nothing_kept():
    clear_caches()


@pytest.fixture
def facts(space, forge, counter):
    for text in FACTS:
        longterm.store(space, HUB, text)
    longterm.store(space, HUB, "Forge alone knows the refund code.", scope="agent", agent=forge)
    longterm.store(space, HUB, "Counter refunds in cash.", scope="agent", agent=counter)
    return space


def retrieved(space, query, **more):
    """What retrieval says, cosines included, and what it cuts off."""
    found = retrieval.retrieve(space, query, hot=0, show_cut=5, **more)
    items = [(item.number, item.content, round(item.score, 3), item.why["rank"]) for item in found.items]
    return items, [(item.number, round(item.score, 3)) for item in found.cut_off]


def key_of(space):
    return vectors.Key(space.pk, "wordllama/l2_supercat_256", 256)


def kept_of(space):
    return vectors.vectors.get(key_of(space))


def is_like_new(space):
    """What is kept is what a process that knows nothing would read."""
    kept, new = kept_of(space), vectors.read(key_of(space), None)
    return kept.mark == new.mark and all(map(np.array_equal, kept.columns(), new.columns()))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("threshold", [None, -1, 0.3])
def test_all_indexes_say_the_same(facts, forge, query, threshold, monkeypatch):
    readers = [
        {"agent": who, "scope": scope, "everyone": everyone}
        for who, everyone in ((None, False), (None, True), (forge, False))
        for scope in (None, "group", "agent")
    ]
    here = [retrieved(facts, query, threshold=threshold, **one) for one in readers]
    assert kept_of(facts) is not None
    for other in INDEXES[1:]:
        with monkeypatch.context() as patched:
            answer_from(other, patched)
            assert [retrieved(facts, query, threshold=threshold, **one) for one in readers] == here


def test_an_agents_own_vectors_are_near_to_nobody_else(facts, forge):
    def nearest(**more):
        items, _ = retrieved(facts, "zzqq", threshold=-1, cold=50, **more)
        return sorted(number for number, *_ in items)

    assert nearest() == [1, 2, 3, 4]
    assert nearest(agent=forge) == [1, 2, 3, 4, 5]
    assert nearest(agent=forge, scope="agent") == [5]
    assert nearest(everyone=True) == [1, 2, 3, 4, 5, 6]


def test_what_an_agent_left_behind_is_nobodys(facts, forge, counter):
    longterm.edit(facts, HUB, 5, "Forge knew the refund code.")
    prompts.delete_agent(forge, HUB)
    longterm.edit(facts, HUB, 5, "Forge alone knew the refund code.")
    retrieved(facts, "zzqq")
    assert kept_of(facts).owners.tolist() == [index.GROUP] * 4 + [counter.pk, chunks.NO_AGENT]
    for who in (None, counter):
        assert 5 not in {number for number, *_ in retrieved(facts, "zzqq", agent=who, threshold=-1, cold=50)[0]}


def reembed(space):
    longterm.run_reembedding(space, "hashing")
    space.refresh_from_db()
    longterm.store(space, HUB, "Parcels come at ten.")
    longterm.switch_embedder_back(space, HUB)
    space.refresh_from_db()


CHANGES = {
    "store": lambda space: longterm.store(space, HUB, "Refunds go to the same card."),
    "edit": lambda space: longterm.edit(space, HUB, 1, "A card refund takes five days."),
    "retire": lambda space: longterm.retire(space, HUB, 2),
    "retire the newest": lambda space: longterm.retire(space, HUB, 6),
    "another embedder and back": reembed,
    "nothing but the mark": spaces.mark_longterm,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_another_process_changed_is_seen_at_once(facts, change):
    retrieved(facts, QUERIES[0])
    elsewhere = caches_of_this_process()
    CHANGES[change](facts)
    clear_caches()
    now = [retrieved(facts, query, threshold=-1) for query in QUERIES]
    take_caches(elsewhere)
    assert [retrieved(facts, query, threshold=-1) for query in QUERIES] == now
    assert is_like_new(facts)


def test_an_old_text_that_is_embedded_later(facts, monkeypatch):
    entry = longterm.get(facts, 2)
    Embedding.objects.within(facts).filter(chunk_id=chunks.chunks_of(entry)[0].pk).delete()
    indexing.set_state(entry, longterm.WAITING)
    spaces.mark_longterm(facts)
    by_words = retrieval.retrieve(facts, "teal", hot=0).cold
    assert [(item.number, item.why["by"], item.why["cosine"]) for item in by_words] == [(2, "words", None)]
    assert len(kept_of(facts).ids) == len(FACTS) + 1
    indexing.embed_waiting(facts)
    here = retrieved(facts, "teal", threshold=-1)
    assert here[0][0][0] == 2 and is_like_new(facts)
    longterm.retire(facts, HUB, 1)
    here = retrieved(facts, "teal", threshold=-1)
    assert is_like_new(facts)
    answer_from("vector index", monkeypatch)
    assert retrieved(facts, "teal", threshold=-1) == here


def test_what_a_slower_transaction_adds_with_a_lower_number_is_seen(facts):
    row = Embedding.objects.within(facts).order_by("id")[1]
    Embedding.objects.within(facts).filter(pk=row.pk).delete()
    spaces.mark_longterm(facts)
    retrieved(facts, "teal")
    row.save(force_insert=True)
    spaces.mark_longterm(facts)
    retrieved(facts, "teal")
    assert is_like_new(facts)


def test_only_what_is_new_is_read_after_a_change(facts, monkeypatch):
    retrieved(facts, "teal")
    unpacked, asked = vectors.unpacked, []
    monkeypatch.setattr(vectors, "unpacked", lambda packed, count, d: asked.append(count) or unpacked(packed, count, d))
    longterm.store(facts, HUB, "Refunds go to the same card.")
    retrieved(facts, "teal")
    longterm.retire(facts, HUB, 1)
    retrieved(facts, "teal")
    chunks.embed_chunks(chunks.chunks_of(longterm.get(facts, 2)), retrieval.serving_embedder(facts))
    spaces.mark_longterm(facts)
    retrieved(facts, "teal")  # the oldest has the highest number now
    longterm.retire(facts, HUB, 3)
    retrieved(facts, "teal")
    assert asked == [1, 0, 1, 0]


def test_after_a_restore_an_id_may_mean_another_chunk(facts):
    retrieved(facts, "teal")
    old = kept_of(facts)
    turned = vectors.Vectors(old.mark, old.file + "1", old.row_ids, old.ids, old.owners, old.vectors[::-1])
    vectors.vectors.put(key_of(facts), turned)
    spaces.mark_longterm(facts)
    retrieved(facts, "teal")
    assert is_like_new(facts)


def test_another_model_of_the_same_name_and_length_is_not_taken_for_the_one_before(facts, monkeypatch):
    """All vectors are made anew for the same chunks, and this process was not asked while there were none."""
    before = retrieved(facts, "zzqq", threshold=-1)
    embedder = retrieval.load_embedder("wordllama")
    with transaction.atomic():
        Embedding.objects.within(facts).delete()
        spaces.mark_longterm(facts)
    made = type(embedder).embed
    monkeypatch.setattr(type(embedder), "embed", lambda self, texts, **more: -made(self, texts, **more))
    longterm.run_reembedding(facts, "wordllama")
    now = retrieved(facts, "zzqq", threshold=-1)
    assert before != now and is_like_new(facts)


def test_a_vector_that_is_made_again_is_another(facts, monkeypatch):
    retrieved(facts, "teal")
    embedder, made = retrieval.load_embedder("wordllama"), type(retrieval.load_embedder("wordllama")).embed
    monkeypatch.setattr(type(embedder), "embed", lambda self, texts, **more: -made(self, texts, **more))
    chunks.embed_chunks(chunks.chunks_of(longterm.get(facts, 2)), embedder)
    spaces.mark_longterm(facts)
    retrieved(facts, "teal")
    assert is_like_new(facts)


STATEMENTS = {
    "the mark": postings.MARK,
    "the words": "memoryhub_lexemecount",
    "frequent words": "AND l.lexeme = ANY",
    "all vectors": "string_agg(halfvec_send",
    "the nearest": "WITH nearest AS",
    "texts": "memoryhub_longtermentry",
}


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("known", ["nothing", "all but the mark", "all but the words", "words", "all"])
@pytest.mark.parametrize("index", INDEXES)
def test_what_changes_between_two_statements_of_a_query_is_seen(facts, statement, known, index, monkeypatch):
    """Somebody else retires an answer just before this statement runs, if it does."""
    LexemeCount.objects.within(facts).filter(lexeme="card").update(chunks=postings.MAX_POSTINGS + 1)
    ChunkCount.objects.within(facts).update(chunks=10 * postings.MAX_POSTINGS)
    spaces.mark_longterm(facts)
    answer_from(index, monkeypatch)
    if known != "nothing":
        retrieved(facts, "card refund", threshold=-1)
    if known == "all but the mark":
        spaces.mark_longterm(facts)
    if known == "all but the words":
        postings.postings.clear(), postings.space_counts.clear(), postings.lexeme_counts.clear()
    if known == "words":
        vectors.vectors.clear(), texts.texts.clear()
    rows, done = statements.rows, []

    def between(sql, *args, **more):
        if STATEMENTS[statement] in sql and not done:
            done.append(sql)
            longterm.retire(facts, HUB, 1)
        return rows(sql, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(statements, "rows", between)
        found = retrieved(facts, "card refund", threshold=-1)
    assert (1 in {number for number, *_ in found[0]}) == (not done)
    clear_caches()
    assert retrieved(facts, "card refund", threshold=-1) == found


def test_a_space_that_never_rests_is_still_answered(facts, monkeypatch):
    rows = statements.rows

    def restless(sql, *args, **more):
        if "f.chunk_id" in sql:
            spaces.mark_longterm(facts)
        return rows(sql, *args, **more)

    monkeypatch.setattr(statements, "rows", restless)
    clear_caches()
    assert retrieved(facts, "card refund")[0][0][0] == 1


def test_vectors_of_another_embedder_that_are_on_their_way_are_seen(facts):
    other = retrieval.load_embedder("hashing")
    batch = reembedding.chunks_without_vectors(facts, other)
    for number, chunk in enumerate(batch, start=1):
        chunks.embed_chunks([chunk], other)
        found = retrieval.retrieve(facts, "zzqq", hot=0, cold=50, threshold=-1, embedder=other, everyone=True)
        assert len(found.cold) == number


def test_a_text_that_says_nothing_is_like_nothing(space, monkeypatch):
    space.settings["embedder"] = "hashing"
    space.save()
    longterm.store(space, HUB, "----")
    longterm.store(space, HUB, "Anna loves teal.")
    here = retrieved(space, "teal", threshold=-1)
    assert {number: score for number, _, score, _ in here[0]}[1] == 0
    answer_from("vector index", monkeypatch)
    assert retrieved(space, "teal", threshold=-1) == here
    assert [item.number for item in cold(space, "tea", cold=1, threshold=-1)] == [2]


def test_large_spaces_are_not_kept(facts, monkeypatch):
    monkeypatch.setattr(index, "MAX_KEPT_BYTES", 3000)
    assert retrieved(facts, "teal")[0][0][0] == 2
    assert kept_of(facts) is None


def test_a_process_keeps_so_many_bytes_and_no_more(facts, monkeypatch):
    other = spaces.create(HUB, "other")
    longterm.store(other, HUB, "Otters love teal.")
    here = retrieved(facts, "teal")
    bound(vectors, "vectors", kept_of(facts).bytes + 100, monkeypatch)
    assert retrieved(facts, "teal") == here
    assert retrieved(other, "teal")[0][0][0] == 1  # by the database: the first space was asked for just now
    assert kept_of(other) is None
    monkeypatch.setattr(vectors, "STAYS", 0.0)
    assert retrieved(other, "teal")[0][0][0] == 1
    assert kept_of(facts) is None and kept_of(other) is not None
    assert retrieved(facts, "teal") == here
    assert kept_of(facts) is not None and kept_of(other) is None
    longterm.store(facts, HUB, "Olga hates teal.")  # it has outgrown what fits
    assert len(retrieved(facts, "teal", threshold=-1)[0]) == 5
    assert vectors.vectors.items() == []


def test_one_statement_answers_what_is_kept(facts, asked, django_assert_num_queries):
    retrieved(facts, "card refund")
    asked.clear()
    with django_assert_num_queries(0):
        retrieved(facts, "card refund")
    assert len(asked) == 1


def test_a_space_erased_meanwhile_has_nothing(facts):
    gone = Space(pk=facts.pk + 1000, settings=facts.settings)
    assert retrieved(gone, "card refund", threshold=-1) == ([], [])


def test_numpy_starts_no_threads_in_a_worker(tmp_path):
    asks = "import os, memoryhub.settings; print(os.environ['OPENBLAS_NUM_THREADS'])"
    environ = {"PATH": os.defpath, "MEMORYHUB_DATA_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", asks], env=environ, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
