"""Bringing exported long-term memory in: a file is checked whole, then comes in, a large one in the background.

A file with a wrong line brings nothing in. Of a right one the entries come in a few at a time, and each few write down in
their own transaction how far the file is: a job that ends at any moment goes on there, and no entry comes twice.
"""

from __future__ import annotations

import json
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.db import transaction

from memoryhub.db import statements
from memoryhub.domain import activity, jobs
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm import entries, entry_files
from memoryhub.domain.longterm.entry_lines import parse_json
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Job, Made, Space
from memoryhub.text.counted import counted
from memoryhub.text.lines import text_of

IMPORT_JOB = "longterm.take_in"
MAX_AT_ONCE, MAX_BYTES_AT_ONCE = 40, 100_000  # so much comes in while the person waits
MAX_CHECKED_AT_ONCE = (
    500  # so many lines are checked while the person waits; of more only what must not be stored, a secret
)
BATCH = 20  # entries of one transaction: meanwhile others wait for the space
NEXT_NUMBERS = "UPDATE memoryhub_space SET last_entry = last_entry + %s WHERE id = %s RETURNING last_entry"
jobs.result_lifetimes[IMPORT_JOB] = timedelta(days=1)  # a file; whoever brings it again goes on with it

FILE_GONE = (
    "The file is not kept any more: it is for a day, or until a session in it is erased. Bring it in again: it goes on where "
    "it stopped."
)


@transaction.atomic
def import_entries(space: Space, actor: Actor, data: bytes) -> Job | int:
    """Brings exported entries in under new numbers: at once, or as a job where there are many; says how many, or which job."""
    require(actor, "promote")
    is_checked = data.count(b"\n") <= MAX_CHECKED_AT_ONCE
    check = entry_files.check_import if is_checked else entry_files.import_without_secrets
    lines = check(space, actor, data)
    entries.lock_space(space)
    if len(lines) <= MAX_AT_ONCE and len(data) <= MAX_BYTES_AT_ONCE:
        first = _first_number(space, len(lines))
        entry_files.import_lines(space, actor, lines, first, range(len(lines)))
        _record_activity(space, actor, len(lines))
        return len(lines)
    return _enqueue(space, actor, sha256(data).hexdigest(), lines, is_checked)


def _first_number(space: Space, count: int) -> int:
    """The first of the next `count` numbers. They have no gaps: the space's row stays locked until the transaction ends."""
    last: int = statements.row(NEXT_NUMBERS, [count, space.pk])[0]
    return last - count + 1


def _enqueue(space: Space, actor: Actor, key: str, lines: list[dict[str, Any]], is_checked: bool) -> Job:
    """The job for a file: the one that has it already and is not done with it, or a new one."""
    entries = len(lines)
    job = Job.objects.within(space).filter(kind=IMPORT_JOB, payload__file=key).order_by("-id").first()
    if job is None or job.state == Job.DONE:
        payload = {
            "file": key,
            "entries": entries,
            "is_checked": is_checked,
            "actor": [actor.kind, actor.id, actor.name, actor.role],
        }
        job = jobs.enqueue(IMPORT_JOB, payload, space=space, asked_by=actor.name)
        _record_activity(space, actor, entries, url=f"longterm/import/{job.pk}/")
    elif job.state == Job.FAILED:
        jobs.retry(job)
    jobs.keep_result(space, IMPORT_JOB, key, "\n".join(map(json.dumps, lines)).encode())
    return job


def _record_activity(space: Space, actor: Actor, entries: int, url: str = "longterm/") -> None:
    many = counted(entries, "entry", "entries")
    activity.record(space, actor, "longterm.take_in", "brought in", many, url=url, adds="from JSON lines")


@jobs.job(IMPORT_JOB)
def import_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    space, entries = Space.objects.get(pk=job.space_id), job.payload["entries"]
    file = jobs.find_result(space, IMPORT_JOB, job.payload["file"])
    if file is None and job.result.get("done") != entries:
        raise Invalid(FILE_GONE)
    lines = _stored_lines(file) if file else []
    if file and not job.payload.get("is_checked", True) and not job.result.get("done"):
        _check(job, space, lines, progress)
    while job.result.get("done", 0) < entries:
        job.result = _import_batch(space, job, lines)
        progress(job.result["done"], entries)
    Made.objects.within(space).filter(kind=IMPORT_JOB, key=job.payload["file"]).delete()
    return job.result


def _stored_lines(file: Made) -> list[dict[str, Any]]:
    """Its lines; of a file that an earlier version stored as it came, too."""
    return [parse_json(line) for line in text_of(bytes(file.content)).split("\n") if line.strip()]


def _check(job: Job, space: Space, lines: list[dict[str, Any]], progress: jobs.Progress) -> None:
    """The look at each line, where it would have kept the person waiting; a file with a wrong one is kept no longer."""
    try:
        entry_files.check_lines(space, Actor(*job.payload["actor"]), lines, progress)
    except Invalid:
        Made.objects.within(space).filter(kind=IMPORT_JOB, key=job.payload["file"]).delete()
        raise


@transaction.atomic
def _import_batch(space: Space, job: Job, lines: list[dict[str, Any]]) -> dict[str, int]:
    """The next few entries, and how far the file is with them; what another process did meanwhile counts."""
    entries.lock_space(space)
    job = Job.objects.select_for_update().get(pk=job.pk)
    if jobs.find_result(space, IMPORT_JOB, job.payload["file"]) is None:
        raise Invalid(FILE_GONE)
    first = job.result.get("first") or _first_number(space, len(lines))
    start = job.result.get("done", 0)
    end = min(start + BATCH, len(lines))
    entry_files.import_lines(space, Actor(*job.payload["actor"]), lines, first, range(start, end))
    job.result = {"first": first, "done": end}
    job.save(update_fields=["result"])
    return job.result


def imports_with_session(space: Space, session_id: str) -> list[Made]:
    """The files on their way in that hold something of a session."""
    files = Made.objects.within(space).filter(kind=IMPORT_JOB)
    return [one for one in files if session_id in _sessions(one)]


def _sessions(file: Made) -> set[str]:
    return {str(line.get("session_id") or "") for line in _stored_lines(file)}


def drop_imports_with_session(space: Space, session_id: str) -> None:
    """Drops such files, in a transaction that holds the space: what is on its way stops there."""
    for one in imports_with_session(space, session_id):
        one.delete()


def get_import(space: Space, pk: int) -> Job:
    return jobs.get(space, pk, IMPORT_JOB)


def unfinished_import(space: Space) -> Job | None:
    """The newest import, while it is not done: under way, or stopped."""
    job = jobs.latest(space, IMPORT_JOB)
    return job if job and job.state != Job.DONE else None
