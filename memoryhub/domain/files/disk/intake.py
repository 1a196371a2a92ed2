"""What scans and the watcher see of a mounted directory: the folders and files that are taken in, and what has to go out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from urllib.parse import quote

from django.db import IntegrityError, transaction

from memoryhub.domain import activity, jobs, spaces
from memoryhub.domain.files import revisions
from memoryhub.domain.files.disk import marks
from memoryhub.domain.files.disk.marks import DiskText
from memoryhub.domain.files.disk.sync import leave_out
from memoryhub.domain.files.mounts import find_mount, intake_of, is_mine, mounts_of_space, place_in_mount
from memoryhub.errors import HubError
from memoryhub.models import DISK, HUB, File, Mount, Revision, Space
from memoryhub.stores import FilesystemStore, paths
from memoryhub.stores.disk import Stat
from memoryhub.stores.filesystem import Entry
from memoryhub.stores.selection import MAX_FILES, LeftOut

_BATCH = 200


def folders_taken_in(mount: Mount) -> Iterator[tuple[str, list[Entry]]]:
    """The folders of a mounted directory that are taken in, nearest first, with their entries."""
    taking = intake_of(mount)
    if taking is not None and is_mine(mount):
        taking.ignored.forget()  # so that a change of a .gitignore file counts at once
        yield from taking.folders()


def taken_files(mount: Mount) -> list[tuple[str, Entry]]:
    """The files of a mounted directory that are taken in, by their paths inside it: the first MAX_FILES. Notes whether there are
    more: then the mount takes no new ones."""
    found: list[tuple[str, Entry]] = []
    for folder, entries in folders_taken_in(mount):
        found += [(folder + one.name, one) for one in entries if one.stat.kind == "file" and not one.odd]
        if len(found) > MAX_FILES:
            break
    if mount.is_full != (len(found) > MAX_FILES):
        mount.is_full = not mount.is_full
        mount.save(update_fields=["is_full"])
    return found[:MAX_FILES]


def leave_out_known(space: Space, mount: Mount, files: list[File]) -> int:
    """Take those of a mount's files out of lists and prompts that it leaves out now; answers how many."""
    out = [(file, why) for file in files if not file.is_deleted and (why := _why_out(mount, file.path))]
    for start in range(0, len(out), _BATCH):
        _leave_out_batch(space, mount, sorted(out[start : start + _BATCH], key=lambda one: one[0].path))
    return len(out)


def leave_out_everywhere() -> None:
    """Take out what mounts leave out by name, before anybody asks: an older hub may have taken it in."""
    for mount in Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space"):
        leave_out_named(mount)


def leave_out_named(mount: Mount) -> int:
    """Take out the files of a mount that it leaves out by their names; answers how many."""
    taking = intake_of(mount)
    below = File.objects.within(mount.space).filter(path__startswith=mount.prefix, thread_id="", is_deleted=False)
    paths_below = list(below.values_list("path", flat=True)) if taking else []
    named = [path for path in paths_below if taking and taking.why_named_out(paths.strip(mount.prefix, path))]
    mounts = mounts_of_space(mount.space)
    mine = [path for path in named if find_mount(mounts, path) == mount]
    return leave_out_known(mount.space, mount, list(below.filter(path__in=mine))) if mine else 0


@spaces.on_event("mount_changed")
def follow_selection(mount: Mount) -> None:
    """After a mount takes in something else: few files go out at once, all others by a scan in the background."""
    if mount.store == Mount.Store.FILESYSTEM:
        leave_out_named(mount)
        # What it takes in from now on was there before: that is no change on disk.
        Mount.objects.filter(pk=mount.pk).update(taken_in_at=None)
        jobs.enqueue("files.scan_mount", {"mount": mount.pk}, space=mount.space)


def _why_out(mount: Mount, path: str) -> LeftOut | None:
    taking = intake_of(mount)
    return taking.why_out(paths.strip(mount.prefix, path)) if taking else None


@transaction.atomic
def _leave_out_batch(space: Space, mount: Mount, batch: list[tuple[File, LeftOut]]) -> None:
    """Takes files out, with one line of activity. Their revisions stay, and nothing on disk is touched."""
    for file, why in batch:
        leave_out(space, revisions.lock_file(space, file.path), why)
    adds = f"{len(batch):,} files below {mount.prefix}" if len(batch) > 1 else batch[0][0].path
    url = "files" + quote(mount.prefix)
    activity.record(space, HUB, "files.delete", "left out", adds, url=url, path=mount.prefix)


# ---- what is new at a first look


def record_new_files(space: Space, mount: Mount, new: list[str]) -> int:
    """Record many files that the hub does not have, in batches; a batch that fails is left to syncing file by file."""
    count = 0
    for start in range(0, len(new), _BATCH):
        batch = new[start : start + _BATCH]
        with contextlib.suppress(IntegrityError), transaction.atomic():
            made = _record_batch(space, mount, batch)
            # One line, by the first batch: people would read 16 about a project of 3,000 files.
            if made and not count:
                _record_arrival(space, mount, new)
            count += len(made)
    return count


def _record_arrival(space: Space, mount: Mount, new: list[str]) -> None:
    adds = f"{len(new):,} files below {mount.prefix}" if len(new) > 1 else new[0]
    activity.record(space, DISK, "files.create", "brought", adds, url="files" + quote(mount.prefix), path=mount.prefix)


def _record_batch(space: Space, mount: Mount, batch: list[str]) -> list[File]:
    in_hub = set(File.objects.within(space).filter(path__in=batch, thread_id="").values_list("path", flat=True))
    found: dict[str, tuple[Stat, DiskText]] = {}
    for path in batch:
        place = place_in_mount(mount, path)
        assert isinstance(place.store, FilesystemStore)
        if path not in in_hub and not marks.has_secret_name(place.relative):
            with contextlib.suppress(HubError):
                paths.clean(path)
                on_disk = place.store.read(place.relative)
                found[path] = on_disk.stat, marks.take_in(space, on_disk.content)
    new = File.objects.bulk_create([_as_file(space, path, *seen) for path, seen in found.items()])
    Revision.objects.bulk_create([_as_first_revision(file, found[file.path][1].text) for file in new])
    if new:
        spaces.mark_setup(space)
    return new


def _as_file(space: Space, path: str, stat: Stat, seen: DiskText) -> File:
    return File(
        space=space, path=path, revision=1, size=len(seen.text), sha256=seen.sha256, author_kind=DISK.kind,
        author_name=DISK.name, written_revision=1, written_sha256=seen.digest, disk_secrets=seen.secrets, stat=stat.mark,
    )  # fmt: skip


def _as_first_revision(file: File, content: bytes) -> Revision:
    return Revision(
        space_id=file.space_id, file=file, number=1, kind="create", path=file.path, content=content, size=len(content),
        sha256=file.sha256, added=content.count(b"\n"), reason="Found on disk", created_at=file.created_at, **DISK.as_fields(),
    )  # fmt: skip
