"""Another size of chunks: new entries at once, old ones in the background, each findable all the time."""

import pytest

from memoryhub.domain import jobs, longterm, retrieval, spaces
from memoryhub.domain.accounts import create_person
from memoryhub.domain.longterm import indexing
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.errors import Forbidden, Invalid
from memoryhub.models import HUB, Actor, Chunk, ChunkCount, Embedding, Job
from tests.domain.layers import space  # noqa: F401

LONG = "\n\n".join(f"Paragraph {n} says how refund number {n} of the shop is paid out by the bank." for n in range(12))


def sizes(space):
    return [len(one.text) for one in Chunk.objects.within(space).order_by("entry_id", "position")]


def test_entries_are_cut_anew_and_found_by_the_new_pieces(space):
    entry = longterm.store(space, HUB, LONG)
    assert max(sizes(space)) > 400
    space = longterm.change_chunks(space, HUB, 120, 20)
    assert longterm.chunk_size(space) == (120, 20)
    newer = longterm.store(space, HUB, LONG.replace("refund", "payment"))
    assert [job.kind for job in Job.objects.filter(kind=longterm.RECUT)] == [longterm.RECUT]
    assert max(sizes(space)) > 400
    job = Job.objects.get(kind=longterm.RECUT)
    assert jobs.kinds[longterm.RECUT](job, lambda done, total: None) == {"cut": 1}
    assert max(sizes(space)) <= 120
    found = retrieval.retrieve(space, "refund number 7", hot=0).items
    assert found[0].number == entry.number and "refund number 7" in found[0].content
    assert newer.number in [one.number for one in retrieval.retrieve(space, "payment number 3", hot=0).items]
    chunks = Chunk.objects.within(space).count()
    assert Embedding.objects.within(space).count() == chunks == ChunkCount.objects.get(space_id=space.pk).chunks
    assert longterm.recut(space) == 0
    assert longterm.get(space, entry.number).revision == entry.revision


def test_what_was_interrupted_goes_on_with_what_is_left(space, monkeypatch):
    for n in range(3):
        longterm.store(space, HUB, LONG.replace("shop", f"shop {n}"))
    space = longterm.change_chunks(space, HUB, 200, 0)
    real, calls = indexing.recut_entry, []

    def dies_at_the_second(space, number):
        calls.append(number)
        if len(calls) == 2:
            raise RuntimeError
        return real(space, number)

    monkeypatch.setattr(indexing, "recut_entry", dies_at_the_second)
    with pytest.raises(RuntimeError):
        longterm.recut(space)
    monkeypatch.setattr(indexing, "recut_entry", real)
    assert longterm.recut(space) == 2


def test_the_old_chunks_stay_while_the_embedder_is_away(space, monkeypatch):
    longterm.store(space, HUB, LONG)
    before = sizes(space)
    space = longterm.change_chunks(space, HUB, 120, 20)

    def away(space):
        raise EmbedderUnavailable("It is away.")

    monkeypatch.setattr(retrieval, "serving_embedder", away)
    with pytest.raises(EmbedderUnavailable):
        longterm.recut(space)
    assert sizes(space) == before


def test_owners_alone_change_it_within_bounds(space):
    person = create_person(HUB, "re")
    spaces.add_member(space, HUB, person, "reviewer")
    with pytest.raises(Forbidden):
        longterm.change_chunks(space, Actor.of_person(person, "reviewer"), 300, 0)
    for size, overlap in ((99, 0), (4001, 0), (200, 101), (200, -1)):
        with pytest.raises(Invalid):
            longterm.change_chunks(space, HUB, size, overlap)
    assert longterm.chunk_size(space) == (500, 50)
