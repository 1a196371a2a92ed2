import csv
import io
import json
from datetime import date, timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from memoryhub.domain import accounts, activity, spaces
from memoryhub.domain.activity import log
from memoryhub.models import DISK, HUB, ActivityLine, Actor

pytestmark = pytest.mark.django_db


@pytest.fixture
def space():
    return spaces.create(HUB, "books", "Books")


def write(space, says="changed", thing="/memories/AGENTS.md", **more):
    with transaction.atomic():
        activity.record(space, DISK, "files.sync", says, thing, **more)
    return ActivityLine.objects.latest("pk")


def test_a_line_says_who_did_what(space):
    line = write(space, path="/memories/AGENTS.md", aside="revision 2")
    assert (line.actor_kind, line.says, line.thing, line.aside) == (
        "disk",
        "changed",
        "/memories/AGENTS.md",
        "revision 2",
    )


def test_lines_are_filtered_by_who_what_words_and_day(space):
    owner = Actor.of_person(accounts.create_person(HUB, "rk"), "owner")
    spaces.rename(space, owner, "Ledger")
    write(space)
    assert [line.verb for line in activity.find_lines(space)] == ["files.sync", "spaces.rename", "spaces.create"]
    assert [line.verb for line in activity.find_lines(space, who="disk")] == ["files.sync"]
    assert [line.verb for line in activity.find_lines(space, who="rk")] == ["spaces.rename"]
    assert [line.verb for line in activity.find_lines(space, kind="settings")] == ["spaces.rename", "spaces.create"]
    assert [line.verb for line in activity.find_lines(space, words="agents.md")] == ["files.sync"]


def test_one_space_does_not_see_the_lines_of_another(space):
    other = spaces.create(HUB, "other")
    write(other)
    assert "files.sync" not in [line.verb for line in activity.find_lines(space)]


@pytest.mark.parametrize(
    "statement", ['UPDATE "activity"."line" SET says = %s', 'DELETE FROM "activity"."line" WHERE says <> %s']
)
def test_the_database_refuses_to_change_or_delete_a_line(space, statement):
    write(space)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, ["nothing happened"])
    assert ActivityLine.objects.filter(says="changed").exists()


def test_the_one_door_lets_exactly_the_named_space_through(space):
    other = spaces.create(HUB, "other")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('memoryhub.erasing', %s, true)", [str(space.pk)])
        ActivityLine.objects.within(space).delete()
    assert not ActivityLine.objects.within(space).exists()
    with pytest.raises(DatabaseError), transaction.atomic():
        ActivityLine.objects.within(other).delete()


@pytest.mark.django_db(transaction=True)
def test_a_line_outside_a_transaction_is_refused():
    with pytest.raises(RuntimeError, match="outside a transaction"):
        activity.record(None, HUB, "files.sync", "changed")


def test_exports_hold_every_line_and_no_formula(space):
    write(space, thing="=1+1")
    found = activity.find_lines(space)
    as_json = [json.loads(line) for line in activity.as_json_lines(found)]
    assert [row["verb"] for row in as_json] == ["files.sync", "spaces.create"]
    rows = list(csv.DictReader(io.StringIO("".join(activity.as_csv(found)))))
    assert rows[1]["aside"] == "" == rows[1]["path"]
    assert len(rows) == 2 and not any(row["text"].startswith("=") for row in rows)


def test_a_text_too_long_is_shortened_instead_of_refused(space):
    line = write(space, thing="x" * 5000, adds="y\x00" * 900)
    assert len(line.thing) == 300 and len(line.adds) == 600 and "\x00" not in line.adds


def test_words_are_looked_for_in_bounded_stretches_until_the_log_ends(space, monkeypatch):
    monkeypatch.setattr(log, "MAX_SEARCHED", 10)
    for n in range(25):
        write(space, thing=f"/memories/{n}.md")
    seen, before, looks = [], None, 0
    while True:
        found = activity.page_of_lines(space, 4, before=before, words="changed memories/1")
        seen += [line.thing for line in found.lines]
        looks += 1
        before = found.older or found.further
        assert not (found.older and found.further)
        if before is None:
            break
    assert seen == [f"/memories/{n}.md" for n in (*range(19, 9, -1), 1)]
    assert looks == 4  # two full pages, a stretch that ended with two, the rest of the log
    newest = activity.page_of_lines(space, 4, words="memories/1.md")
    tenth = activity.find_lines(space)[9]
    assert (newest.lines, newest.further, newest.back_to) == ([], tenth.pk, tenth.at)
    assert activity.page_of_lines(space, 4, words="nowhere", before=tenth.pk - 15).further is None


@pytest.mark.parametrize("lines", [0, 2, 3, 4, 10])
def test_all_lines_are_read_a_few_at_a_time(space, monkeypatch, lines):
    monkeypatch.setattr(log, "READ_AT_ONCE", 3)
    for n in range(lines):
        write(space, thing=f"/memories/{n % 4}.md")
    today, day = timezone.localdate(), timedelta(days=1)
    for filters in ({}, {"words": "/memories/1.md"}, {"since": today, "until": today}, {"until": today - day}):
        assert list(activity.each_line(space, **filters)) == list(activity.find_lines(space, **filters))


def test_a_look_into_the_past_begins_there(space, monkeypatch):
    monkeypatch.setattr(log, "MAX_SEARCHED", 3)
    monkeypatch.setattr(log, "MAX_OUT_OF_ORDER", 2)
    today, day = timezone.localdate(), timedelta(days=1)
    for n in range(20):
        with transaction.atomic():
            line = activity.make_line(space, DISK, "files.sync", "changed", f"{n}")
            late = 20 - n if n != 9 else 12  # whose clock was wrong by a day
            activity.record_line({**line, "at": (timezone.now() - day * late).isoformat()})

    def things(**more):
        return [line.thing for line in activity.page_of_lines(space, 50, **more).lines]

    assert things(until=today - 11 * day) == ["9", "8", "7"]
    assert things(since=today - 3 * day, until=today - 2 * day) == ["18", "17"]
    assert things(until=today - 900 * day) == []
    assert activity.find_lines(space, until=date.max).count() == activity.find_lines(space).count()


def test_a_day_is_that_of_the_clock_of_whoever_asks(space):
    write(space)
    at = activity.find_lines(space)[0].at
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        with timezone.override(zone):
            day = timezone.localtime(at).date()
            for since, until, count in ((day, day, 1), (day + timedelta(1), None, 0), (None, day - timedelta(1), 0)):
                assert len([1 for one in activity.find_lines(space, since=since, until=until) if one.at == at]) == count


def test_the_newest_lines_of_a_large_space_are_found_behind_those_of_others(space):
    with connection.cursor() as cursor, transaction.atomic():
        for one in (space.pk, 10**9):
            cursor.execute(
                "INSERT INTO activity.line (space_id, at, actor_kind, actor_name, verb, says, thing, url, adds, aside, path, "
                "details, request_id) SELECT %s, now(), 'hub', 'hub', 'files.write', 'wrote', repeat('file ', 9), '', '', '', "
                "'/a.md', '{}', '' FROM generate_series(1, 3000)",
                [one],
            )
        cursor.execute("ANALYZE activity.line")
        assert "activity_space" in activity.latest(space, timezone.now() - timedelta(days=1)).explain()
