"""Keeping whole mounts in step with their disks: scans, the watcher, retries, and files that earlier writes left behind."""

from __future__ import annotations

import logging
import os
import threading
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from watchfiles import Change
from watchfiles import watch as watch_disk

from memoryhub.domain import jobs
from memoryhub.domain.files.disk import arrivals
from memoryhub.domain.files.disk.handover import mounts_of_this_node, write_waiting
from memoryhub.domain.files.disk.intake import folders_taken_in, leave_out_known, record_new_files, taken_files
from memoryhub.domain.files.disk.leftovers import recover_leftovers
from memoryhub.domain.files.disk.put_backs import agree_on_put_backs
from memoryhub.domain.files.disk.sync import is_written, sync_file
from memoryhub.domain.files.mounts import find_mount, intake_of, is_inside, is_mine, mounts_of_space, place_in_mount
from memoryhub.errors import Conflict, HubError, NotFound
from memoryhub.models import File, Job, Mount, Space
from memoryhub.stores import FilesystemStore, ThreadStore, ignore_files, paths
from memoryhub.stores.disk import problem

log = logging.getLogger("memoryhub.files")
TICK_SECONDS = 2.0  # the longest wait for the first look after a watch began
RESCAN_SECONDS = 30.0  # after which the watcher compares mounts and directories with its own list
SHARED_RESCAN_SECONDS = 5.0  # where several nodes share the database


_first_looks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)  # by mount


def sync_path(space: Space, path: str) -> File | None:
    """Bring a path in step whose file changed on disk; None if it is not on a disk."""
    mount = find_mount(mounts_of_space(space), path)
    if mount is None or mount.store != Mount.Store.FILESYSTEM:
        return None
    return sync_file(space, path, place_in_mount(mount, path))


def scan(space: Space, mount: Mount) -> int:
    """Bring all files of a mounted directory in step; answers how many changed. Names that no path can have are passed over."""
    store = place_in_mount(mount, mount.prefix).store
    if not isinstance(store, FilesystemStore):
        return 0
    _set_problem(mount, _root_problem(store))
    if mount.problem:
        return 0
    on_disk = {path: entry.stat for path, entry in taken_files(mount)}
    mounts = mounts_of_space(space)
    prefix = mount.prefix
    in_hub = _known_files(space, mount, mounts)
    changed = leave_out_known(space, mount, list(in_hub.values()))
    if not arrivals.handling_of(space, mount).taken_in:  # a first look; what is new later is a change of each file
        with _first_looks[mount.pk]:  # the watcher and a job look at once when the hub starts
            in_hub = _known_files(space, mount, mounts)
            new = [prefix + relative[1:] for relative in sorted(on_disk) if prefix + relative[1:] not in in_hub]
            changed += record_new_files(space, mount, [path for path in new if find_mount(mounts, path) == mount])
    in_hub = _known_files(space, mount, mounts)
    for path in sorted({prefix + relative[1:] for relative in on_disk} | set(in_hub)):
        file, stat = in_hub.get(path), on_disk.get("/" + path[len(prefix) :])
        if (
            _needs_sync(file, stat.mark if stat else None, exists=stat is not None)
            and find_mount(mounts, path) == mount
        ):
            changed += _sync_quietly(space, path, mount)
    # From now on, what differs on disk is a change.
    Mount.objects.filter(pk=mount.pk, taken_in_at=None).update(taken_in_at=timezone.now())
    return changed


def _known_files(space: Space, mount: Mount, mounts: list[Mount]) -> dict[str, File]:
    rows = File.objects.within(space).filter(path__startswith=mount.prefix, thread_id="")
    return {file.path: file for file in rows if find_mount(mounts, file.path) == mount}


def _needs_sync(file: File | None, mark: list[int] | None, *, exists: bool) -> bool:
    if file is None:
        return exists
    if not is_written(file):
        return True
    if file.held:
        return exists == (file.held == arrivals.DELETED) or (exists and (mark is None or file.stat != mark))
    return (mark is None or file.stat != mark) if exists else not file.is_deleted


def _sync_quietly(space: Space, path: str, mount: Mount) -> int:
    try:
        paths.clean(path)
        sync_file(space, path, place_in_mount(mount, path))
    except HubError as error:
        log.warning("%s", error.message)
        return 0
    return 1


def _root_problem(store: FilesystemStore) -> str:
    try:
        store.stat("/")
    except HubError as error:
        return error.message
    return ""


def _set_problem(mount: Mount, sentence: str) -> None:
    if mount.problem != sentence[:300]:
        mount.problem = sentence[:300]
        mount.save(update_fields=["problem"])


def retry_disk(space: Space, path: str) -> File:
    """Bring a file and its disk in step again, after a person removed the problem; Conflict if it is still there."""
    mount = find_mount(mounts_of_space(space), path)
    if mount is None:
        raise NotFound(f"Nothing is mounted at “{path}”.", code="no_mount")
    file = sync_file(space, path, place_in_mount(mount, path))
    if file is None:
        raise NotFound(f"File '{path}' not found", code="file_not_found")
    if file.problem:
        raise Conflict(file.problem, code="still_unwritten")
    return file


# ---- the background process


@jobs.background_thread("files.watch")
def watch(stop: threading.Event) -> None:
    """Sync what changes below mounted directories while the hub runs; at the start, what changed before."""
    recovered: set[int] = set()
    while not stop.is_set():
        mounts = mounts_of_this_node()
        directories = {mount.pk: _directory_identity(mount) for mount in mounts}
        agree_on_put_backs(mounts)  # before the first change is put back
        for mount in mounts:
            _scan_mount(mount, recovered)
        if any(directories.values()):
            _watch_folders(stop, mounts, directories)
        else:
            stop.wait(rescan_seconds())


_logged_problems: dict[int, str] = {}  # by mount: the problem that was logged last, so that each is logged once


def _scan_mount(mount: Mount, recovered: set[int]) -> None:
    """Scan one mount, the first time with what cut-off writes left. One with a problem is logged and passed over."""
    try:
        if mount.pk not in recovered:
            recover_leftovers(mount.space, mount)
            recovered.add(mount.pk)
        scan(mount.space, mount)
    except HubError as error:
        _set_problem(mount, error.message)
    except OSError as error:
        _set_problem(mount, problem(error, mount.directory, root=True).message)
    _log_problem(mount)


def _log_problem(mount: Mount) -> None:
    name = f"mount {mount.prefix} of {mount.space.slug}"
    if mount.problem and _logged_problems.get(mount.pk) != mount.problem:
        log.warning("%s is skipped for now: %s", name, mount.problem)
    elif not mount.problem and mount.pk in _logged_problems:
        log.info("%s is there again", name)
    _logged_problems[mount.pk] = mount.problem
    if not mount.problem:
        del _logged_problems[mount.pk]


def _directory_identity(mount: Mount) -> tuple[int, int] | None:
    """The device and inode of the mount's directory, None while it cannot be read. A directory that is made again has
    another identity, and has to be watched again."""
    try:
        found = os.stat(mount.directory)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if os.access(mount.directory, os.R_OK | os.X_OK) else None


def rescan_seconds() -> float:
    return SHARED_RESCAN_SECONDS if settings.SHARES_DATABASE else RESCAN_SECONDS


def _watch_folders(stop: threading.Event, mounts: list[Mount], directories: dict[int, tuple[int, int] | None]) -> None:
    """Watch the folders that are taken in, until the list of them changes or a mount changes, goes or comes back."""
    folders = {path for mount in mounts if directories[mount.pk] for path in _real_folders(mount)}
    events = watch_disk(
        *folders, watch_filter=None, stop_event=stop, recursive=False, ignore_permission_denied=True,
        rust_timeout=int(min(TICK_SECONDS, RESCAN_SECONDS) * 1000), yield_on_timeout=True, debounce=200, step=50,
        raise_interrupt=False,
    )  # fmt: skip
    watched = _as_watched(mounts)
    is_first, compared = True, time.monotonic()
    try:
        for changes in events:
            agree_on_put_backs(mounts)
            if is_first:  # what changed between the last scan and the start of this watch
                for mount in mounts:
                    _scan_mount(mount, {mount.pk})
                is_first = False
            for mount, path in _affected_paths(mounts, {path for _, path in changes}):
                _sync_quietly(mount.space, path, mount)
            if _changes_folders(mounts, folders, changes):
                return
            write_waiting(mounts)
            if (changes or time.monotonic() - compared >= rescan_seconds()) and _as_watched(
                mounts_of_this_node()
            ) != watched:
                return
            compared = time.monotonic() if changes else compared
    except FileNotFoundError:  # a folder was deleted just now: the next round sees it
        return
    except OSError as error:
        log.warning("Changes on disk are seen by scans alone for now: %s", error)
        stop.wait(RESCAN_SECONDS)


def _as_watched(mounts: list[Mount]) -> set[tuple[Any, ...]]:
    """What has to stay as it is for a watch to go on."""
    return {(m.pk, m.directory, m.prefix, m.selection, m.put_back, _directory_identity(m)) for m in mounts}


def _real_folders(mount: Mount) -> Iterator[str]:
    """The folders of a mounted directory that are taken in, as they are on disk."""
    root = os.path.realpath(mount.directory)
    for folder, _ in folders_taken_in(mount):
        spelled = FilesystemStore(root).spelled(folder.rstrip("/")) if not folder.isascii() else folder
        yield os.path.join(root, spelled.strip("/")).rstrip("/")


def _changes_folders(mounts: list[Mount], folders: set[str], changes: set[tuple[Change, str]]) -> bool:
    """Whether other folders have to be watched: one came or went, or a `.gitignore` file changed."""
    for kind, path in changes:
        if os.path.basename(path) == ignore_files.NAME or (kind == Change.deleted and path in folders):
            return True
        is_new = path not in folders and os.path.isdir(path) and not os.path.islink(path)
        if is_new and any(_takes_folder(mount, path) for mount in mounts):
            return True
    return False


def _takes_folder(mount: Mount, real_path: str) -> bool:
    root, taking = os.path.realpath(mount.directory), intake_of(mount)
    return taking is not None and is_inside(real_path, root) and not taking.leads_out(os.path.relpath(real_path, root))


def _affected_paths(mounts: list[Mount], changed: set[str]) -> Iterator[tuple[Mount, str]]:
    """The virtual paths of files that changed on disk and are taken in, without the hub's own temporary files."""
    for real_path in sorted(changed):
        if os.path.basename(real_path).startswith(paths.TEMPORARY) or os.path.isdir(real_path):
            continue
        for mount in mounts:
            root, taking = os.path.realpath(mount.directory), intake_of(mount)
            if taking is None or not real_path.startswith(root + os.sep):
                continue
            relative = unicodedata.normalize("NFC", os.path.relpath(real_path, root))
            if not taking.why_named_out(relative):
                path = mount.prefix + relative
                if find_mount(mounts_of_space(mount.space), path) == mount:
                    yield mount, path


@jobs.job("files.scan_mount")
def scan_mount_job(job: Job, progress: jobs.Progress) -> None:
    """Scans a mount whose selection changed."""
    mount = Mount.objects.filter(pk=job.payload["mount"]).select_related("space").first()
    if mount is not None and is_mine(mount):  # another node sees the change by itself
        _scan_mount(mount, {mount.pk})


@jobs.periodic("files.expire_threads", every=timedelta(minutes=10))
def expire_threads(now: datetime | None = None) -> int:
    """Deletes files of threads that nobody used for a day, with their revisions; answers how many rows."""
    limit = (now or timezone.now()) - ThreadStore.keeps_for
    deleted, _ = File.objects.exclude(thread_id="").filter(used_at__lt=limit).delete()
    return deleted


def end_threads_of_run() -> int:
    """Deletes the files of mounts that end with the hub's run; called when it starts. Answers how many rows."""
    deleted = 0
    for space_id, prefix in Mount.objects.filter(store="thread", ends_with_run=True).values_list("space_id", "prefix"):
        found = File.objects.within(space_id).exclude(thread_id="").filter(path__startswith=prefix)
        deleted += found.delete()[0]
    return deleted


@jobs.periodic("files.scan", every=timedelta(minutes=5))
def scan_all() -> None:
    """Scans all mounts for what the watcher cannot see: network disks, a mount that was away."""
    for mount in mounts_of_this_node():
        _scan_mount(mount, set())
