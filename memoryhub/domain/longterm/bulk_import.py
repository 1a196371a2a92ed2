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

from memoryhub.domain import activity, jobs, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm import entries, entry_files
from memoryhub.domain.longterm.entry_lines import parse_json
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Job, Made, Space
from memoryhub.text.lines import text_of

TAKE_IN = "longterm.take_in"
AT_ONCE, AT_ONCE_BYTES = 40, 100_000  # so much comes in while the person waits
CHECKED = 500  # so many lines are checked meanwhile; of more only what must not be kept, a secret
FEW = 20  # entries of one transaction: meanwhile others wait for the space
jobs.result_lives[TAKE_IN] = timedelta(days=1)  # a file; whoever brings it again goes on with it

NOT_KEPT = (
    "The file is not kept any more: it is for a day, or until a session in it is erased. Bring it in again: it goes on where "
    "it stopped."
)


@transaction.atomic
def take_in_import(space: Space, actor: Actor, data: bytes) -> Job | int:
    """Brings exported entries in under new numbers: at once, or as a job where there are many; says how many, or which job."""
    require(actor, "promote")
    is_checked = data.count(b"\n") <= CHECKED
    look = entry_files.checked_import if is_checked else entry_files.import_without_secrets
    lines = look(space, actor, data)
    entries.lock_space(space)
    if len(lines) <= AT_ONCE and len(data) <= AT_ONCE_BYTES:
        first = spaces.next_number(space, "last_entry", len(lines))
        entry_files.bring(space, actor, lines, first, range(len(lines)))
        note(space, actor, len(lines))
        return len(lines)
    return later(space, actor, sha256(data).hexdigest(), lines, is_checked)


def later(space: Space, actor: Actor, key: str, lines: list[dict[str, Any]], is_checked: bool) -> Job:
    """The job for a file: the one that has it already and is not done with it, or a new one."""
    entries = len(lines)
    job = Job.objects.within(space).filter(kind=TAKE_IN, payload__file=key).order_by("-id").first()
    if job is None or job.state == Job.DONE:
        payload = {
            "file": key,
            "entries": entries,
            "is_checked": is_checked,
            "actor": [actor.kind, actor.id, actor.name, actor.role],
        }
        job = jobs.enqueue(TAKE_IN, payload, space=space, asked_by=actor.name)
        note(space, actor, entries, url=f"longterm/import/{job.pk}/")
    elif job.state == Job.FAILED:
        jobs.try_again(job)
    jobs.keep_result(space, TAKE_IN, key, "\n".join(map(json.dumps, lines)).encode())
    return job


def note(space: Space, actor: Actor, entries: int, url: str = "longterm/") -> None:
    many = f"{entries:,} {'entry' if entries == 1 else 'entries'}"
    activity.record(space, actor, "longterm.take_in", "brought in", many, url=url, adds="from JSON lines")


@jobs.job(TAKE_IN)
def take_in_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    space, entries = Space.objects.get(pk=job.space_id), job.payload["entries"]
    kept = jobs.find_result(space, TAKE_IN, job.payload["file"])
    if kept is None and job.result.get("done") != entries:
        raise Invalid(NOT_KEPT)
    lines = lines_in(kept) if kept else []
    if kept and not job.payload.get("is_checked", True) and not job.result.get("done"):
        check(job, space, lines, progress)
    while job.result.get("done", 0) < entries:
        job.result = bring_few(space, job, lines)
        progress(job.result["done"], entries)
    Made.objects.within(space).filter(kind=TAKE_IN, key=job.payload["file"]).delete()
    return job.result


def lines_in(kept: Made) -> list[dict[str, Any]]:
    """Its lines; of a file that an earlier version kept as it came, too."""
    return [parse_json(line) for line in text_of(bytes(kept.content)).split("\n") if line.strip()]


def check(job: Job, space: Space, lines: list[dict[str, Any]], progress: jobs.Progress) -> None:
    """The look at each line, where it would have kept the person waiting; a file with a wrong one is kept no longer."""
    try:
        entry_files.check_lines(space, Actor(*job.payload["actor"]), lines, progress)
    except Invalid:
        Made.objects.within(space).filter(kind=TAKE_IN, key=job.payload["file"]).delete()
        raise


@transaction.atomic
def bring_few(space: Space, job: Job, lines: list[dict[str, Any]]) -> dict[str, int]:
    """The next few entries, and how far the file is with them; what another process did meanwhile counts."""
    entries.lock_space(space)
    job = Job.objects.select_for_update().get(pk=job.pk)
    if jobs.find_result(space, TAKE_IN, job.payload["file"]) is None:
        raise Invalid(NOT_KEPT)
    first = job.result.get("first") or spaces.next_number(space, "last_entry", len(lines))
    start = job.result.get("done", 0)
    end = min(start + FEW, len(lines))
    entry_files.bring(space, Actor(*job.payload["actor"]), lines, first, range(start, end))
    job.result = {"first": first, "done": end}
    job.save(update_fields=["result"])
    return job.result


def import_names(space: Space, session_id: str) -> list[Made]:
    """The files on their way in that hold something of a session."""
    kept = Made.objects.within(space).filter(kind=TAKE_IN)
    return [one for one in kept if session_id in sessions_of(one)]


def sessions_of(kept: Made) -> set[str]:
    return {str(line.get("session_id") or "") for line in lines_in(kept)}


def forget_imports(space: Space, session_id: str) -> None:
    """Drops such files, in a transaction that holds the space: what is on its way stops there."""
    for one in import_names(space, session_id):
        one.delete()


def get_import(space: Space, pk: int) -> Job:
    return jobs.get(space, pk, TAKE_IN)


def unfinished_import(space: Space) -> Job | None:
    """The newest import, while it is not done: under way, or stopped."""
    job = jobs.latest(space, TAKE_IN)
    return job if job and job.state != Job.DONE else None
