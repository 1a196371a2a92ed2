"""Long-term memory leaves as JSON lines and comes back whole, under other numbers."""

import json
import re

import pytest
from django.utils import timezone

from memoryhub.domain import erasure, jobs, longterm, prompts, quarantine, spaces
from memoryhub.domain.jobs import queue
from memoryhub.domain.longterm import bulk_import, conflicts, entry_files
from memoryhub.errors import Forbidden, Invalid
from memoryhub.models import HUB, ActivityLine, EntryPair, Job, LongtermEntry, Made
from tests.domain.layers import counter, forge, person, rk, space, viewer  # noqa: F401

OLD, NEW = "The refund desk closes at 5 pm on Fridays.", "The refund desk closes at 6 pm on Fridays."
SECRET = "ghp_" + "aZ3kQ9xW7vB2nM5tR8yL1pC4sD6fG0hJ3kL9"


def exported(space):
    return "".join(longterm.export_entries(space))


@pytest.fixture
def owner(space):
    return person(space, "ow", "owner")


@pytest.fixture
def settled(space, rk):
    """Two entries at odds of which a person said that both stand."""
    older, newer = longterm.store(space, rk, OLD), longterm.store(space, rk, NEW)
    assert conflicts.detect(space, newer) == 1
    longterm.settle(space, rk, EntryPair.objects.get(space_id=space.pk).pk, "keep_both")
    return older, newer


def test_everything_comes_back_under_other_numbers(space, rk, owner, forge, counter, settled):
    longterm.store(space, rk, "This goes, and leaves a gap among the numbers.", session_id="gone")
    longterm.store(space, rk, "Was replaced.")
    longterm.store(space, rk, "Took its place.", replaces=[4], review_by=timezone.localdate(), reason="because 中文")
    longterm.store(space, rk, "Mine.", scope="agent", agent=forge)
    longterm.store(space, rk, "Nobody's.", scope="agent", agent=counter)
    prompts.delete_agent(counter, owner)
    logged = quarantine.log(space, forge, content="It was said here.", session_id="s", node_id="n")
    longterm.promote_record(space, rk, logged.id, reason="useful")
    longterm.edit(space, rk, 8, "It was said better.", reason="clearer")
    longterm.verify(space, rk, 8)
    longterm.absorb(space, rk, 8, merges=[6])
    erasure.erase_now(space, owner, erasure.Target("session", "gone"))
    there = spaces.create(HUB, "there")
    prompts.create_agent(there, HUB, "forge")
    assert longterm.import_entries(there, rk, exported(space).encode()) == 7
    ours = [json.loads(line) for line in exported(space).splitlines()]
    numbers = {one["number"]: number for number, one in enumerate(ours, 1)}
    for one in ours:
        one["number"] = numbers[one["number"]]
        for verdict in one["settled"]:
            verdict["with"] = numbers[verdict["with"]]
        for said in one["history"]:
            said["reason"] = re.sub(r"L-(\d+)", lambda named: f"L-{numbers[int(named[1])]}", said["reason"])
    assert [json.loads(line) for line in exported(there).splitlines()] == ours
    assert [one["settled"][0]["settled_by"] for one in ours if one["settled"]] == ["rk"]
    assert {"replaced by L-4", "merged with L-5"} < {said["reason"] for one in ours for said in one["history"]}


def test_nobody_is_asked_again_about_a_pair_that_both_stand(space, rk, settled):
    there = spaces.create(HUB, "there")
    longterm.import_entries(there, rk, exported(space).encode())
    entry = longterm.get(there, 2)
    assert conflicts.detect(there, entry) == 1  # found again
    assert not longterm.open_conflicts(there).exists()
    longterm.edit(there, rk, 2, NEW + " It opens at 9.")
    assert not EntryPair.objects.within(there).exists()  # the verdict was about another text


def test_an_export_of_before_still_comes_in(space, rk):
    old = {"number": 7, "content": OLD, "history": [], "state": "active"}
    assert longterm.import_entries(space, rk, json.dumps(old).encode()) == 1
    assert longterm.get(space, 1).content == OLD


def test_undoing_a_promotion_brings_nothing_back_that_another_one_replaced(space, rk):
    """An entry that L-2 replaced elsewhere is none of what L-2 is about here."""
    longterm.store(space, rk, "One."), longterm.store(space, rk, "Two.")
    there = spaces.create(HUB, "there")
    longterm.store(there, rk, "Before."), longterm.store(there, rk, "After.", replaces=[1])
    lines = exported(there).splitlines()
    longterm.import_entries(space, rk, "\n".join(lines).encode())
    longterm.import_entries(space, rk, lines[0].encode())  # without the entry that took its place
    longterm.take_back(space, rk, 2)
    states = list(LongtermEntry.objects.within(space).order_by("number").values_list("state", flat=True))
    assert states == ["active", "retired", "retired", "active", "retired"]
    longterm.take_back(space, rk, 4)
    assert longterm.get(space, 3).state == "active"


def test_a_verdict_without_its_other_entry_says_nothing(space, rk, settled):
    line = exported(space).splitlines()[1]
    there = spaces.create(HUB, "there")
    longterm.import_entries(there, rk, line.encode())
    assert not EntryPair.objects.within(there).exists()


def test_every_wrong_line_is_named(space, rk):
    good = json.dumps({"content": OLD})
    with pytest.raises(Invalid, match=r"Line 2: it is not JSON; Line 3: it lacks .content.[.] Nothing") as refusal:
        longterm.import_entries(space, rk, f"{good}\n{{\n{{}}\n{good}".encode())
    assert refusal.value.details["line"] == 2


def test_a_line_that_is_too_large_is_named_like_any_other(space, rk):
    large = json.dumps({"content": "word " * 250_000})
    with pytest.raises(Invalid, match=r"Line 2: The content is over 1 MiB"):
        longterm.import_entries(space, rk, f"{json.dumps({'content': OLD})}\n{large}".encode())


def test_a_reason_that_is_brought_in_loses_its_secret(space, rk):
    said = {"number": 1, "content": OLD, "reason": f"by {SECRET}", "created_at": "2026-01-01T00:00:00Z"}
    longterm.import_entries(space, rk, json.dumps({"content": OLD, "reason": SECRET, "history": [said]}).encode())
    assert SECRET not in exported(space)


def test_metadata_of_any_kind_leaves_again(space, rk):
    lines = [json.dumps({"content": OLD, "metadata": {"came_from": value}}) for value in ("a fair", {"town": "Ulm"})]
    longterm.import_entries(space, rk, "\n".join(lines).encode())
    left = [json.loads(line)["metadata"]["came_from"] for line in exported(space).splitlines()]
    assert left == ["a fair", {"town": "Ulm"}]


# ---- a large file comes in in the background


def many(count, **more):
    return "\n".join(json.dumps({"number": n, "content": f"Fact {n} of many.", **more}) for n in range(1, count + 1))


def contents(space):
    return list(longterm.entries_of(space).order_by("number").values_list("number", "content"))


def test_a_large_file_comes_in_in_the_background_with_its_verdicts(space, rk, settled):
    lines = exported(space).splitlines()
    there = spaces.create(HUB, "there")
    between = [json.dumps({"number": n, "content": f"Fact {n} of many."}) for n in range(3, 60)]
    job = longterm.import_entries(there, rk, "\n".join([lines[0], *between, lines[1]]).encode())
    assert (job.state, longterm.entries_of(there).count()) == (Job.WAITING, 0)
    queue.run_waiting()
    job.refresh_from_db()
    assert (job.state, job.result, job.done, job.total) == (Job.DONE, {"first": 1, "done": 59}, 59, 59)
    assert longterm.get(there, 59).content == NEW and not Made.objects.exists()
    pair = EntryPair.objects.within(there).get(verdict="keep_both")
    assert {pair.older_id, pair.newer_id} == {longterm.get(there, 1).pk, longterm.get(there, 59).pk}
    line = ActivityLine.objects.filter(space_id=there.pk, verb="longterm.take_in").get()
    assert (line.thing, line.url) == ("59 entries", f"longterm/import/{job.pk}/")


@pytest.fixture
def few_are_many(monkeypatch):
    """Five lines come in as fifty would: in the background, in three transactions."""
    monkeypatch.setattr(bulk_import, "MAX_AT_ONCE", 4)
    monkeypatch.setattr(bulk_import, "BATCH", 2)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("after", range(1, 6))
def test_a_process_that_ends_in_the_middle_brings_nothing_twice(space, rk, monkeypatch, after):
    """Before and after each commit: three of entries, one of the file that goes."""

    class Killed(BaseException):
        pass

    steps = iter(range(100))

    def killing(real):
        def step(*given, **more):
            if next(steps) == after:
                raise Killed
            return real(*given, **more)

        return step

    job = longterm.import_entries(space, rk, many(5).encode())
    with monkeypatch.context() as patched:
        patched.setattr(entry_files, "import_lines", killing(entry_files.import_lines))
        patched.setattr(queue.Reporter, "__call__", killing(queue.Reporter.__call__))
        with pytest.raises(Killed):
            jobs.run(jobs.claim([job.kind]))
    longterm.store(space, rk, "Somebody else's, meanwhile.")
    jobs.release_lost(all_of_them=True)
    queue.run_waiting()
    job.refresh_from_db()
    assert job.state == Job.DONE
    first = job.result["first"]
    mine = [one for one in contents(space) if one[1] != "Somebody else's, meanwhile."]
    assert mine == [(first + n, f"Fact {n + 1} of many.") for n in range(5)]


@pytest.mark.usefixtures("few_are_many")
def test_a_job_that_ended_before_it_was_written_down_is_done(space, rk):
    job = longterm.import_entries(space, rk, many(5).encode())
    queue.run_waiting()
    Job.objects.filter(pk=job.pk).update(state=Job.WAITING, run_after=timezone.now())
    queue.run_waiting()
    job.refresh_from_db()
    assert (job.state, len(contents(space))) == (Job.DONE, 5)


@pytest.mark.usefixtures("few_are_many")
def test_what_stops_in_the_middle_goes_on_with_the_same_file(space, rk, owner, forge):
    last = json.dumps({"content": "Mine.", "scope": "agent", "agent": "forge"})
    data = f"{many(5)}\n{last}".encode()
    job = longterm.import_entries(space, rk, data)
    assert longterm.import_entries(space, rk, data).pk == job.pk  # a second click
    prompts.delete_agent(forge, owner)
    queue.run_waiting()
    job.refresh_from_db()
    assert job.state == Job.FAILED and "Line 6: it is the own memory of the agent forge" in job.last_error
    assert "4 entries are in." in job.last_error and len(contents(space)) == 4
    with pytest.raises(Invalid, match="Nothing was brought in"):
        longterm.import_entries(space, rk, data)
    prompts.create_agent(space, HUB, "forge")
    assert longterm.import_entries(space, rk, data).pk == job.pk
    queue.run_waiting()
    assert [number for number, _ in contents(space)] == list(range(1, 7))


@pytest.mark.usefixtures("few_are_many")
def test_a_large_file_with_a_wrong_line_is_kept_nowhere(space, rk):
    with pytest.raises(Invalid, match=r"Line 5: .*secret"):
        longterm.import_entries(space, rk, f"{many(4)}\n{json.dumps({'content': SECRET})}".encode())
    assert not Made.objects.exists() and not Job.objects.filter(kind=bulk_import.IMPORT_JOB).exists()


@pytest.mark.usefixtures("few_are_many")
def test_of_a_very_large_file_a_wrong_line_is_found_before_anything_comes_in(space, rk, monkeypatch):
    monkeypatch.setattr(bulk_import, "MAX_CHECKED_AT_ONCE", 3)
    wrong = json.dumps({"content": "Mine.", "scope": "agent", "agent": "nobody"})
    job = longterm.import_entries(space, rk, f"{many(5)}\n{wrong}".encode())
    queue.run_waiting()
    job.refresh_from_db()
    assert job.state == Job.FAILED and "Line 6: it is the own memory of the agent nobody" in job.last_error
    assert "Nothing was brought in." in job.last_error and contents(space) == []
    assert not Made.objects.exists()
    job = longterm.import_entries(space, rk, many(5).encode())
    queue.run_waiting()
    assert len(contents(space)) == 5


@pytest.mark.usefixtures("few_are_many")
def test_a_file_that_an_earlier_version_kept_as_it_came_comes_in_and_keeps_nobody_from_erasing(space, rk):
    job = longterm.import_entries(space, rk, many(5).encode())
    Made.objects.update(content=f"{many(5)}\n\n".encode())
    assert longterm.imports_with_session(space, "c-1") == []
    queue.run_waiting()
    job.refresh_from_db()
    assert job.state == Job.DONE and len(contents(space)) == 5


@pytest.mark.usefixtures("few_are_many")
def test_a_file_that_is_kept_no_more_is_asked_for_again(space, rk):
    data = many(5).encode()
    job = longterm.import_entries(space, rk, data)
    Made.objects.all().delete()
    queue.run_waiting()
    job.refresh_from_db()
    assert (job.state, "Bring it in again" in job.last_error) == (Job.FAILED, True)
    longterm.import_entries(space, rk, data)
    queue.run_waiting()
    assert len(contents(space)) == 5


def test_only_who_may_promote_brings_entries_in(space, viewer):
    with pytest.raises(Forbidden):
        longterm.import_entries(space, viewer, many(50).encode())
