"""The texts that a process keeps of what it gave out: what stands in the database now, never of yesterday, never too many."""

import pytest
from django.db import transaction

from memoryhub.db import statements
from memoryhub.domain import erasure, longterm, retrieval, spaces
from memoryhub.domain.retrieval.in_memory import postings, texts
from memoryhub.models import HUB, Chunk, LongtermEntry, Space
from tests.domain.layers import (  # noqa: F401
    answer_from,
    asked,
    bound,
    caches_of_this_process,
    clear_caches,
    cold,
    forge,
    space,
    take_caches,
)

QUERY = "how long does a card refund take"


@pytest.fixture(autouse=True)
def _nothing_kept():
    clear_caches()


@pytest.fixture
def facts(space, forge):
    for text in ("A card refund takes ten days.", "Anna loves teal.", "The bank closes at noon."):
        longterm.store(space, HUB, text, session_id="s-1")
    longterm.store(space, HUB, "Forge refunds by card.", scope="agent", agent=forge)
    return space


def retrieve_all(space, query=QUERY, **more):
    return retrieval.retrieve(space, query, hot=0, show_cut=5, threshold=-1, **more)


CHANGES = {
    "edit": lambda space: longterm.edit(space, HUB, 1, "A card refund takes five days."),
    "retire": lambda space: longterm.retire(space, HUB, 1),
    "verify": lambda space: longterm.verify(space, HUB, 1),
    "erase a session": lambda space: erasure.erase_now(space, HUB, erasure.Target("session", "s-1")),
    "store": lambda space: longterm.store(space, HUB, "Refunds need a receipt."),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("index", ["memory", "vector index"])
def test_what_another_process_changed_is_shown_at_once(facts, change, index, monkeypatch):
    answer_from(index, monkeypatch)
    before = retrieve_all(facts)
    elsewhere = caches_of_this_process()
    CHANGES[change](facts)
    clear_caches()
    now = retrieve_all(facts)
    take_caches(elsewhere)
    assert retrieve_all(facts) == now == retrieve_all(facts) != before


def test_what_is_kept_is_not_read_again(facts, asked):
    first = retrieve_all(facts)
    asked.clear()
    assert retrieve_all(facts) == first
    assert [sql for sql, *_ in asked] == [postings.MARK]


def test_only_what_is_missing_is_read(facts, asked):
    assert [item.number for item in cold(facts, "Anna teal", cold=1, threshold=-1)] == [2]
    asked.clear()
    retrieve_all(facts)
    (given,) = (params["chunks"] for sql, params in asked if "memoryhub_longtermentry" in sql)
    entries = Chunk.objects.within(facts).filter(pk__in=given.strip("{}").split(",")).values_list("entry_id", flat=True)
    assert sorted(LongtermEntry.objects.filter(pk__in=entries).values_list("number", flat=True)) == [1, 3]


def test_what_was_rolled_back_is_not_kept(facts):
    before = retrieve_all(facts)
    with transaction.atomic():
        longterm.verify(facts, HUB, 1)
        assert retrieve_all(facts) != before
        transaction.set_rollback(True)
    assert retrieve_all(facts) == before


def test_a_text_is_kept_for_its_own_space_alone(facts):
    other = spaces.create(HUB, "other")
    retrieve_all(facts)
    (_, stranger), _ = texts.texts.items()[0]
    mark = Space.objects.get(pk=other.pk).longterm_mark
    assert texts.load(other.pk, mark, [stranger]) == {}


def test_a_space_that_never_rests_is_told_what_stands_there_now(facts, monkeypatch):
    retrieve_all(facts)
    rows, changes = statements.rows, []

    def restless(sql, *args, **more):
        if "memoryhub_longtermentry" in sql or sql == postings.MARK:
            changes.append(f"s-{len(changes) + 2}")
            spaces.mark_longterm(facts)
            LongtermEntry.objects.within(facts).filter(number=1).update(session_id=changes[-1])
        return rows(sql, *args, **more)

    monkeypatch.setattr(statements, "rows", restless)
    found = retrieve_all(facts).cold
    assert {item.number: item.why["session_id"] for item in found}[1] == changes[-1]


def test_the_kept_texts_are_bounded(facts, monkeypatch):
    bound(texts, "texts", 1, monkeypatch)
    every = []
    for query in (QUERY, "Anna teal", "the bank", QUERY):
        every.append(cold(facts, query, cold=1))
        assert texts.texts.size == 1
    assert every[0] == every[3]
