"""A folder as one zip file: made within the request if it is small, else by a job."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from memoryhub.domain import jobs
from memoryhub.domain.accounts import require
from memoryhub.domain.files import find
from memoryhub.domain.files.read import Published, read_many
from memoryhub.errors import NotFound, TooLarge
from memoryhub.models import Actor, Job, Made, Space
from memoryhub.stores import paths

ZIP_JOB = "files.pack"
# A small folder is packed in under 200 ms; the maximum is what a job may have in memory.
MAX_SMALL_FILES, MAX_SMALL_BYTES = 200, 2 * 1024 * 1024
MAX_FILES, MAX_BYTES = 10_000, 100 * 1024 * 1024
KEEP_ZIPS = jobs.result_lifetimes[ZIP_JOB] = timedelta(days=1)
_BATCH = 100


@dataclass(frozen=True)
class Packed:
    """A zip file, with how many files it has."""

    content: bytes
    files: int
    left_out: int  # files that cannot be read just now


def is_small_folder(space: Space, prefix: str) -> bool:
    """Whether a folder is packed within the request. It lists no more of the folder than that takes."""
    listed = list(islice(find.walk(space, prefix), MAX_SMALL_FILES + 1))
    return len(listed) <= MAX_SMALL_FILES and sum(entry.size for entry in listed) <= MAX_SMALL_BYTES


def zip_bytes(space: Space, prefix: str, progress: jobs.Progress = lambda done, total: None) -> Packed:
    """A zip of every published file at or below a folder, named by its path in the folder."""
    listed = list(islice(find.walk(space, prefix), MAX_FILES + 1))
    if len(listed) > MAX_FILES or sum(entry.size for entry in listed) > MAX_BYTES:
        raise TooLarge("10,000 files and 100 MB are the most that go into one zip. Download a folder in it instead.")
    target, count = io.BytesIO(), 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for start in range(0, len(listed), _BATCH):
            found = read_many(space, [entry.path for entry in listed[start : start + _BATCH]])
            for path, published in found.items():
                if isinstance(published, Published):
                    modified_at = max(
                        published.modified_at.timetuple()[:6], (1980, 1, 1, 0, 0, 0)
                    )  # a zip has no earlier day
                    info = zipfile.ZipInfo(path[len(prefix) :], modified_at)
                    archive.writestr(info, published.content, zipfile.ZIP_DEFLATED)
                    count += 1
            progress(min(start + _BATCH, len(listed)), len(listed))
    return Packed(target.getvalue(), count, len(listed) - count)


def zip_name(prefix: str) -> str:
    """The file name for the zip of a folder."""
    return f"{prefix.strip('/').rpartition('/')[2] or 'files'}.zip"


def pack_folder(space: Space, actor: Actor, prefix: str) -> Job:
    """Enqueues the job that packs a folder; answers the job that is under way if there is one."""
    require(actor, "read")
    prefix = paths.clean(prefix, directory=True)
    under_way = Job.objects.within(space).filter(
        kind=ZIP_JOB, payload={"path": prefix}, state__in=[Job.WAITING, Job.RUNNING]
    )
    return under_way.first() or jobs.enqueue(ZIP_JOB, {"path": prefix}, space=space, asked_by=actor.name)


@jobs.job(ZIP_JOB)
def run_zip_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    space = Space.objects.get(pk=job.space_id)
    packed = zip_bytes(space, job.payload["path"], progress)
    jobs.keep_result(space, ZIP_JOB, str(job.pk), packed.content, zip_name(job.payload["path"]))
    return {"files": packed.files, "left_out": packed.left_out, "bytes": len(packed.content)}


def zip_job(space: Space, pk: int) -> Job:
    """The job that packs a folder, for the page that shows its progress."""
    return jobs.get(space, pk, ZIP_JOB)


def fetch_zip(space: Space, job: Job) -> Made:
    """The zip that a job made; NotFound once its time is over."""
    found = jobs.find_result(space, ZIP_JOB, str(job.pk))
    if found is None:
        raise NotFound("This zip is not kept any more (they are kept for a day). Ask for it again.", code="gone")
    return found
