"""Temporary files of writes that were cut off, and displaced files that a program may still have open."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from memoryhub.domain import jobs, spaces
from memoryhub.domain.files import revisions
from memoryhub.domain.files.disk import arrivals, marks
from memoryhub.domain.files.disk.conflicts import record_late_text
from memoryhub.domain.files.disk.intake import folders_taken_in
from memoryhub.domain.files.disk.sync import KEEP_DISPLACED_SECONDS
from memoryhub.domain.files.mounts import Place, find_mount, is_mine, mounts_of_space, place_in_mount
from memoryhub.errors import HubError
from memoryhub.models import File, Job, Mount, Space
from memoryhub.stores import FilesystemStore

MAX_TURNS = 50
log = logging.getLogger("memoryhub.files")


@jobs.job("files.forget")
def delete_displaced(job: Job, progress: jobs.Progress) -> None:
    """Reads a displaced file once more, records its text if no revision has it, then removes it."""
    file = File.objects.select_related("space").filter(pk=job.payload["file"]).first()
    mount = find_mount(mounts_of_space(file.space), file.path) if file else None
    if file is None or mount is None:
        return
    if mount.store == Mount.Store.FILESYSTEM and not is_mine(mount):  # for the node that wrote it
        _leave_to_its_node(job)
        return
    place, name = place_in_mount(mount, file.path), job.payload["name"]
    if not isinstance(place.store, FilesystemStore):
        return
    with transaction.atomic():
        file = File.objects.select_for_update(of=("self",)).select_related("space").get(pk=file.pk)
        content = place.store.read_again(place.relative, name)
        if content is not None:
            _record_if_new(file.space, file, place, content)
    place.store.forget(place.relative, name)


def _leave_to_its_node(job: Job) -> None:
    """Adds the job again until the right node has it; what stays is found when that node starts."""
    tries = job.payload.get("tries", 0) + 1
    if tries <= MAX_TURNS:
        when = timezone.now() + timedelta(seconds=KEEP_DISPLACED_SECONDS)
        jobs.enqueue("files.forget", job.payload | {"tries": tries}, run_after=when)


def _record_if_new(space: Space, file: File, place: Place, content: bytes) -> None:
    seen = marks.take_in(space, content)
    if revisions.has_text(file, seen.sha256) or spaces.ask_event("is_held_text", space, file.path, seen.text):
        return
    if arrivals.record_displaced(space, file, place, seen):
        return
    record_late_text(space, file, seen)


def recover_leftovers(space: Space, mount: Mount) -> int:
    """Called at the start: records and removes temporary files of writes that were cut off; answers how many there were."""
    place = place_in_mount(mount, mount.prefix)
    if not isinstance(place.store, FilesystemStore):
        return 0
    return sum(_recover_folder(mount, place.store, folder) for folder, _ in folders_taken_in(mount))


def _names_in(mount: Mount, folder: str) -> list[str]:
    """The names of the files right below a folder that the hub knows, deleted ones included."""
    above = mount.prefix + folder[1:]
    paths_below = File.objects.within(mount.space).filter(path__startswith=above).values_list("path", flat=True)
    return [path[len(above) :] for path in paths_below if "/" not in path[len(above) :]]


def _recover_folder(mount: Mount, store: FilesystemStore, folder: str) -> int:
    try:
        found = store.leftovers(folder, lambda: _names_in(mount, folder))
        old = [left for left in found if left.age >= KEEP_DISPLACED_SECONDS]
    except HubError as error:
        if error.code == "root_missing":
            raise
        log.warning("%s", error.message)  # one folder that is shut does not shut the rest
        return 0
    for left in old:
        if left.content is not None:
            with transaction.atomic():
                file = revisions.lock_file(mount.space, mount.prefix + left.path[1:])
                _record_if_new(mount.space, file, place_in_mount(mount, file.path), left.content)
        store.forget(left.path, left.name)
    return len(old)
