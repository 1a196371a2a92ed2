"""Keeping disk and hub in step: what is new on disk becomes a revision, what is new in the hub is written.

Saves, reads, the watcher and the start do the same: lock the file's row, read the disk, record a text that is not known,
write the newest revision, and record a text that this write displaced. A text on disk that equals the last written one
only means that the newest revision is not written yet.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from memoryhub.db import fragments, statements
from memoryhub.domain import jobs, spaces
from memoryhub.domain.files import revisions
from memoryhub.domain.files.disk import arrivals, conflicts, marks, problems
from memoryhub.domain.files.disk.marks import DiskText
from memoryhub.domain.files.mounts import (
    MOUNT_COLUMNS,
    Place,
    cached_mount,
    find_mount,
    mounts_of_space,
    place_in_mount,
    why_waiting,
)
from memoryhub.domain.files.revisions import AS_JSON, COLUMNS
from memoryhub.errors import HubError, NotFound
from memoryhub.models import HUB, File, Mount, Space
from memoryhub.stores import ElsewhereStore, FilesystemStore
from memoryhub.stores.disk import FileContent, WriteResult
from memoryhub.stores.selection import LeftOut

log = logging.getLogger("memoryhub.files")
MAX_ROUNDS = 8  # writes in a row, when another program replaces the file each time; the next read or save tries again
KEEP_DISPLACED_SECONDS = 2.0  # how long a displaced file stays, for programs that still have it open


def is_written(file: File) -> bool:
    """Whether the newest revision is on disk, and the disk can be read."""
    return file.written_revision == file.revision and not file.problem


def sync_file(space: Space, path: str, place: Place) -> File | None:
    """Bring one file and its disk in step; None if it is neither in the hub nor on disk."""
    with transaction.atomic():
        in_hub = File.objects.within(space).filter(path=path, thread_id="").exists()
        if not in_hub and not (isinstance(place.store, FilesystemStore) and _takes_new(place, place.store)):
            return None
        file = revisions.lock_file(space, path)
        if why := place.why_out():
            leave_out(space, file, why)
            return None
        pull_from_disk(space, file, place)
        write_to_disk(space, file, place)
        if not file.revision:
            if not (file.held or file.put_backs):  # what is held keeps its row
                file.delete()
            if file.problem:
                raise problems.disk_error(file, place)
            return None
    return file


def _takes_new(place: Place, store: FilesystemStore) -> bool:
    """Whether a file that the hub does not have lies there and is taken in."""
    stat = store.stat(place.relative)
    if marks.has_secret_name(place.relative):
        return False
    return stat is not None and not place.mount.is_full and not place.why_out(stat)


def leave_out(space: Space, file: File, why: LeftOut) -> None:
    """Take a file out of lists and prompts that its mount leaves out now; its history stays, and so does the disk. The row is
    locked."""
    if file.revision and not file.is_deleted:
        says = f"Left out of the mount: {why.why}"
        revisions.record_revision(space, file, HUB, b"", kind="delete", reason=says, is_deleted=True, in_place=True)
    if file.held:
        arrivals.release(space, file, f"Left out of the mount: {why.why}")
    if not file.revision:
        file.delete()
    elif file.written_revision != file.revision or file.written_sha256 or file.problem:
        mark_written(file, None, None)


def pull_from_disk(space: Space, file: File, place: Place) -> None:
    """Record the text on disk as a revision if the hub does not know it. The row is locked."""
    if not isinstance(place.store, FilesystemStore):
        return
    found = read_disk(file, place)
    if found is None and file.problem:
        return
    is_decided = bool(file.held) and not is_written(file)  # the hub has a newer text than the one that is held
    if file.written_revision is not None and not is_decided and _is_last_seen(file, found):
        _note_stat(file, found)
        return
    seen = marks.take_in(space, found.content) if found else None
    if file.revision and (seen.sha256 if seen else "") == file.sha256:
        if not is_decided:
            arrivals.release(space, file, "The file on disk is back at the approved text.")
        mark_written(file, found, seen)
    elif (seen.digest if seen else "") != file.written_sha256:
        arrivals.record_arrival(space, file, place, seen, found.stat.mark if found else None)
        if not file.held and is_written(file):
            mark_written(file, found, seen)


def _is_last_seen(file: File, found: FileContent | None) -> bool:
    """Whether the bytes on disk are those of the last look, or there is no file as there was none."""
    return not file.written_sha256 if found is None else marks.is_known(file.written_sha256, found.content)


def read_disk(file: File, place: Place) -> FileContent | None:
    """The file on disk, None if there is none. What is no readable file becomes the file's problem; an unavailable disk is
    raised."""
    assert isinstance(place.store, FilesystemStore)
    try:
        found = place.store.read(place.relative)
    except NotFound:
        problems.clear_problem(file)
        return None
    except HubError as error:
        if error.status == 503 and error.code != "disk_error":
            raise
        if error.code == "is_directory" and file.is_deleted:  # a folder took its place, and no file is there
            problems.clear_problem(file)
            return None
        problems.set_problem(file, error.message)
        return None
    problems.clear_problem(file)
    return found


def _note_stat(file: File, found: FileContent | None) -> None:
    """Store the stat of known bytes, which may be new (touched). Where a write waits, the write will store its own."""
    mark = found.stat.mark if found else None
    if file.stat != mark:
        file.stat = mark
        if is_written(file):
            file.save(update_fields=["stat"])


def mark_written(file: File, found: FileContent | None, seen: DiskText | None) -> None:
    """Note that disk and hub are in step; `seen` is what was taken in of the disk, None for no file."""
    file.written_revision, file.written_sha256 = file.revision, seen.digest if seen else file.sha256
    file.disk_secrets = seen.secrets if seen else []
    file.stat = found.stat.mark if found else None
    file.problem, file.held, file.held_proposal, file.put_backs = "", "", None, 0
    file.save(update_fields=[*arrivals.HELD_COLUMNS, "problem"])


# ---- writing


def write_to_disk(space: Space, file: File, place: Place, at_hand: tuple[int, bytes] | None = None) -> None:
    """Write the newest revision to the disk, and record a text that this displaced. The row is locked.

    `at_hand` is a revision whose text the caller has at hand: its number and text. Files of other stores are only marked, and what
    lies in a directory of another node waits for that.
    """
    if not isinstance(place.store, FilesystemStore):
        if file.written_revision != file.revision and not place.store.on_disk:
            mark_written(file, None, None)
        return
    displaced: DiskText | None = None
    for _ in range(MAX_ROUNDS):
        if file.problem or not (file.revision or file.held) or file.written_revision == file.revision:
            return
        try:
            placed, written = _write_newest(space, file, place, at_hand, displaced)
        except HubError as error:
            problems.note_unwritten(file, error.message)
            return
        displaced = _after_write(space, file, place, placed, written)
    if file.written_revision != file.revision:
        problems.note_unwritten(file, "Something else keeps replacing the file.")


def _write_newest(
    space: Space, file: File, place: Place, at_hand: tuple[int, bytes] | None, displaced: DiskText | None
) -> tuple[WriteResult, DiskText | None]:
    """Put the newest revision on disk, with the secrets that stand there; answers what was written, None for a deletion.

    `displaced` is what the write before took away: its secrets have to come back.
    """
    assert isinstance(place.store, FilesystemStore)
    secrets = file.disk_secrets or (displaced.secrets if displaced else [])
    if not arrivals.exists(file):
        marks.check_marks(file.path, secrets, b"", None)
        try:
            return place.store.remove(place.relative), None
        except NotFound:
            return WriteResult(None, None), None
    text = at_hand[1] if at_hand and at_hand[0] == file.revision else revisions.newest_text(file)
    written = _with_secrets(space, file, place, text, displaced) if secrets else DiskText(text, text, file.sha256, [])
    return place.store.put(place.relative, written.raw), written


def _with_secrets(space: Space, file: File, place: Place, text: bytes, displaced: DiskText | None) -> DiskText:
    """The text as it has to stand on disk: with the secrets that are there, at their marks."""
    assert isinstance(place.store, FilesystemStore)
    if displaced and displaced.secrets:
        try:
            return marks.take_in(space, marks.compose(space, file.path, text, displaced.raw))
        except HubError:
            place.store.put(place.relative, displaced.raw)  # nobody else has what it holds
            raise
    return marks.take_in(space, marks.compose(space, file.path, text, place.store.read(place.relative).content))


MARK_WRITTEN = """
UPDATE memoryhub_file SET written_revision = %s, written_sha256 = %s, stat = %s, disk_secrets = %s, held = '',
  held_proposal = NULL WHERE id = %s RETURNING id
"""


def _after_write(
    space: Space, file: File, place: Place, placed: WriteResult, written: DiskText | None
) -> DiskText | None:
    """Mark the newest revision as written. A text that came onto the disk between reading and writing is recorded, and
    answered."""
    expected, written_before = file.written_sha256, file.written_revision
    number = file.revision
    file.written_revision, file.written_sha256 = file.revision, written.digest if written else ""
    file.disk_secrets = written.secrets if written else []
    file.stat = placed.stat.mark if placed.stat else None
    mark = None if file.stat is None else statements.Json(file.stat)
    values = [file.written_revision, file.written_sha256, mark, statements.Json(file.disk_secrets), file.pk]
    change = statements.Change(MARK_WRITTEN, values)
    statements.together(change, *([_reread_later(space, file, placed.leftover)] if placed.leftover else []))
    if file.held_proposal:
        spaces.send_event("disk_put_back", space, file.held_proposal)
    file.held, file.held_proposal = "", None
    if placed.displaced is None or any(
        marks.is_known(sha, placed.displaced) for sha in (expected, file.written_sha256)
    ):
        return None
    displaced = marks.take_in(space, placed.displaced)
    if arrivals.record_displaced(space, file, place, displaced):
        return None
    base = conflicts.common_base(file, written_before)
    ours = None if file.is_deleted else revisions.newest_text(file)
    from_disk = conflicts.record_disk_text(space, file, displaced, based_on=written_before)
    merged = conflicts.merge_or_record_again(space, file, ours, number, base, displaced, from_disk)
    if not merged and not displaced.secrets:
        file.written_revision = file.revision  # our text is on disk already
    file.save(update_fields=["written_revision"])
    return displaced


def _reread_later(space: Space, file: File, leftover: str) -> statements.Change:
    """The job that reads a displaced file once more before it is deleted: a program that has it open may still write."""
    when = timezone.now() + timedelta(seconds=KEEP_DISPLACED_SECONDS)
    return jobs.enqueue_as_change("files.forget", {"file": file.pk, "name": leftover}, space=space, run_after=when)


# The row, locked, with the mount of its path.
LOCK_WITH_MOUNT = f"""
SELECT {", ".join(f"f.{name}::text" if name in AS_JSON else f"f.{name}" for name in COLUMNS)},
  {", ".join(f"m.{name}" for name in MOUNT_COLUMNS)}
FROM memoryhub_file f LEFT JOIN LATERAL ({fragments.mount_of("f.path", "f.space_id")}) m ON true
WHERE f.id = %s FOR UPDATE OF f
"""  # noqa: S608 (only names of columns are put in)


def push_revision(space: Space, file_id: int, number: int, text: bytes) -> str:
    """The second transaction of every save: write the file's newest revision to the disk; `text` is that of revision `number`.

    A failure is noted on the file, and the next read or save tries again. Answers why it is not on disk yet; empty if it is.
    """
    with transaction.atomic():
        rows = statements.rows(LOCK_WITH_MOUNT, [file_id])
        if not rows or rows[0][len(COLUMNS)] is None:
            return ""
        file, mount = revisions.file_from_row(rows[0][: len(COLUMNS)]), rows[0][len(COLUMNS) :]
        place = place_in_mount(cached_mount(space.pk, *mount), file.path)
        if place.why_out():  # a pattern changed meanwhile
            return ""
        if isinstance(place.store, ElsewhereStore):
            problems.note_unwritten(file, why_waiting(_whole_mount(space, file)))
            return file.problem
        try:
            pull_from_disk(space, file, place)
            write_to_disk(space, file, place, (number, text))
        except HubError as error:
            problems.note_unwritten(file, error.message)
    return file.problem if file.written_revision != file.revision else ""


def _whole_mount(space: Space, file: File) -> Mount:
    mount = find_mount(mounts_of_space(space), file.path)
    assert mount is not None, "its place was found just now"
    return mount


def push_after_commit(space: Space, file: File, text: bytes) -> None:
    """Write the newest revision of a file, whose text is given, once the transaction has committed; `file.problem` says then why
    it could not be."""
    file_id, number = file.pk, file.revision

    def push() -> None:
        file.problem = push_revision(space, file_id, number, text)

    transaction.on_commit(push)
