"""Of a word that many chunks hold the best postings are read, and only those: in one space, of what somebody may read."""

import json
import random

import numpy as np
import pytest
from django.db import connection

from memoryhub.db import statements
from memoryhub.domain import spaces
from memoryhub.domain.retrieval import word_rank
from memoryhub.domain.retrieval.in_memory import postings
from memoryhub.domain.retrieval.index import readers_for
from memoryhub.models import HUB, ChunkCount, LexemeCount, Posting
from tests.domain.layers import counter, forge, space  # noqa: F401

WORD, MOST = "teal", postings.MAX_POSTINGS
CHUNKS, LENGTH = 60_000, 30  # of the space, and of a chunk on average


def fill(space, owners, times, count, seed=1):
    """So many postings of one word, each of one of these owners."""
    rng = random.Random(seed)
    rows = [
        Posting(
            space_id=space.pk, lexeme=WORD, chunk_id=chunk, agent_id=rng.choice(owners), count=rng.choice(times),
            length=rng.randint(7, 60),
        )
        for chunk in rng.sample(range(1, 1 << 40), count)
    ]  # fmt: skip
    Posting.objects.bulk_create(rows)
    LexemeCount.objects.create(space_id=space.pk, lexeme=WORD, chunks=count, mark=7)
    ChunkCount.objects.create(space_id=space.pk, chunks=CHUNKS, lexemes=CHUNKS * LENGTH)
    return rows


def best(space, readers):
    return postings.best(space.pk, readers, postings.count(space.pk, readers, WORD), MOST)


def test_each_reader_gets_the_best_of_a_common_word_that_it_may_read(space, forge, counter):
    rows = fill(space, [None, forge.pk, counter.pk], [1, 1, 1, 2, 3, 7], 6000)
    fill(spaces.create(HUB, "other"), [None, forge.pk], [9], 50, seed=2)
    corpus = word_rank.Corpus(CHUNKS, LENGTH, {WORD: len(rows)})
    says = {one.chunk_id: word_rank.bm25({WORD: one.count}, one.length, [WORD], corpus) for one in rows}
    for readers, owners in (
        (readers_for(None, None, False), {None}),
        (readers_for(forge, "group", False), {None}),
        (readers_for(forge, "agent", False), {forge.pk}),
        (readers_for(forge, None, False), {None, forge.pk}),
        (readers_for(counter, None, False), {None, counter.pk}),
        (readers_for(None, None, True), {None, forge.pk, counter.pk}),
    ):
        readable = [one.chunk_id for one in rows if one.agent_id in owners]
        for _ in range(2):  # read, and kept
            found = best(space, readers)
            assert len(found) == MOST < len(readable) and found.keys() <= set(readable)
            assert sorted((words for words, _ in found.values()), reverse=True) == pytest.approx(
                sorted(map(says.get, readable), reverse=True)[:MOST], rel=1e-5
            )


def test_a_rare_word_is_found_whatever_else_is_asked_for(space):
    """Its postings are all read, of those of the common word the best."""
    readers, rows = readers_for(None, None, False), fill(space, [None], [1, 2, 3], 6000)
    chunk, *_ = (
        one.chunk_id for one in sorted(rows, key=lambda one: (one.count, -one.length))
    )  # it says least of the common word
    Posting.objects.create(space_id=space.pk, lexeme="umber", chunk_id=chunk, count=1, length=60)
    LexemeCount.objects.create(space_id=space.pk, lexeme="umber", chunks=1, mark=7)
    found = postings.best(space.pk, readers, postings.count(space.pk, readers, f"{WORD} umber"), 20)
    assert max(found, key=lambda one: found[one][0]) == chunk and len(found) == 20


def test_no_more_of_a_common_word_is_read_than_the_best(space, forge, counter):
    fill(space, [None, counter.pk], [1, 2], 8000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memoryhub_posting")
    group, both = readers_for(None, None, False), readers_for(forge, None, False)
    assert 2 * MOST <= rows_read(space, group, kept_0=[]) <= 2 * MOST + 10
    assert 2 * MOST <= rows_read(space, both, kept_0=[], kept_1=[]) <= 2 * MOST + 10
    assert rows_read(space, both, kept_0=[WORD], kept_1=[]) == 0  # what other agents asked for is the group's


def rows_read(space, readers, **kept):
    """How many postings are looked at, which are to come from the index."""
    asked = {"lexemes": [WORD], **kept}
    ((plan,),) = statements.rows("EXPLAIN (ANALYZE, FORMAT JSON) " + postings.sql(space.pk, readers), asked)
    (whole,) = json.loads(plan) if isinstance(plan, str) else plan
    read = [one for one in nodes(whole["Plan"]) if one.get("Relation Name") == "memoryhub_posting"]
    assert {one.get("Index Name") for one in read} == {"posting_best"}
    return sum((one["Actual Rows"] + one.get("Rows Removed by Filter", 0)) * one["Actual Loops"] for one in read)


def nodes(plan):
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def test_three_of_ten_equal_words_are_enough_whatever_they_weigh():
    def held_by(*chunks):
        return postings.Postings(np.array(chunks), np.ones(len(chunks), np.uint16), np.full(len(chunks), 20, np.uint16))

    for weight in np.linspace(0.7, 9.9, 50).tolist():
        words = [(weight, held_by(1, 2) if number < 3 else held_by(2)) for number in range(10)]
        found = postings._added_up(words, LENGTH, sum([weight] * 10), MOST)
        assert found[1][1] >= word_rank.ENOUGH_WORDS, weight
