"""An embedder on another machine that hangs: one request in a while waits for it, the others go by words at once and say so."""

import importlib
import threading
import time
from contextlib import suppress

import pytest
from django.db import connection

from memoryhub import embedders
from memoryhub.domain import longterm, retrieval
from memoryhub.domain.longterm import chunks, entries, indexing
from memoryhub.domain.retrieval.embedder import _embed_unless_silent, _silent
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.models import HUB, Embedding, Space
from tests.domain.layers import space  # noqa: F401
from tests.embedders.test_embedders import endpoint  # noqa: F401

embedder_module = importlib.import_module("memoryhub.domain.retrieval.embedder")

WAITS = 0.2


@pytest.fixture
def served(space, endpoint, settings, monkeypatch):
    """A space that an endpoint serves, which hangs from now on."""
    longterm.store(space, HUB, "Card refunds take ten days.")
    settings.EMBEDDER_URL = endpoint.url
    longterm.run_reembedding(space, "openai_endpoint:m")
    space.refresh_from_db()
    monkeypatch.setattr(embedder_module, "EMBEDDER_SECONDS", WAITS)
    monkeypatch.setattr(embedder_module, "FIRST_PAUSE", 0.5)
    monkeypatch.setattr(embedder_module, "LONGEST_PAUSE", 1.5)
    endpoint.awake.clear()
    endpoint.requests.clear()
    return space


def timed_retrieve(space):
    """How long an answer took, and whether it was by words alone, as it then says."""
    start = time.monotonic()
    found = retrieval.retrieve(space, "card refunds", hot=0)
    assert [item.number for item in found.cold] == [1]
    if found.warnings:
        assert "does not answer" in found.warnings[0] and "by words alone" in found.warnings[0]
    return time.monotonic() - start, bool(found.warnings)


def pause(space):
    (silence,) = _silent.values()
    return silence.until - time.monotonic()


@pytest.fixture(autouse=True)
def _heard_of_none():
    embedders._loaded.cache_clear()
    _silent.clear()


def test_one_request_waits_for_a_silent_embedder_and_the_others_do_not(served, endpoint):
    first, *others = [timed_retrieve(served) for _ in range(5)]
    assert first[0] >= WAITS and all(took < WAITS / 2 for took, _ in others)
    assert all(by_words for _, by_words in [first, *others])
    assert len(endpoint.requests) == 1


def test_the_pause_grows_up_to_a_longest_and_ends_with_an_answer(served, endpoint):
    seen = []
    for _ in range(3):
        assert timed_retrieve(served)[0] >= WAITS
        seen.append(pause(served))
        time.sleep(seen[-1])
    assert 0.3 < seen[0] <= 0.5 < seen[1] <= 1.0 < seen[2] <= 1.5
    endpoint.awake.set()
    assert [by_words for _, by_words in (timed_retrieve(served), timed_retrieve(served))] == [False, False]
    assert not _silent


def test_while_one_asks_again_the_others_do_not_wait(served, endpoint):
    timed_retrieve(served)
    time.sleep(pause(served))
    embedder = retrieval.serving_embedder(served).embedder
    told = []

    def ask():
        with pytest.raises(embedders.EmbedderTimeout):
            _embed_unless_silent(embedder, ["x"], WAITS)
        told.append(time.monotonic())

    start = time.monotonic()
    one = threading.Thread(target=ask)
    one.start()
    time.sleep(WAITS / 4)
    ask()
    one.join()
    assert told[0] - start < WAITS <= told[1] - start


def test_a_job_asks_also_in_a_pause_and_what_it_hears_counts_for_all(served, endpoint):
    timed_retrieve(served)
    endpoint.awake.set()
    assert timed_retrieve(served)[1]  # nobody knows yet
    retrieval.serving_embedder(served).embed(["x"], seconds=30.0)
    assert not timed_retrieve(served)[1]


def test_an_answer_that_refuses_is_no_silence(served, endpoint):
    endpoint.awake.set()
    endpoint.failures = [401]
    assert "answers 401" in retrieval.retrieve(served, "card refunds", hot=0).warnings[0]
    assert not timed_retrieve(served)[1]


@pytest.mark.django_db(transaction=True)
def test_a_job_that_waits_for_a_silent_embedder_keeps_no_promotion_waiting(served, endpoint):
    def job():
        with suppress(EmbedderUnavailable):
            indexing.embed_waiting(Space.objects.get(pk=served.pk), seconds=20)
        connection.close()

    entry = longterm.store(served, HUB, "The desk closes at five.")
    assert entry.state == longterm.WAITING
    endpoint.requests.clear()
    waiting = threading.Thread(target=job)
    waiting.start()
    while not endpoint.requests:
        time.sleep(0.01)
    other = longterm.store(served, HUB, "The desk opens at nine.")
    assert other.state == longterm.WAITING and waiting.is_alive()
    longterm.edit(
        served, HUB, entry.number, "The desk closes at six."
    )  # so the vectors on their way are of an old text
    endpoint.awake.set()
    waiting.join()
    found = {one.number: one.state for one in longterm.entries_of(served)}
    assert (found[entry.number], found[other.number]) == (entries.ACTIVE, longterm.WAITING)
    assert Embedding.objects.filter(chunk_id__in=[one.pk for one in chunks.chunks_of(entry)]).count() == 1


def promotion(space):
    return longterm.store(space, HUB, "The desk closes at five.")


def correction(space):
    return longterm.edit(space, HUB, 1, "Card refunds take five days.")


def return_of_the_retired(space):
    return longterm.restore(space, HUB, 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", [promotion, correction, return_of_the_retired])
def test_who_waits_for_a_silent_embedder_keeps_nobody_else_waiting(served, endpoint, monkeypatch, act):
    monkeypatch.setattr(embedder_module, "EMBEDDER_SECONDS", 20)
    if act is return_of_the_retired:
        longterm.retire(served, HUB, 1)
    done = []

    def run():
        done.append(act(Space.objects.get(pk=served.pk)).number)
        connection.close()

    waiting = threading.Thread(target=run)
    waiting.start()
    while not endpoint.requests:
        time.sleep(0.01)
    other = connection.copy()
    with other.cursor() as cursor:  # raises where somebody holds the space
        cursor.execute("SELECT 1 FROM memoryhub_space WHERE id = %s FOR UPDATE NOWAIT", [served.pk])
    other.close()
    endpoint.awake.set()
    waiting.join()
    entry = longterm.get(served, done[0])
    assert entry.state == entries.ACTIVE and vectors_of(entry) == [retrieval.serving_embedder(served).embedded_by]


def vectors_of(entry):
    found = [one.pk for one in chunks.chunks_of(entry)]
    return list(Embedding.objects.filter(chunk_id__in=found).values_list("embedded_by", flat=True))


def test_what_was_retired_while_the_embedder_was_asked_is_corrected_and_not_found(space, monkeypatch):
    longterm.store(space, HUB, "Card refunds take ten days.")
    whole, meanwhile = chunks.cut_chunks, iter([lambda: longterm.retire(space, HUB, 1)])

    def cut(*given, **how):
        made = whole(*given, **how)
        for act in meanwhile:
            act()
        return made

    monkeypatch.setattr(chunks, "cut_chunks", cut)
    entry = longterm.edit(space, HUB, 1, "Card refunds take five days.")
    assert (entry.state, entry.revision) == (longterm.RETIRED, 3) and not chunks.chunks_of(entry)


def test_an_entry_is_never_corrected_with_vectors_of_an_embedder_that_no_longer_serves(space):
    longterm.store(space, HUB, "Card refunds take ten days.")
    before = Space.objects.get(pk=space.pk)
    longterm.run_reembedding(space, "hashing")
    entry = longterm.edit(before, HUB, 1, "Card refunds take five days.")
    assert vectors_of(entry) == [retrieval.load_embedder("hashing").embedded_by]
