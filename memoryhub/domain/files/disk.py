"""Keeping disk and hub in step: what is new on disk becomes a revision, what is new in the hub is written.

One rule for saves, reads, the watcher and the start: lock the file's row, look at the disk, take in what is not known,
write the newest revision, and take in what that write displaced. A disk text that equals the last written one
only means "not written yet".
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils import timezone

from memoryhub.db import fragments, statements
from memoryhub.domain import activity, jobs
from memoryhub.domain.files import revisions
from memoryhub.domain.files.mounts import MOUNT_COLUMNS, Place, cached_mount, place_in_mount
from memoryhub.domain.files.revisions import sha_of
from memoryhub.errors import HubError, NotFound, Unavailable
from memoryhub.models import DISK, HUB, Actor, File, Job, Revision, Space
from memoryhub.stores import FilesystemStore
from memoryhub.stores.disk import FileContent, WriteResult
from memoryhub.text.lines import bytes_of, text_of
from memoryhub.text.merge import merge3

log = logging.getLogger("memoryhub.files")
MAX_ROUNDS = 8  # a writer who replaces the file at every step is given up on; the next touch goes on
KEEP_DISPLACED_SECONDS = 2.0  # how long a displaced text is kept for whoever still had it open


COLUMNS = [field.attname for field in File._meta.concrete_fields]
_NAMES = ", ".join("stat::text" if name == "stat" else name for name in COLUMNS)
LOCK_ROW = f"SELECT {_NAMES} FROM memoryhub_file WHERE space_id = %s AND path = %s AND thread_id = %s FOR UPDATE"  # noqa: S608
# A row of one's own is locked by being new; nothing comes back when somebody else made it at the same moment.
INSERT_ROW = f"""
INSERT INTO memoryhub_file (space_id, path, thread_id, created_at, modified_at, used_at, revision, is_deleted, size, sha256,
  author_kind, author_name, written_sha256, problem)
VALUES (%s, %s, %s, %s, %s, %s, 0, false, 0, '', '', '', '', '') ON CONFLICT DO NOTHING RETURNING {_NAMES}
"""  # noqa: S608 (only names of columns are put in)


def lock_file(space: Space, path: str, thread_id: str = "") -> File:
    """The row of a file, locked until the transaction ends; a new path gets one."""
    key = (space.pk, path, thread_id)
    rows = (
        statements.rows(LOCK_ROW, key)
        or statements.rows(INSERT_ROW, [*key, *[timezone.now()] * 3])
        or statements.rows(LOCK_ROW, key)
    )
    return _file_from_row(rows[0])


def _file_from_row(values: Sequence[Any]) -> File:
    file = File.from_db(DEFAULT_DB_ALIAS, COLUMNS, values)
    file.stat = json.loads(file.stat) if file.stat else None
    return file


def is_written(file: File) -> bool:
    return file.written_revision == file.revision and not file.problem


def sync_file(space: Space, path: str, place: Place, thread_id: str = "") -> File | None:
    """Bring one file and its place in step; nothing if it is neither in the hub nor on disk."""
    with transaction.atomic():
        known = File.objects.within(space).filter(path=path, thread_id=thread_id).exists()
        if not known and (not isinstance(place.store, FilesystemStore) or place.store.stat(place.relative) is None):
            return None
        file = lock_file(space, path, thread_id)
        pull_from_disk(space, file, place)
        write_to_disk(space, file, place)
        if not file.revision:
            file.delete()
            if file.problem:
                raise disk_error(file, place)
            return None
    return file


def disk_error(file: File, place: Place) -> HubError:
    """Why what lies on disk cannot be taken in; writing over it unseen is not an option either."""
    assert isinstance(place.store, FilesystemStore)
    try:
        place.store.read(place.relative)
    except HubError as error:
        return error
    return Unavailable(file.problem, code="disk_error", path=file.path)


def is_unreadable(file: File) -> bool:
    """A revision that is not on disk yet is published all the same; what cannot be read there is not."""
    return bool(file.problem) and not file.problem.startswith("Revision ")


def pull_from_disk(space: Space, file: File, place: Place) -> None:
    """Record what lies on disk and is not known; the row is locked."""
    if not isinstance(place.store, FilesystemStore):
        return
    found = read_disk(file, place)
    if found is None and file.problem:
        return
    content = found.content if found else None
    sha = sha_of(content) if content is not None else ""
    if sha == file.written_sha256 and file.written_revision is not None:
        _note_stat(file, found)
    elif file.revision and sha == file.sha256:
        _mark_written(file, found)
    elif sha != file.written_sha256:
        record_conflict(
            space, file, content, was_pending=bool(file.revision) and file.written_revision != file.revision
        )
        if is_written(file):
            _mark_written(file, found)


def read_disk(file: File, place: Place) -> FileContent | None:
    """What lies on disk. What cannot be read for what it is becomes the file's problem; a sick disk is raised."""
    assert isinstance(place.store, FilesystemStore)
    try:
        found = place.store.read(place.relative)
    except NotFound:
        _clear_problem(file)
        return None
    except HubError as error:
        if error.status == 503 and error.code != "disk_error":
            raise
        _set_problem(file, error.message)
        return None
    _clear_problem(file)
    return found


def _set_problem(file: File, sentence: str) -> None:
    if file.problem != sentence[:300]:
        file.problem, file.stat = sentence[:300], None
        file.save(update_fields=["problem", "stat"])


def _clear_problem(file: File) -> None:
    if file.problem:
        file.problem = ""
        file.save(update_fields=["problem"])


def _note_stat(file: File, found: FileContent | None) -> None:
    """The bytes are known; the stat may be new (touched, or settled since). Where a write waits it brings its own."""
    mark = found.stat.mark if found else None
    if file.stat != mark:
        file.stat = mark
        if is_written(file):
            file.save(update_fields=["stat"])


def _mark_written(file: File, found: FileContent | None) -> None:
    file.written_revision, file.written_sha256 = file.revision, file.sha256
    file.stat = found.stat.mark if found else None
    file.problem = ""
    file.save(update_fields=["written_revision", "written_sha256", "stat", "problem"])


def record_conflict(space: Space, file: File, content: bytes | None, *, was_pending: bool) -> None:
    """A text that the hub did not write becomes a revision. If a revision of the hub still waits to be written, both
    changes are put together where they do not touch; else the hub's text stays on top, the disk's is kept below it."""
    ours = revisions.newest_text(file) if was_pending and not file.is_deleted else None
    ours_deleted = file.is_deleted
    number = file.revision
    base = common_base(file, file.written_revision)
    seen = record_disk_text(space, file, content)
    if not was_pending or file.written_revision is None:
        # Nothing of ours waits, or ours never was there: what lies there counts, ours stays in the history.
        file.written_revision, file.written_sha256 = file.revision, file.sha256
        file.save(update_fields=["written_revision", "written_sha256"])
        return
    file.written_sha256 = seen.sha256 if not seen.is_deleted else ""
    if ours_deleted:
        record_again(space, file, b"", number, "The file was deleted here while it changed on disk", deleted=True)
        return
    assert ours is not None
    merged = merged_text(base, ours, content)
    if merged is not None:
        reason = f"Revision {number} and what changed on disk (revision {seen.number}) put together"
        revisions.record_revision(space, file, HUB, merged, reason=reason, before=content)
    else:
        reason = f"Revision {number} stays; what stood on disk meanwhile is revision {seen.number}"
        record_again(space, file, ours, number, reason)


def common_base(file: File, number: int | None) -> bytes | None:
    """The text that both sides started from, the one last written, if there was one."""
    if not number:
        return None
    revision = revisions.get_revision(file, number)
    return None if revision.is_deleted else bytes(revision.content)


def merged_text(base: bytes | None, ours: bytes, theirs: bytes | None) -> bytes | None:
    if base is None or theirs is None or any(b"\x00" in text for text in (base, ours, theirs)):
        return None
    merge = merge3(text_of(base), text_of(ours), text_of(theirs))
    return None if merge.conflicts else bytes_of(merge.text)


def record_disk_text(space: Space, file: File, content: bytes | None) -> Revision:
    if content is None:
        revision = revisions.record_revision(
            space, file, DISK, b"", kind="delete", reason="Deleted on disk", is_deleted=True
        )
        says = "deleted"
    else:
        kind = "write" if file.revision and not file.is_deleted else "create"
        reason = "Changed on disk" if kind == "write" else "Found on disk"
        revision = revisions.record_revision(space, file, DISK, content, kind=kind, reason=reason)
        says = "changed" if kind == "write" else "brought"
    note_revision(space, DISK, f"files.{revision.kind}", says, revision)
    return revision


def record_again(space: Space, file: File, text: bytes, number: int, reason: str, deleted: bool = False) -> None:
    original = revisions.get_revision(file, number)
    actor = Actor(original.actor_kind, original.actor_id, original.actor_name)
    kind = "delete" if deleted else "restore"
    revisions.record_revision(
        space, file, actor, text, kind=kind, reason=reason, restored_from=number, is_deleted=deleted
    )


def note_revision(space: Space, actor: Actor, verb: str, says: str, revision: Revision, adds: str = "") -> None:
    """One line of activity for a revision."""
    activity.record_line(revision_line(space, actor, verb, says, revision, adds))


def revision_line(
    space: Space, actor: Actor, verb: str, says: str, revision: Revision, adds: str = ""
) -> activity.Line:
    """The same, not written yet."""
    aside = f"r{revision.number}" + (
        f" +{revision.added} −{revision.removed}" if revision.added or revision.removed else ""
    )
    url = f"files/{revision.path.lstrip('/')}?view=diff&to={revision.number}"
    return activity.make_line(
        space, actor, verb, says, revision.path, url=url, adds=adds, aside=aside, path=revision.path
    )


# ---- writing


def write_to_disk(space: Space, file: File, place: Place, known: tuple[int, bytes] | None = None) -> None:
    """Write the newest revision where it belongs, and take in what that displaced; the row is locked. `known` is a revision
    whose text the caller has at hand."""
    if not isinstance(place.store, FilesystemStore):
        if file.written_revision != file.revision:
            _mark_written(file, None)
        return
    for _ in range(MAX_ROUNDS):
        if file.problem or not file.revision or file.written_revision == file.revision:
            return
        try:
            placed = _write_newest(file, place, known)
        except HubError as error:
            _set_problem(file, _unwritten_problem(file, error))
            return
        _after_write(space, file, place, placed)
    if file.written_revision != file.revision:
        _set_problem(file, f"Revision {file.revision} is not written: something else keeps replacing the file on disk.")


def _unwritten_problem(file: File, error: HubError) -> str:
    return f"Revision {file.revision} is not on disk yet. {error.message}"


def _write_newest(file: File, place: Place, known: tuple[int, bytes] | None) -> WriteResult:
    assert isinstance(place.store, FilesystemStore)
    if file.is_deleted:
        try:
            return place.store.remove(place.relative)
        except NotFound:
            return WriteResult(None, None)
    text = known[1] if known and known[0] == file.revision else revisions.newest_text(file)
    return place.store.put(place.relative, text)


MARK_WRITTEN = (
    "UPDATE memoryhub_file SET written_revision = %s, written_sha256 = %s, stat = %s WHERE id = %s RETURNING id"
)


def _after_write(space: Space, file: File, place: Place, placed: WriteResult) -> None:
    expected, written_before = file.written_sha256, file.written_revision
    number = file.revision
    displaced = placed.displaced
    file.written_revision, file.written_sha256 = file.revision, file.sha256
    file.stat = placed.stat.mark if placed.stat else None
    mark = None if file.stat is None else statements.Json(file.stat)
    written = statements.Change(MARK_WRITTEN, [file.written_revision, file.written_sha256, mark, file.pk])
    statements.together(written, *([_reread_later(space, file, placed.leftover)] if placed.leftover else []))
    if displaced is None or sha_of(displaced) in (expected, file.sha256):
        return
    # It slipped in between the look and the exchange: kept, and put together with ours if they do not touch.
    base = common_base(file, written_before)
    ours = None if file.is_deleted else revisions.newest_text(file)
    seen = record_disk_text(space, file, displaced)
    merged = merged_text(base, ours, displaced) if ours is not None else None
    if merged is not None:
        reason = f"Revision {number} and what changed on disk (revision {seen.number}) put together"
        revisions.record_revision(space, file, HUB, merged, reason=reason, before=displaced)
    else:
        reason = f"Revision {number} stays; what stood on disk meanwhile is revision {seen.number}"
        record_again(space, file, ours or b"", number, reason, deleted=ours is None)
        file.written_revision = file.revision
    file.written_sha256 = sha_of(ours) if ours is not None else ""
    file.save(update_fields=["written_revision", "written_sha256"])


def _reread_later(space: Space, file: File, leftover: str) -> statements.Change:
    """Who had the displaced file open may still write into it: it is read once more before it goes."""
    when = timezone.now() + timedelta(seconds=KEEP_DISPLACED_SECONDS)
    return jobs.enqueue_as_change("files.forget", {"file": file.pk, "name": leftover}, space=space, run_after=when)


@jobs.job("files.forget")
def delete_displaced(job: Job, progress: jobs.Progress) -> None:
    from memoryhub.domain.files.watch import delete_displaced

    file = File.objects.select_related("space").filter(pk=job.payload["file"]).first()
    if file is not None:
        delete_displaced(file, job.payload["name"])


# The row, locked, with the mount that its path leads to.
LOCK_WITH_MOUNT = f"""
SELECT {", ".join("f.stat::text" if name == "stat" else f"f.{name}" for name in COLUMNS)},
  {", ".join(f"m.{name}" for name in MOUNT_COLUMNS)}
FROM memoryhub_file f LEFT JOIN LATERAL ({fragments.mount_of("f.path", "f.space_id")}) m ON true
WHERE f.id = %s FOR UPDATE OF f
"""  # noqa: S608 (only names of columns are put in)


def push_revision(space: Space, file_id: int, number: int, text: bytes) -> None:
    """The second transaction of every save: bring the file's place in step, where this is still its newest revision with the
    text at hand. What fails stays marked, nothing is lost."""
    with transaction.atomic():
        rows = statements.rows(LOCK_WITH_MOUNT, [file_id])
        if not rows or rows[0][len(COLUMNS)] is None:
            return
        file, leads = _file_from_row(rows[0][: len(COLUMNS)]), rows[0][len(COLUMNS) :]
        place = place_in_mount(cached_mount(space.pk, *leads), file.path)
        try:
            pull_from_disk(space, file, place)
            write_to_disk(space, file, place, (number, text))
        except HubError as error:
            _set_problem(file, _unwritten_problem(file, error))


def push_after_commit(space: Space, file: File, text: bytes) -> None:
    file_id, number = file.pk, file.revision
    transaction.on_commit(lambda: push_revision(space, file_id, number, text))
