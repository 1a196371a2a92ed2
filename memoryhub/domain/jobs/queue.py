"""Jobs: slow or periodic work, kept in a table, done by the one background process (`memoryhub/server/work.py`).

Any module of `domain` registers what it can do; the background process imports them all:

    @jobs.job("files.import")                          one piece of work, asked for by `enqueue`
    def run(job, progress): ...; progress(3, 10); return {"imported": 10}

    @jobs.periodic("working.expire", every=timedelta(minutes=5))
    def expire(): ...

    @jobs.watcher("files.watch")                       runs all the time, until `stop` is set
    def watch(stop): ...

A job may be run again after a crash, so it has to cope with finding its work half done. A HubError ends it at once
(its sentence is the last error); `Unavailable` and anything unexpected is tried again, later each time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.errors import HubError, NotFound, Unavailable
from memoryhub.models import Job, Space

Progress = Callable[[int, int], None]
JobFunction = Callable[[Job, Progress], dict[str, Any] | None]

MAX_TRIES = 5
MIN_WAIT, MAX_WAIT = timedelta(seconds=10), timedelta(minutes=30)
LEASE = timedelta(seconds=60)  # a running job whose lease ran out has lost its process
KEEP_FINISHED = timedelta(days=30)
PERIODIC = "every."

log = logging.getLogger("memoryhub.jobs")
kinds: dict[str, JobFunction] = {}
outgoing_kinds: set[str] = set()  # kinds that wait for an address of somebody else, which may hang
periods: dict[str, timedelta] = {}
background_threads: dict[str, Callable[[threading.Event], None]] = {}


# ---- what can be done ----


def job(kind: str, *, sends: bool = False) -> Callable[[JobFunction], JobFunction]:
    """Registers the function that does jobs of this kind; what `sends` has lanes of its own, so that an address which hangs
    holds up no other work."""

    def register(run: JobFunction) -> JobFunction:
        kinds[kind] = run
        if sends:
            outgoing_kinds.add(kind)
        return run

    return register


def periodic(name: str, *, every: timedelta) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Registers a function that runs again and again; of several background processes one runs it each time."""

    def register(run: Callable[[], Any]) -> Callable[[], Any]:
        kinds[PERIODIC + name] = lambda job, progress: run()
        periods[PERIODIC + name] = every
        return run

    return register


def background_thread(name: str) -> Callable[[Callable[[threading.Event], None]], Callable[[threading.Event], None]]:
    """Registers a function that runs in a thread of its own until its event is set."""

    def register(run: Callable[[threading.Event], None]) -> Callable[[threading.Event], None]:
        background_threads[name] = run
        return run

    return register


# ---- asking for it, looking at it ----


class JobOptions(TypedDict, total=False):
    """For whom, and when; without it for the hub itself, now."""

    space: Space
    asked_by: str
    run_after: datetime


def enqueue(kind: str, payload: dict[str, Any] | None = None, **how: Unpack[JobOptions]) -> Job:
    """Asks for a piece of work; in a transaction it starts only if that commits."""
    asked = Job(**_job_fields(kind, payload, how))
    asked.save(force_insert=True)
    return asked


def enqueue_all(kind: str, payloads: Iterable[dict[str, Any]], **how: Unpack[JobOptions]) -> None:
    """The same for many pieces of one kind."""
    Job.objects.bulk_create(Job(**_job_fields(kind, payload, how)) for payload in payloads)


def enqueue_as_change(
    kind: str, payload: dict[str, Any] | None = None, *, of: str = "", over: str = "", **how: Unpack[JobOptions]
) -> statements.Change:
    """The same as a change that travels with what the work is about; with that one's row in it as `hot.inserting_rows` has it."""
    asked = _job_fields(kind, payload, how)
    now, after = timezone.now().isoformat(), asked.pop("run_after").isoformat()
    return statements.inserting_rows(Job, {**NEW_JOB, **asked, "run_after": after, "created_at": now}, of=of, over=over)


# What a row says of work that nobody began; written by hand, because a model's row costs as much again.
NEW_JOB = {"state": Job.WAITING, "done": 0, "total": 0, "result": {}, "tries": 0, "last_error": ""}


def _job_fields(kind: str, payload: dict[str, Any] | None, how: JobOptions) -> dict[str, Any]:
    if kind not in kinds:
        raise ValueError(f"no job of kind {kind!r} is registered")
    space = how.get("space")
    return {
        "space_id": space.pk if space else 0, "kind": kind, "payload": payload or {},
        "asked_by": how.get("asked_by", "")[:150], "run_after": how.get("run_after") or timezone.now(),
    }  # fmt: skip


def get(space: Space, pk: int, *of: str) -> Job:
    """One job of a space, for the page that shows its progress; of these kinds alone."""
    found = Job.objects.within(space).filter(pk=pk).first()
    if found is None or found.kind not in of:
        raise NotFound("There is no such job here; finished ones are kept for 30 days.")
    return found


def postpone(kind: str, waiting: Q, until: datetime) -> None:
    """Lets jobs of a kind rest until then: what they need is away, and one try at a time is enough to find it back."""
    Job.objects.filter(waiting, kind=kind, state=Job.WAITING, run_after__lt=until).update(run_after=until)


def retry_delay(tries: int) -> timedelta:
    """How long a job rests after so many tries."""
    return min(MIN_WAIT * 2 ** (tries - 1), MAX_WAIT)


def retry(failed: Job) -> None:
    """Lets a job that failed for good go on where its result says that it stopped."""
    changes = {"state": Job.WAITING, "tries": 0, "run_after": timezone.now(), "ended_at": None, "last_error": ""}
    Job.objects.filter(pk=failed.pk, state=Job.FAILED).update(**changes)
    failed.refresh_from_db()


def latest(space: Space | None, kind: str) -> Job | None:
    """The newest job of a kind: whether a reembed is under way, when it last ran."""
    return Job.objects.within(space.pk if space else 0).filter(kind=kind).order_by("-id").first()


# ---- doing it ----


@transaction.atomic
def claim(only: Iterable[str] | None = None) -> Job | None:
    """Takes the next waiting job, skipping those that others are taking at this moment."""
    now = timezone.now()
    due = Job.objects.select_for_update(skip_locked=True).filter(state=Job.WAITING, run_after__lte=now)
    found = due.filter(kind__in=kinds if only is None else only).order_by("run_after", "id").first()
    if found is None:
        return None
    found.state, found.started_at, found.tries, found.run_after = Job.RUNNING, now, found.tries + 1, now + LEASE
    found.save(update_fields=["state", "started_at", "tries", "run_after"])
    return found


def run(claimed: Job) -> None:
    """Does a claimed job and writes down how it went."""
    try:
        result = kinds[claimed.kind](claimed, Reporter(claimed.pk))
    except HubError as error:
        _note_failure(claimed, error.message, for_good=not isinstance(error, Unavailable))
    except Exception as error:
        log.exception("job %s (%s) failed", claimed.pk, claimed.kind)
        _note_failure(claimed, f"{type(error).__name__}: {error}", for_good=False)
    else:
        _note_success(claimed, result or {})


class Reporter:
    """`progress(done, total)`, written at most twice a second."""

    def __init__(self, pk: int) -> None:
        self.pk = pk
        self.written = 0.0

    def __call__(self, done: int, total: int) -> None:
        if done < total and time.monotonic() - self.written < 0.5:
            return
        self.written = time.monotonic()
        Job.objects.filter(pk=self.pk).update(done=done, total=total, run_after=timezone.now() + LEASE)


def _note_success(finished: Job, result: dict[str, Any]) -> None:
    if every := periods.get(finished.kind):
        _reschedule(finished, every, last_error="", tries=0, result=result)
        return
    changes = {"state": Job.DONE, "ended_at": timezone.now(), "result": result, "last_error": ""}
    Job.objects.filter(pk=finished.pk).update(done=F("total"), **changes)


def _note_failure(failed: Job, error: str, *, for_good: bool) -> None:
    error = error.replace("\x00", "")[:2000]
    if every := periods.get(failed.kind):
        _reschedule(failed, min(every, MAX_WAIT), last_error=error)
    elif for_good or failed.tries >= MAX_TRIES:
        Job.objects.filter(pk=failed.pk).update(state=Job.FAILED, ended_at=timezone.now(), last_error=error)
    else:
        _reschedule(failed, retry_delay(failed.tries), last_error=error)


def _reschedule(finished: Job, wait: timedelta, **changes: Any) -> None:
    now = timezone.now()
    Job.objects.filter(pk=finished.pk).update(state=Job.WAITING, run_after=now + wait, ended_at=now, **changes)


def run_waiting() -> int:
    """Does everything that is due, here and now (commands and tests); says how many jobs that were."""
    count = 0
    while found := claim():
        run(found)
        count += 1
    return count


# ---- keeping the table in order ----


def extend_leases(running: Iterable[int]) -> None:
    """Says that these are still being worked on."""
    Job.objects.filter(pk__in=list(running), state=Job.RUNNING).update(run_after=timezone.now() + LEASE)


def release_lost(*, all_of_them: bool = False) -> int:
    """Gives jobs back whose process died; `all_of_them` when no other background process can be alive."""
    lost = Job.objects.filter(state=Job.RUNNING)
    if not all_of_them:
        lost = lost.filter(run_after__lt=timezone.now())
    told = "The process that worked on it ended."
    # What takes its process down each time must not be tried for ever.
    ended = ~Q(kind__startswith=PERIODIC) & Q(tries__gte=MAX_TRIES)
    count = lost.filter(ended).update(state=Job.FAILED, ended_at=timezone.now(), last_error=told)
    return count + lost.update(state=Job.WAITING, run_after=timezone.now(), last_error=told)


@transaction.atomic
def plan_periodic() -> None:
    """One row for each periodic work, due now at first; rows of work that no longer exists go."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('memoryhub.plan_periodic'))")
    rows = dict(Job.objects.filter(kind__startswith=PERIODIC).order_by("-id").values_list("kind", "id"))
    Job.objects.filter(kind__startswith=PERIODIC).exclude(pk__in=[rows[k] for k in rows if k in periods]).delete()
    Job.objects.bulk_create(Job(kind=kind) for kind in periods if kind not in rows)


@periodic("jobs.forget", every=timedelta(hours=6))
def delete_old_jobs() -> None:
    """Finished jobs go after 30 days."""
    ended = Job.objects.filter(state__in=[Job.DONE, Job.FAILED], ended_at__lt=timezone.now() - KEEP_FINISHED)
    ended.exclude(kind__startswith=PERIODIC).delete()
