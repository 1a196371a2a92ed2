"""Texts on disk that the hub did not write: each becomes a revision, merged with ours where that waits to be written."""

from __future__ import annotations

from memoryhub.domain import activity
from memoryhub.domain.files import revisions
from memoryhub.domain.files.disk.marks import DiskText
from memoryhub.models import DISK, HUB, Actor, File, Revision, Space
from memoryhub.text.lines import bytes_of, text_of
from memoryhub.text.merge import merge3


def record_conflict(space: Space, file: File, seen: DiskText | None, *, was_pending: bool) -> None:
    """Record a text that was found on disk; None is a deletion. The row is locked.

    `was_pending`: a revision of the hub was not written yet. Then both changes are merged where they do not touch; else the
    hub's text is repeated on top of the disk's.
    """
    ours = revisions.newest_text(file) if was_pending and not file.is_deleted else None
    ours_deleted = file.is_deleted
    number = file.revision
    base = common_base(file, file.written_revision)
    # What stands on disk was made of the text that was written last, not of the one that waits to be written.
    based_on = file.written_revision if was_pending else None
    from_disk = record_disk_text(space, file, seen, based_on=based_on)
    file.disk_secrets = seen.secrets if seen else []
    if not was_pending or file.written_revision is None:
        # No revision of ours waits, or ours never was on disk: the disk's text is the newest, ours stays in the history.
        file.written_revision, file.written_sha256 = file.revision, seen.digest if seen else ""
        file.save(update_fields=["written_revision", "written_sha256", "disk_secrets"])
        return
    file.written_sha256 = seen.digest if seen else ""
    file.save(update_fields=["disk_secrets"])
    if ours_deleted:
        record_again(space, file, b"", number, "The file was deleted here while it changed on disk", deleted=True)
    else:
        merge_or_record_again(space, file, ours, number, base, seen, from_disk)


def merge_or_record_again(
    space: Space, file: File, ours: bytes | None, number: int, base: bytes | None, seen: DiskText | None, from_disk: Revision
) -> bool:  # fmt: skip
    """Make a merge of our text and the disk's the newest revision, or our revision `number` again where they touch.

    Answers whether they were merged. `ours` is None where our revision is a deletion; `from_disk` is that of `seen`.
    """
    theirs = seen.text if seen else None
    merged = _merged_text(base, ours, theirs) if ours is not None else None
    if merged is not None:
        reason = f"Revision {number} and what changed on disk (revision {from_disk.number}) put together"
        revisions.record_revision(space, file, HUB, merged, reason=reason, before=theirs, merged_with=number)
        return True
    reason = f"Revision {number} stays; what stood on disk meanwhile is revision {from_disk.number}"
    record_again(space, file, ours or b"", number, reason, deleted=ours is None)
    return False


def common_base(file: File, number: int | None) -> bytes | None:
    """The text that hub and disk both started from, which is the last one written; None if there was none."""
    if not number:
        return None
    revision = revisions.get_revision(file, number)
    return None if revision.is_deleted else bytes(revision.content)


def _merged_text(base: bytes | None, ours: bytes, theirs: bytes | None) -> bytes | None:
    if base is None or theirs is None or any(b"\x00" in text for text in (base, ours, theirs)):
        return None
    merge = merge3(text_of(base), text_of(ours), text_of(theirs))
    return None if merge.conflicts else bytes_of(merge.text)


def record_disk_text(
    space: Space, file: File, seen: DiskText | None, *, based_on: int | None = None, reason: str = ""
) -> Revision:
    """Record a text of the disk as the newest revision, with a line of activity; None is a deletion.

    `based_on` is the revision that it changed, where that is not the newest.
    """
    if seen is None:
        revision = revisions.record_revision(
            space, file, DISK, b"", kind="delete", reason="Deleted on disk", is_deleted=True
        )
        says = "deleted"
    else:
        kind = "write" if file.revision and not file.is_deleted else "create"
        reason = reason or ("Changed on disk" if kind == "write" else "Found on disk")
        revision = revisions.record_revision(space, file, DISK, seen.text, kind=kind, reason=reason, based_on=based_on)
        says = "changed" if kind == "write" else "brought"
    activity.record_line(revisions.revision_line(space, DISK, f"files.{revision.kind}", says, revision))
    return revision


def record_again(space: Space, file: File, text: bytes, number: int, reason: str, deleted: bool = False) -> None:
    """Make the text of revision `number` the newest again, in the name of whoever made that revision."""
    original = revisions.get_revision(file, number)
    actor = Actor(original.actor_kind, original.actor_id, original.actor_name)
    kind = "delete" if deleted else "restore"
    revisions.record_revision(
        space, file, actor, text, kind=kind, reason=reason, restored_from=number, is_deleted=deleted,
        approval=revisions.approval_of(original),
    )  # fmt: skip


def record_late_text(space: Space, file: File, seen: DiskText) -> None:
    """Record a displaced text that no revision has below the newest revision, which is then recorded again."""
    newest, number, deleted = revisions.newest_text(file), file.revision, file.is_deleted
    was_written = file.written_revision == file.revision
    from_disk = record_disk_text(space, file, seen)
    if number:
        reason = f"Revision {number} stays; revision {from_disk.number} stood on disk when it was written"
        record_again(space, file, newest, number, reason, deleted=deleted)
    if was_written:
        file.written_revision = file.revision
        file.save(update_fields=["written_revision"])
