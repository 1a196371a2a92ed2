"""Working memory: the newest 50 of each group, each for 24 hours."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import erasure, quarantine, spaces, working
from memoryhub.domain.working import entries
from memoryhub.errors import Forbidden, NotFound
from memoryhub.models import HUB, ActivityLine, WorkingEntry, WorkingRevision
from tests.domain.layers import counter, forge, rk, space, viewer  # noqa: F401
from tests.outputs import admit


def contents(space, **more):
    return [one.content for one in working.newest(space, **more)]


def test_the_newest_ten_come_first(space):
    for n in range(12):
        admit(space, f"fact {n}")
    assert contents(space) == [f"fact {n}" for n in range(11, 1, -1)]
    assert contents(space, limit=2) == ["fact 11", "fact 10"]
    assert contents(space, limit=0) == []


def test_the_fifty_first_pushes_out_the_oldest_of_its_own_group(space, forge):
    admit(space, "mine", agent=forge, scope="agent")
    for n in range(51):
        admit(space, f"fact {n}")
    everything = list(WorkingEntry.objects.within(space).order_by("id").values_list("content", flat=True))
    assert everything == ["mine", *[f"fact {n}" for n in range(1, 51)]]


def test_what_is_pinned_outlives_its_time_and_every_sweep(space, rk):
    kept, gone = admit(space, "keep me"), admit(space, "let me go")
    working.pin(space, rk, kept)
    WorkingEntry.objects.update(expires_at=timezone.now() - timedelta(days=30))
    assert entries.sweep() == 1
    assert [(one.id, one.content) for one in working.newest(space)] == [(kept, "keep me")]
    assert [one.pk for one in working.live(space)] == [kept]
    assert not WorkingEntry.objects.filter(pk=gone).exists()
    working.pin(space, rk, kept, False)
    assert contents(space) == ["keep me"], "it has a whole time to live again"


def test_a_pinned_entry_is_not_pushed_out_and_does_not_expire(space, rk):
    first = admit(space, "keep me")
    working.pin(space, rk, first)
    for n in range(60):
        admit(space, f"fact {n}")
    WorkingEntry.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert contents(space, limit=50) == ["keep me"]
    working.pin(space, rk, first, pinned=False)
    assert working.get(space, first).expires_at > timezone.now() + timedelta(hours=23)


def test_an_expired_entry_is_gone_from_every_read(space):
    entry = admit(space, "old")
    WorkingEntry.objects.filter(pk=entry).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert contents(space) == []
    assert list(working.live(space)) == []
    WorkingEntry.objects.update(expires_at=timezone.now() - timedelta(hours=2))
    assert entries.sweep() == 1


def test_the_space_sets_both_limits(space, rk):
    spaces.change_settings(space, HUB, {"working_limit": 3, "working_hours": 2})
    space.refresh_from_db()
    for n in range(5):
        admit(space, f"fact {n}")
    assert contents(space) == ["fact 4", "fact 3", "fact 2"]
    assert working.live(space)[0].expires_at < timezone.now() + timedelta(hours=2, seconds=1)


def test_a_lower_limit_counts_at_once_for_the_group_and_each_agent(space, forge):
    for n in range(5):
        pinned = admit(space, f"fact {n}")
        admit(space, f"own {n}", agent=forge, scope="agent")
        if n == 0:
            working.pin(space, HUB, pinned)
    spaces.change_settings(space, HUB, {"working_limit": 2})
    assert contents(space) == ["fact 4", "fact 3", "fact 0"]
    assert [one.content for one in working.newest(space, agent=forge, limit=50, scope="agent")] == ["own 4", "own 3"]
    space.refresh_from_db()
    admit(space, "fact 5")
    assert contents(space) == ["fact 5", "fact 4", "fact 0"]


def test_an_agents_own_entries_are_its_own(space, forge, counter):
    admit(space, "for all", agent=forge)
    admit(space, "for forge", agent=forge, scope="agent")
    assert contents(space, agent=forge) == ["for forge", "for all"]
    assert contents(space, agent=counter) == ["for all"]
    assert contents(space) == ["for all"]
    assert contents(space, agent=forge, scope="agent") == ["for forge"]
    assert contents(space, agent=forge, scope="group") == ["for all"]
    assert contents(space, scope="agent") == []


def test_another_space_sees_nothing(space, rk):
    entry = admit(space, "ours")
    other = spaces.create(HUB, "other")
    assert contents(other) == []
    with pytest.raises(NotFound):
        working.edit(other, rk, entry, "x")


def test_people_correct_extend_delete_and_put_back(space, rk):
    entry = admit(space, "the desk closes at six")
    working.edit(space, rk, entry, "the desk closes at five")
    assert contents(space) == ["the desk closes at five"]
    WorkingEntry.objects.update(expires_at=timezone.now() + timedelta(minutes=5))
    assert working.extend(space, rk, entry).expires_at > timezone.now() + timedelta(hours=23)
    working.remove(space, rk, entry)
    assert contents(space) == []
    working.put_back(space, rk, entry)
    assert contents(space) == ["the desk closes at five"]
    assert list(ActivityLine.objects.within(space).filter(verb__startswith="working.").values_list("verb", flat=True)) == [
        "working.edit", "working.extend", "working.remove", "working.put_back",
    ]  # fmt: skip


def test_a_viewer_changes_nothing(space, viewer):
    entry = admit(space, "fact")
    for verb in (working.pin, working.extend, working.remove, working.put_back):
        with pytest.raises(Forbidden):
            verb(space, viewer, entry)
    with pytest.raises(Forbidden):
        working.edit(space, viewer, entry, "other")
    with pytest.raises(Forbidden):
        working.add(space, viewer, "other")


def test_reading_is_prepared_once_per_connection(space):
    from django.db import connection

    for _ in range(8):
        working.newest(space)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%memoryhub_workingentry%'")
        assert cursor.fetchone()[0] >= 1


def test_what_a_corrected_entry_said_is_kept_whole_when_its_time_is_over(space, rk, forge):
    logged = quarantine.log(space, forge, content="It was logged.", session_id="c-1", node_id="n")
    entry = WorkingEntry.objects.get(record_id=logged.id)
    long = "The whole text matters. " * 5000
    working.edit(space, rk, entry.pk, long)
    working.edit(space, rk, entry.pk, long)  # says the same
    working.edit(space, rk, entry.pk, "Short.")
    assert working.corrections(space, [entry])[entry.pk].actor_name == "rk"
    WorkingEntry.objects.update(expires_at=timezone.now() - timedelta(days=1))
    entries.sweep()
    assert [one.content for one in working.history(space, entry.pk)] == [long, "It was logged."]


def test_an_erased_session_leaves_no_corrected_text(space, rk, forge):
    for session in ("c-1", "c-2"):
        logged = quarantine.log(
            space, forge, content=f"Mrs Marlowe asks in {session}.", session_id=session, node_id="n"
        )
        entry = WorkingEntry.objects.get(record_id=logged.id)
        working.edit(space, rk, entry.pk, f"Somebody asks in {session}.")
    WorkingEntry.objects.all().delete()  # their time was over
    gone = erasure.erase_now(space, HUB, erasure.Target("session", "c-1"))
    assert gone.rows["workingrevision"] == 1 and "workingentry" not in gone.rows
    assert [one.content for one in WorkingRevision.objects.all()] == ["Mrs Marlowe asks in c-2."]
    lines = ActivityLine.objects.filter(verb="working.edit").order_by("id")
    assert [line.thing for line in lines] == ["[erased]", "Somebody asks in c-2."]


def test_other_spaces_do_not_see_what_an_entry_said(space, rk):
    entry = working.add(space, rk, "Ours.")
    working.edit(space, rk, entry.pk, "Corrected.")
    other = spaces.create(HUB, "elsewhere")
    assert not working.history(other, entry.pk) and not working.corrections(other, [entry])
