"""The one door through which quarantine loses something, and what it leaves."""

import json

import pytest
from django.db import Error, connection, transaction

from memoryhub.domain import erasure, longterm, quarantine, spaces, working
from memoryhub.domain.jobs import queue
from memoryhub.domain.longterm import bulk_import
from memoryhub.domain.retrieval import retrieve
from memoryhub.errors import Forbidden, Invalid, NotFound
from memoryhub.models import HUB, ActivityLine, Chunk, EntryPair, EntryRevision, Made, Posting, Record, RecordState

from .layers import counter, forge, person, rk, space, viewer  # noqa: F401

TEXT = "Mrs Marlowe of 7 Elm Street asked for her refund."


def log(space, agent, session):
    return quarantine.log(space, agent, content=TEXT, session_id=session, node_id="answer")


def anywhere(text):
    """In which tables a text stands."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'quarantine', 'activity')"
        )
        found = []
        for schema, table in cursor.fetchall():
            cursor.execute(f'SELECT count(*) FROM "{schema}"."{table}" t WHERE t::text LIKE %s', [f"%{text}%"])
            if cursor.fetchone()[0]:
                found.append(table)
    return found


def test_everything_of_the_session_goes_and_nothing_else(space, forge, rk):
    mine, other = log(space, forge, "c-1"), log(space, forge, "c-2")
    longterm.promote_record(space, rk, mine.id)
    quarantine.discard(space, rk, other.id, "x")
    longterm.store(space, HUB, "The desk closes at five.")
    gone = erasure.erase(space, HUB, "c-1", confirm="c-1")
    assert list(gone.values()) == [1, 1, 0, 1, 0]
    assert [one.pk for one in Record.objects.all()] == [other.id]
    assert not RecordState.objects.filter(record_id=mine.id).exists()
    assert retrieve(space, "Mrs Marlowe refund", hot=0, threshold=-1).items[0].content == "The desk closes at five."
    assert Chunk.objects.count() == 1 and EntryRevision.objects.count() == 1
    assert not Posting.objects.filter(lexeme__contains="marlow").exists()
    assert ActivityLine.objects.filter(space_id=0, verb="erasure.erase").exists()


def test_the_words_themselves_are_nowhere_any_more(space, forge, rk):
    mine = log(space, forge, "c-1")
    longterm.promote_record(space, rk, mine.id)
    assert {"record", "line", "memoryhub_longtermentry"} <= set(anywhere("Marlowe"))
    erasure.erase(space, HUB, "c-1", confirm="c-1")
    assert anywhere("Marlowe") == []


def test_no_conflict_names_an_entry_that_is_gone(space, rk):
    for session in ("c-1", "c-2", "c-3"):
        longterm.store(space, rk, f"Card refunds take {session[-1]} days at the bank.", session_id=session)
    queue.run_waiting()
    before = {(one.older_id, one.newer_id) for one in EntryPair.objects.within(space)}
    assert len(before) > 1
    gone = longterm.get(space, 1).pk
    erasure.erase(space, HUB, "c-1", confirm="c-1")
    after = {(one.older_id, one.newer_id) for one in EntryPair.objects.within(space)}
    assert after == {pair for pair in before if gone not in pair} != before


def test_the_door_closes_again_and_never_opens_for_another_space(space, forge):
    log(space, forge, "c-1")
    elsewhere = spaces.create(HUB, "elsewhere")
    kept = quarantine.log(elsewhere, None, content=TEXT, session_id="c-1", node_id="n")
    erasure.erase(space, HUB, "c-1", confirm="c-1")
    assert Record.objects.get().pk == kept.id
    with pytest.raises(Error, match="append-only"), transaction.atomic():
        Record.objects.all().delete()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('memoryhub.erasing', %s, true)", [str(space.pk)])
        with pytest.raises(Error, match="append-only"), transaction.atomic():
            cursor.execute('DELETE FROM "quarantine"."record"')


def test_only_owners_with_the_name_typed(space, forge, rk):
    log(space, forge, "c-1")
    with pytest.raises(Forbidden):
        erasure.erase(space, rk, "c-1", confirm="c-1")
    with pytest.raises(Invalid):
        erasure.erase(space, HUB, "c-1", confirm="c-2")
    with pytest.raises(NotFound):
        erasure.erase(space, HUB, "c-9", confirm="c-9")
    assert Record.objects.count() == 1 and len(working.newest(space)) == 1


def test_a_file_on_its_way_in_brings_nothing_of_the_session_back(space, rk):
    lines = [{"content": f"Fact {n} of shelf {n * 7}.", "session_id": "c-1" if n > 30 else "c-2"} for n in range(60)]
    job = longterm.import_entries(space, rk, "\n".join(map(json.dumps, lines)).encode())
    bulk_import._import_batch(space, job, lines)
    assert erasure.erase(space, HUB, "c-1", confirm="c-1")["files on their way into long-term memory"] == 1
    assert not Made.objects.exists()
    with pytest.raises(Invalid, match="until a session in it is erased"):
        bulk_import._import_batch(space, job, lines)
    assert {one.session_id for one in longterm.entries_of(space)} == {"c-2"} and longterm.entries_of(
        space
    ).count() == bulk_import.BATCH
