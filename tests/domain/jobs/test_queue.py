"""Jobs: asked for in a table, done once, tried again when that may help, given back when their process dies."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import jobs
from memoryhub.domain.jobs import queue
from memoryhub.errors import Invalid, NotFound, Unavailable
from memoryhub.models import Job, Space

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(queue, "kinds", {})
    monkeypatch.setattr(queue, "periods", {})


def enqueue_with(run, **options) -> Job:
    jobs.job("try")(run)
    return jobs.enqueue("try", {"n": 1}, **options)


def test_a_job_is_done_once_and_keeps_its_result():
    done = []
    asked = enqueue_with(lambda job, progress: done.append(job.payload) or {"made": 3})
    assert queue.run_waiting() == 1
    assert queue.run_waiting() == 0
    asked.refresh_from_db()
    assert (done, asked.state, asked.result, asked.tries) == ([{"n": 1}], Job.DONE, {"made": 3}, 1)
    assert asked.ended_at


def test_progress_can_be_seen_while_it_runs():
    seen = []

    def run(job, progress):
        progress(4, 10)
        seen.append(Job.objects.values_list("state", "done", "total").get(pk=job.pk))

    enqueue_with(run)
    queue.run_waiting()
    assert seen == [("running", 4, 10)]


def test_what_fails_is_tried_again_later_and_given_up_in_the_end():
    asked = enqueue_with(lambda job, progress: 1 / 0)
    waits = []
    for _ in range(jobs.MAX_TRIES):
        assert queue.run_waiting() == 1
        asked.refresh_from_db()
        waits.append(asked.run_after - timezone.now())
        Job.objects.update(run_after=timezone.now() - timedelta(seconds=1))
    assert (asked.state, asked.tries) == (Job.FAILED, jobs.MAX_TRIES)
    assert asked.last_error == "ZeroDivisionError: division by zero"
    assert waits[:-1] == sorted(waits[:-1])
    assert waits[0] > timedelta(seconds=5)
    assert queue.run_waiting() == 0


def test_a_refusal_ends_it_at_once_in_its_own_words():
    def run(job, progress):
        raise Invalid("That file is no archive.")

    asked = enqueue_with(run)
    queue.run_waiting()
    asked.refresh_from_db()
    assert (asked.state, asked.last_error) == (Job.FAILED, "That file is no archive.")


def test_what_is_away_is_asked_again():
    def run(job, progress):
        raise Unavailable("The embedder does not answer.")

    asked = enqueue_with(run)
    queue.run_waiting()
    asked.refresh_from_db()
    assert asked.state == Job.WAITING
    assert asked.run_after > timezone.now()


def test_a_job_for_later_waits():
    enqueue_with(lambda job, progress: None, run_after=timezone.now() + timedelta(minutes=1))
    assert queue.run_waiting() == 0


def test_an_unknown_kind_is_a_mistake_of_ours():
    with pytest.raises(ValueError, match="nothing"):
        jobs.enqueue("nothing")


def test_a_job_is_found_in_its_own_space_only():
    one, other = Space.objects.create(slug="one", name="One"), Space.objects.create(slug="two", name="Two")
    asked = enqueue_with(lambda job, progress: None, space=one)
    assert jobs.get(one, asked.pk, "try") == asked
    assert jobs.latest(one, "try") == asked
    with pytest.raises(NotFound):
        jobs.get(other, asked.pk, "try")


@pytest.mark.django_db(transaction=True)
def test_two_processes_never_take_the_same_job():
    jobs.job("try")(lambda job, progress: None)
    for _ in range(20):
        jobs.enqueue("try")
    taken: list[int] = []

    def take() -> None:
        while found := jobs.claim():
            taken.append(found.pk)
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(taken) == len(set(taken)) == 20


@pytest.mark.django_db(transaction=True)
def test_a_job_that_somebody_is_taking_is_skipped_not_waited_for():
    first, second = enqueue_with(lambda job, progress: None), jobs.enqueue("try")
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=first.pk)
        found: list[int] = []

        def other() -> None:
            found.append(jobs.claim().pk)
            connection.close()

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(5)
    assert found == [second.pk]


class TestLost:
    def test_a_job_whose_lease_ran_out_is_given_back(self):
        asked = enqueue_with(lambda job, progress: None)
        jobs.claim()
        assert jobs.release_lost() == 0
        Job.objects.update(run_after=timezone.now() - timedelta(seconds=1))
        assert jobs.release_lost() == 1
        assert queue.run_waiting() == 1
        asked.refresh_from_db()
        assert asked.state == Job.DONE

    def test_progress_keeps_the_lease(self):
        def run(job, progress):
            Job.objects.update(run_after=timezone.now() - timedelta(seconds=1))
            progress(1, 2)
            lost.append(jobs.release_lost())

        lost = []
        enqueue_with(run)
        queue.run_waiting()
        assert lost == [0]

    def test_what_is_tried_again_by_hand_has_all_its_tries(self):
        asked = enqueue_with(lambda job, progress: 1 / 0)
        for _ in range(jobs.MAX_TRIES):
            Job.objects.update(run_after=timezone.now())
            queue.run_waiting()
        asked.refresh_from_db()
        assert asked.state == Job.FAILED
        jobs.retry(asked)
        assert (asked.state, asked.last_error, asked.ended_at) == (Job.WAITING, "", None)
        assert queue.run_waiting() == 1
        asked.refresh_from_db()
        assert (asked.state, asked.tries) == (Job.WAITING, 1)

    def test_a_kept_lease_is_not_lost(self):
        enqueue_with(lambda job, progress: None)
        claimed = jobs.claim()
        Job.objects.update(run_after=timezone.now() - timedelta(seconds=1))
        jobs.extend_leases([claimed.pk])
        assert jobs.release_lost() == 0

    def test_what_takes_its_process_down_each_time_is_given_up(self):
        asked = enqueue_with(lambda job, progress: None)
        for _ in range(jobs.MAX_TRIES):
            assert jobs.claim()
            jobs.release_lost(all_of_them=True)
        asked.refresh_from_db()
        assert (asked.state, asked.last_error) == (Job.FAILED, "The process that worked on it ended.")


class TestPeriodic:
    def test_it_runs_now_and_again_after_its_time(self):
        done = []
        jobs.periodic("tidy", every=timedelta(hours=1))(lambda: done.append(1) and None)
        jobs.plan_periodic()
        jobs.plan_periodic()
        assert queue.run_waiting() == 1
        row = Job.objects.get()
        assert row.state == Job.WAITING
        assert timedelta(minutes=59) < row.run_after - timezone.now() <= timedelta(hours=1)
        Job.objects.update(run_after=timezone.now())
        assert queue.run_waiting() == 1

    def test_it_is_never_given_up(self):
        jobs.periodic("tidy", every=timedelta(hours=1))(lambda: 1 / 0)
        jobs.plan_periodic()
        for _ in range(jobs.MAX_TRIES + 2):
            queue.run_waiting()
            Job.objects.update(run_after=timezone.now())
        assert Job.objects.get().state == Job.WAITING
        assert "ZeroDivisionError" in Job.objects.get().last_error

    def test_work_that_no_longer_exists_goes(self):
        jobs.periodic("tidy", every=timedelta(hours=1))(lambda: None)
        jobs.plan_periodic()
        queue.periods.clear()
        jobs.plan_periodic()
        assert not Job.objects.exists()

    def test_it_is_never_forgotten(self):
        jobs.periodic("tidy", every=timedelta(hours=1))(lambda: None)
        jobs.plan_periodic()
        Job.objects.update(state=Job.DONE, ended_at=timezone.now() - timedelta(days=365))
        queue.delete_old_jobs()
        assert Job.objects.count() == 1

    def test_finished_jobs_are_forgotten_after_a_month(self):
        for days in (29, 31):
            Job.objects.create(kind="x", state=Job.DONE, ended_at=timezone.now() - timedelta(days=days))
        queue.delete_old_jobs()
        assert Job.objects.count() == 1


class TestClocks:
    """The clock of a node, or of the machine with the database, goes ahead for a while."""

    AHEAD = timedelta(days=31)

    @pytest.fixture
    def node_ahead(self, monkeypatch):
        right = timezone.now
        monkeypatch.setattr(queue.timezone, "now", lambda: right() + self.AHEAD)
        return right

    def test_work_is_due_by_the_clock_of_the_database(self, node_ahead):
        enqueue_with(lambda job, progress: None)
        jobs.enqueue("try", run_after=queue.timezone.now() + timedelta(seconds=30))
        jobs.enqueue_all("try", [{"n": 2}])
        statements.send_change(jobs.enqueue_as_change("try", {"n": 3}))
        statements.send_change(
            jobs.enqueue_as_change("try", {"n": 4}, run_after=queue.timezone.now() + timedelta(seconds=30))
        )
        waits = [job.run_after - node_ahead() for job in Job.objects.order_by("pk")]
        assert [round(wait.total_seconds(), -1) for wait in waits] == [0, 30, 0, 0, 30]
        claimed = queue.claim()
        assert claimed is not None
        claimed.refresh_from_db()
        assert claimed.run_after - node_ahead() < queue.LEASE * 2

    def test_no_periodic_work_rests_for_longer_than_its_period(self):
        jobs.periodic("tidy", every=timedelta(hours=1))(lambda: None)
        jobs.plan_periodic()
        enqueue_with(lambda job, progress: None)
        Job.objects.update(run_after=timezone.now() + self.AHEAD, created_at=timezone.now() + self.AHEAD)
        jobs.bound_schedules()
        waits = dict(Job.objects.values_list("kind", "run_after"))
        assert timedelta(0) < waits["every.tidy"] - timezone.now() <= timedelta(hours=1) or (
            waits["every.tidy"] <= timezone.now()
        )
        assert waits["try"] <= timezone.now()

    def test_what_waits_for_later_on_purpose_goes_on_waiting(self):
        asked = enqueue_with(lambda job, progress: None, run_after=timezone.now() + timedelta(hours=3))
        jobs.bound_schedules()
        asked.refresh_from_db()
        assert asked.run_after - timezone.now() > timedelta(hours=2)

    def test_a_node_with_a_wrong_clock_ends_nothing(self, node_ahead):
        done = []
        jobs.periodic("expire", every=timedelta(hours=1))(lambda: done.append(1) and None)
        Job.objects.create(kind="every.expire", run_after=node_ahead(), created_at=node_ahead())
        assert queue.run_waiting() == 1
        row = Job.objects.get()
        assert (done, row.state) == ([], Job.WAITING)
        assert "clock of this node is +2678" in row.last_error


def test_a_process_that_was_paused_does_not_end_what_another_took_over():
    asked = enqueue_with(lambda job, progress: {"by": "nobody"})
    paused = queue.claim()
    Job.objects.update(run_after=timezone.now() - timedelta(seconds=1))
    queue.release_lost()
    other = queue.claim()
    queue.run(paused)
    asked.refresh_from_db()
    assert (asked.state, asked.result) == (Job.RUNNING, {})
    queue.run(other)
    asked.refresh_from_db()
    assert (asked.state, asked.result) == (Job.DONE, {"by": "nobody"})
