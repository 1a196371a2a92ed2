"""Jobs: slow or periodic work in a table, done by the one background process (`memoryhub/server/work.py`).

Modules of `domain` register functions; the background process imports all of them:

    @jobs.job("files.import")                          runs once for each `enqueue`
    def run(job, progress): ...; progress(3, 10); return {"imported": 10}

    @jobs.periodic("working.expire", every=timedelta(minutes=5))
    def expire(): ...

    @jobs.background_thread("files.watch")             runs all the time, until `stop` is set
    def watch(stop): ...

When a job is due is asked of the database's clock: those of nodes may differ, and one may be set wrong for a while.

A job may be run again after a crash, so its function has to cope with work that is half done. A HubError ends it at once
(its sentence is the last error); after `Unavailable` and any other exception it is tried again, later each time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.errors import HubError, NotFound, Unavailable
from memoryhub.models import Job, Space

Progress = Callable[[int, int], None]
JobFunction = Callable[[Job, Progress], dict[str, Any] | None]

MAX_TRIES = 5
MIN_WAIT, MAX_WAIT = timedelta(seconds=10), timedelta(minutes=30)
MAX_CLOCK_DIFFERENCE = timedelta(minutes=5)  # between a node that does periodic work and the database
LEASE = timedelta(seconds=60)  # a running job whose lease ran out has lost its process
KEEP_FINISHED = timedelta(days=30)
PERIODIC = "every."

log = logging.getLogger("memoryhub.jobs")
kinds: dict[str, JobFunction] = {}
outgoing_kinds: set[str] = set()  # kinds that wait for an address outside, which may hang
periods: dict[str, timedelta] = {}
background_threads: dict[str, Callable[[threading.Event], None]] = {}


# ---- registering functions ----


def job(kind: str, *, outgoing: bool = False) -> Callable[[JobFunction], JobFunction]:
    """Registers the function that runs jobs of this kind: a decorator. `outgoing` jobs send something to an address outside
    and have lanes of their own, so that an address which hangs holds up no other work."""

    def register(run: JobFunction) -> JobFunction:
        kinds[kind] = run
        if outgoing:
            outgoing_kinds.add(kind)
        return run

    return register


def periodic(name: str, *, every: timedelta) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Registers a function that runs at this interval: a decorator. Of several background processes one runs it each time."""

    def register(run: Callable[[], Any]) -> Callable[[], Any]:
        kinds[PERIODIC + name] = lambda job, progress: run()
        periods[PERIODIC + name] = every
        return run

    return register


def background_thread(name: str) -> Callable[[Callable[[threading.Event], None]], Callable[[threading.Event], None]]:
    """Registers a function that runs in a thread of its own until its event is set: a decorator."""

    def register(run: Callable[[threading.Event], None]) -> Callable[[threading.Event], None]:
        background_threads[name] = run
        return run

    return register


# ---- enqueuing and finding jobs ----


class JobOptions(TypedDict, total=False):
    """For which space, by whom and when; by default for the hub itself, now."""

    space: Space
    asked_by: str
    run_after: datetime


def enqueue(kind: str, payload: dict[str, Any] | None = None, **options: Unpack[JobOptions]) -> Job:
    """Adds a job of this kind; within a transaction it starts only if that commits."""
    fields = _job_fields(kind, payload, options)
    added = Job(**{**fields, "run_after": _by_database(fields["run_after"]), "created_at": Now()})
    added.save(force_insert=True)
    added.run_after, added.created_at = fields["run_after"] or timezone.now(), timezone.now()
    return added


def enqueue_all(kind: str, payloads: Iterable[dict[str, Any]], **options: Unpack[JobOptions]) -> None:
    """Adds one job of this kind for each payload."""
    rows = [_job_fields(kind, payload, options) for payload in payloads]
    Job.objects.bulk_create(
        Job(**{**row, "run_after": _by_database(row["run_after"]), "created_at": Now()}) for row in rows
    )


def _by_database(moment: datetime | None) -> Any:
    """A moment of this node's clock, such as in ten seconds, by the database's; None is now."""
    wait = moment - timezone.now() if moment else timedelta(0)
    return Now() + wait if wait > timedelta(0) else Now()


def enqueue_as_change(
    kind: str, payload: dict[str, Any] | None = None, *, of: str = "", over: str = "", **options: Unpack[JobOptions]
) -> statements.Change:
    """A new job as a change, for a statement that also writes what the job is about; `of` and `over` as in
    `statements.insert_rows`."""
    fields = _job_fields(kind, payload, options)
    after = fields.pop("run_after")
    row = {**NEW_JOB, **fields, "run_after": "now", "created_at": "now"}  # PostgreSQL reads the word as the moment
    if after is None:
        return statements.insert_rows(Job, row, of=of, over=over)
    wait = (after - timezone.now()).total_seconds()
    both = f"{LATER} || {over}" if over else LATER
    return statements.insert_rows(Job, row, of=of, over=both, params=[wait])


LATER = "jsonb_build_object('run_after', statement_timestamp() + %s::float * interval '1 second')"


# A row of a job that has not run; written by hand, because making a model takes as long as all the rest.
NEW_JOB = {"state": Job.WAITING, "done": 0, "total": 0, "result": {}, "tries": 0, "last_error": ""}


def _job_fields(kind: str, payload: dict[str, Any] | None, options: JobOptions) -> dict[str, Any]:
    if kind not in kinds:
        raise ValueError(f"no job of kind {kind!r} is registered")
    space = options.get("space")
    return {
        "space_id": space.pk if space else 0, "kind": kind, "payload": payload or {},
        "asked_by": options.get("asked_by", "")[:150], "run_after": options.get("run_after"),
    }  # fmt: skip


def get(space: Space, pk: int, *allowed_kinds: str) -> Job:
    """One job of a space, of one of these kinds, for the page that shows its progress."""
    found = Job.objects.within(space).filter(pk=pk).first()
    if found is None or found.kind not in allowed_kinds:
        raise NotFound("There is no such job here; finished ones are kept for 30 days.")
    return found


def postpone(kind: str, chosen: Q, until: datetime) -> None:
    """Lets waiting jobs of a kind start no earlier than then: what they need is away, and one job at a time that tries is
    enough."""
    moment = _by_database(until)
    Job.objects.filter(chosen, kind=kind, state=Job.WAITING, run_after__lt=moment).update(run_after=moment)


def retry_delay(tries: int) -> timedelta:
    """How long a job waits after so many failed tries."""
    return min(MIN_WAIT * 2 ** (tries - 1), MAX_WAIT)


def retry(failed: Job) -> None:
    """Enqueues a job again that failed for good; its result so far stays, so that it can go on from there."""
    changes = {"state": Job.WAITING, "tries": 0, "run_after": Now(), "ended_at": None, "last_error": ""}
    Job.objects.filter(pk=failed.pk, state=Job.FAILED).update(**changes)
    failed.refresh_from_db()


def latest(space: Space | None, kind: str) -> Job | None:
    """The newest job of a kind, whatever its state."""
    return Job.objects.within(space.pk if space else 0).filter(kind=kind).order_by("-id").first()


# ---- running ----


@transaction.atomic
def claim(only: Iterable[str] | None = None) -> Job | None:
    """Marks the next due job (of these kinds) as running and returns it; jobs that others are claiming are skipped."""
    now = timezone.now()
    due = Job.objects.select_for_update(skip_locked=True).filter(state=Job.WAITING, run_after__lte=Now())
    found = due.filter(kind__in=kinds if only is None else only).order_by("run_after", "id").first()
    if found is None:
        return None
    found.state, found.started_at, found.tries, found.run_after = Job.RUNNING, now, found.tries + 1, now + LEASE
    Job.objects.filter(pk=found.pk).update(
        state=Job.RUNNING, started_at=Now(), tries=found.tries, run_after=Now() + LEASE
    )
    return found


def run(claimed: Job) -> None:
    """Runs a claimed job and records its result or error."""
    try:
        _check_clock(claimed)
        result = kinds[claimed.kind](claimed, Reporter(claimed.pk))
    except HubError as error:
        _note_failure(claimed, error.message, for_good=not isinstance(error, Unavailable))
    except Exception as error:
        log.exception("job %s (%s) failed", claimed.pk, claimed.kind)
        _note_failure(claimed, f"{type(error).__name__}: {error}", for_good=False)
    else:
        _note_success(claimed, result or {})


def _check_clock(claimed: Job) -> None:
    """Refuses periodic work where the clock of this node is wrong: it would end what is not over."""
    if claimed.kind in periods:
        off = timezone.now() - statements.database_now()
        if abs(off) > MAX_CLOCK_DIFFERENCE:
            raise Unavailable(
                f"The clock of this node is {off.total_seconds():+.0f} seconds off the database's: set it."
            )


class Reporter:
    """The `progress(done, total)` of a job: written at most twice a second; it also extends the lease."""

    def __init__(self, pk: int) -> None:
        self.pk = pk
        self.written = 0.0

    def __call__(self, done: int, total: int) -> None:
        if done < total and time.monotonic() - self.written < 0.5:
            return
        self.written = time.monotonic()
        Job.objects.filter(pk=self.pk).update(done=done, total=total, run_after=Now() + LEASE)


def _note_success(finished: Job, result: dict[str, Any]) -> None:
    if every := periods.get(finished.kind):
        _reschedule(finished, every, last_error="", tries=0, result=result)
        return
    changes = {"state": Job.DONE, "ended_at": Now(), "result": result, "last_error": ""}
    _of_this_try(finished).update(done=F("total"), **changes)


def _note_failure(failed: Job, error: str, *, for_good: bool) -> None:
    error = error.replace("\x00", "")[:2000]
    if every := periods.get(failed.kind):
        _reschedule(failed, min(every, MAX_WAIT), last_error=error)
    elif for_good or failed.tries >= MAX_TRIES:
        _of_this_try(failed).update(state=Job.FAILED, ended_at=Now(), last_error=error)
    else:
        _reschedule(failed, retry_delay(failed.tries), last_error=error)


def _reschedule(finished: Job, wait: timedelta, **changes: Any) -> None:
    _of_this_try(finished).update(state=Job.WAITING, run_after=Now() + wait, ended_at=Now(), **changes)


def _of_this_try(claimed: Job) -> QuerySet[Job]:
    """The row of a claimed job, unless another process took it over: this one was paused for longer than its lease."""
    return Job.objects.filter(pk=claimed.pk, state=Job.RUNNING, tries=claimed.tries)


def run_waiting() -> int:
    """Runs every job that is due, in this process (tests), and returns how many there were."""
    count = 0
    while found := claim():
        run(found)
        count += 1
    return count


# ---- leases, periodic jobs, old rows ----


def extend_leases(running: Iterable[int]) -> None:
    """Says that these jobs are still being run."""
    Job.objects.filter(pk__in=list(running), state=Job.RUNNING).update(run_after=Now() + LEASE)


def release_lost(*, all_of_them: bool = False) -> int:
    """Lets jobs wait again whose process died: their lease is over. `all_of_them` when no other background process can be alive."""
    lost = Job.objects.filter(state=Job.RUNNING)
    if not all_of_them:
        lost = lost.filter(run_after__lt=Now())
    error = "The process that worked on it ended."
    # A job that takes its process down each time must not be tried for ever.
    given_up = ~Q(kind__startswith=PERIODIC) & Q(tries__gte=MAX_TRIES)
    count = lost.filter(given_up).update(state=Job.FAILED, ended_at=Now(), last_error=error)
    return count + lost.update(state=Job.WAITING, run_after=Now(), last_error=error)


BOUND = """
UPDATE memoryhub_job j SET run_after = statement_timestamp() + p.seconds * interval '1 second'
FROM unnest(%s::text[], %s::float[]) p (kind, seconds)
WHERE j.kind = p.kind AND j.state = 'waiting' AND j.run_after > statement_timestamp() + p.seconds * interval '1 second'
"""
# Added while a clock went ahead; and what ran then.
BOUND_OTHERS = """
UPDATE memoryhub_job SET run_after = statement_timestamp(), created_at = statement_timestamp()
WHERE (state = 'waiting' AND run_after > statement_timestamp() AND created_at > statement_timestamp() + interval '1 minute')
  OR (state = 'running' AND run_after > statement_timestamp() + interval '1 hour')
"""


def bound_schedules() -> None:
    """Lets no periodic work wait for longer than its period, nor other work longer than was asked: a clock, also the database's,
    may have gone ahead for a while."""
    with connection.cursor() as cursor:
        cursor.execute(BOUND, [list(periods), [every.total_seconds() for every in periods.values()]])
        cursor.execute(BOUND_OTHERS)


@transaction.atomic
def plan_periodic() -> None:
    """Makes one row for each periodic function, due now, and deletes rows of functions that no longer exist."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('memoryhub.plan_periodic'))")
    rows = dict(Job.objects.filter(kind__startswith=PERIODIC).order_by("-id").values_list("kind", "id"))
    Job.objects.filter(kind__startswith=PERIODIC).exclude(pk__in=[rows[k] for k in rows if k in periods]).delete()
    Job.objects.bulk_create(Job(kind=kind) for kind in periods if kind not in rows)


@periodic("jobs.forget", every=timedelta(hours=6))
def delete_old_jobs() -> None:
    """Deletes jobs that finished 30 days ago."""
    ended = Job.objects.filter(state__in=[Job.DONE, Job.FAILED], ended_at__lt=timezone.now() - KEEP_FINISHED)
    ended.exclude(kind__startswith=PERIODIC).delete()
