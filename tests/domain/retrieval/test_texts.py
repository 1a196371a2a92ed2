"""The texts that a process keeps of what it gave out: what stands in the database now, never of yesterday, never too many."""

import copy

import pytest
from django.db import transaction

from memoryhub.db import cache, statements
from memoryhub.db import statements as hot
from memoryhub.domain import erasure, longterm, retrieval, spaces
from memoryhub.domain.retrieval.in_memory import postings, texts, vectors
from memoryhub.domain.retrieval.retrieve import retrieve
from memoryhub.domain.spaces import spaces
from memoryhub.models import HUB, Chunk, LongtermEntry
from tests.domain.layers import forge, one_by_one, space  # noqa: F401

QUERY = "how long does a card refund take"


@pytest.fixture(autouse=True)
def _nothing_kept():
    texts.kept.clear()
    vectors.some_kept.clear()


@pytest.fixture
def facts(space, forge):
    for text in ("A card refund takes ten days.", "Anna loves teal.", "The bank closes at noon."):
        longterm.store(space, HUB, text, session_id="s-1")
    longterm.store(space, HUB, "Forge refunds by card.", scope="agent", agent=forge)
    return space


def told(space, query=QUERY, **more):
    return retrieval.explore(space, query, hot=0, show_cut=5, threshold=-1, **more)


def statements(monkeypatch):
    rows, asked = hot.rows, []
    monkeypatch.setattr(
        statements, "rows", lambda sql, *args, **more: asked.append((sql, args)) or rows(sql, *args, **more)
    )
    return asked


CHANGES = {
    "edit": lambda space: longterm.edit(space, HUB, 1, "A card refund takes five days."),
    "retire": lambda space: longterm.retire(space, HUB, 1),
    "verify": lambda space: longterm.verify(space, HUB, 1),
    "erase a session": lambda space: erasure.erase(space, HUB, "s-1", confirm="s-1"),
    "store": lambda space: longterm.store(space, HUB, "Refunds need a receipt."),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_kept_here", [True, False])
def test_what_another_process_changed_is_shown_at_once(facts, change, is_kept_here, monkeypatch):
    if not is_kept_here:  # the database says what is near
        monkeypatch.setattr(vectors, "are_few", lambda chunks, dimensions: False)
    before = told(facts)
    names = [(texts, "kept"), (postings, "kept"), (vectors, "kept"), (vectors, "some_kept")]
    elsewhere = [copy.deepcopy(getattr(module, name)) for module, name in names]
    CHANGES[change](facts)
    for module, name in names:
        getattr(module, name).clear()
    now = told(facts)
    for (module, name), kept in zip(names, elsewhere, strict=True):
        monkeypatch.setattr(module, name, kept)  # as a process that was not asked meanwhile has it
    assert told(facts) == now == told(facts) != before


@pytest.mark.parametrize("is_kept_here", [True, False])
def test_what_is_kept_is_not_read_again(facts, is_kept_here, one_by_one, monkeypatch):
    if not is_kept_here:
        monkeypatch.setattr(vectors, "are_few", lambda chunks, dimensions: False)
    first = told(facts)
    asked = statements(monkeypatch)
    assert told(facts) == first
    assert len(asked) == 1 and "memoryhub_longtermentry" not in asked[0][0]


def test_only_what_is_missing_is_read(facts, monkeypatch):
    assert [item.number for item in retrieve(facts, "Anna teal", hot=0, cold=1, threshold=-1)] == [2]
    asked = statements(monkeypatch)
    told(facts)
    (given,) = (args[0]["chunks"] for sql, args in asked if "memoryhub_longtermentry" in sql)
    entries = Chunk.objects.within(facts).filter(pk__in=given).values_list("entry_id", flat=True)
    assert sorted(LongtermEntry.objects.filter(pk__in=entries).values_list("number", flat=True)) == [1, 3]


def test_what_was_rolled_back_is_not_kept(facts):
    before = told(facts)
    with transaction.atomic():
        longterm.verify(facts, HUB, 1)
        assert told(facts) != before
        transaction.set_rollback(True)
    assert told(facts) == before


def test_a_text_is_kept_for_its_own_space_alone(facts):
    other = spaces.create(HUB, "other")
    told(facts)
    (shelf,) = texts.kept.shelves.values()
    stranger = next(iter(shelf.known))
    assert texts.of(other.pk, 0, [stranger]) == (0, {})


def test_a_space_that_never_rests_is_told_what_stands_there_now(facts, one_by_one, monkeypatch):
    told(facts)
    rows, changes = hot.rows, []

    def restless(sql, *args, **more):
        if sql in (cache.MARK, texts.sql_of(facts.pk)):
            changes.append(f"s-{len(changes) + 2}")
            rows(spaces.LONGTERM, [facts.pk])
            LongtermEntry.objects.within(facts).filter(number=1).update(session_id=changes[-1])
        return rows(sql, *args, **more)

    monkeypatch.setattr(statements, "rows", restless)
    found = told(facts).cold
    assert {item.number: item.why["session_id"] for item in found}[1] == changes[-1]


def test_the_kept_texts_are_bounded(facts, monkeypatch):
    def counted():
        assert texts.kept.size == sum(len(one.known) for one in texts.kept.shelves.values())
        return texts.kept.size

    monkeypatch.setattr(texts.kept, "most", 1)
    every = []
    for query in (QUERY, "Anna teal", "the bank", QUERY):
        every.append(retrieve(facts, query, hot=0, cold=1))
        assert 1 <= counted() <= 2
    assert every[0] == every[3]
    monkeypatch.setattr(texts.kept, "most", 10_000)
    told(facts)
    assert counted() == 3
    longterm.store(facts, HUB, "Refunds need a receipt.")
    told(facts)
    assert counted() == 4


def test_what_is_kept_may_be_weighed():
    kept = cache.Kept(most=10, weighs=len)
    kept.put("a", 1, {1: "12345", 2: "123"})
    kept.put("a", 1, {1: "12345"})
    assert kept.size == 8
    assert kept.under("a", 2) == {} and kept.size == 0
    kept.put("a", 2, {1: "12345678901"})
    kept.put("b", 1, {1: "1"})
    assert kept.size == 1 and list(kept.shelves) == ["b"]
