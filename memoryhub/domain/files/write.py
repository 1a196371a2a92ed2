"""Reading and changing files so that no text is lost.

Every change locks the file's row, records what its disk has, checks, records the revision with a line of activity, and writes
to the disk after the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.utils import timezone

from memoryhub.db.prepared import prepared
from memoryhub.domain.files import mounts, revisions
from memoryhub.domain.files.change import (
    Guard,
    locked_change,
    record_change,
    save_if_changed,
    save_text,
)
from memoryhub.domain.files.disk import sync
from memoryhub.domain.files.disk.problems import disk_error, is_unreadable
from memoryhub.domain.files.mounts import Place
from memoryhub.domain.files.read import (
    ANYBODY,
    Published,
    PublishedRow,
    Reader,
    cached,
    changed_on_disk,
    published_rows,
    put_in_cache,
    read_view,
)
from memoryhub.errors import Conflict, HubError, Stale
from memoryhub.models import Actor, File, Mount, Revision, Space
from memoryhub.stores import paths
from memoryhub.stores.disk import MAX_BYTES, too_large
from memoryhub.stores.selection import columns_of
from memoryhub.text import edits
from memoryhub.text.lines import bytes_of, text_of
from memoryhub.text.merge import merge3

# ---- reading


def read(space: Space, path: str, *, thread_id: str = "") -> Published:
    """The published text of a file; what changed on disk is recorded first."""
    path = paths.clean(path)
    found = read_many(space, [path], thread_id=thread_id)[path]
    if isinstance(found, HubError):
        raise found
    return found


def read_many(
    space: Space,
    asked_paths: Iterable[str],
    *,
    thread_id: str = "",
    reader: Reader = ANYBODY,
) -> dict[str, Published | HubError]:
    """The published text of each path, or the error why there is none.

    One statement when nothing changed on disk. The answers are by path, in the order of the paths.
    """
    wanted = list(dict.fromkeys(asked_paths))
    answers = {row.path: answer for row, answer, _ in _answers(space, wanted, thread_id, reader)}
    return {path: answers[path] for path in wanted}


def published_now(
    space: Space, many: Iterable[str], *, thread_id: str = "", reader: Reader = ANYBODY
) -> dict[str, Published | HubError]:
    """What `read_many` answers, from the cache where it can be; `space` must have been read for this very call."""
    wanted = list(dict.fromkeys(many))
    found: dict[str, Published | HubError] = {path: one for path in wanted if (one := cached(space, path))}
    for row, answer, agreed in _answers(space, [path for path in wanted if path not in found], thread_id, reader):
        found[row.path] = answer
        if agreed and isinstance(answer, Published):
            put_in_cache(space, row, answer)
    return {path: found[path] for path in wanted}


def _answers(
    space: Space, wanted: list[str], thread_id: str, reader: Reader
) -> Iterator[tuple[PublishedRow, Published | HubError, bool]]:
    """Each path's row with its answer, after taking in what changed on disk, and whether the disk agreed at once."""
    rows = published_rows(space, wanted, thread_id) if wanted else []
    problems: dict[str, HubError] = {}
    again: set[str] = set()
    if stale := changed_on_disk(rows):
        problems = {row.path: problem for row in stale if (problem := _sync_row(space, row))}
        again = {row.path for row in stale}
        rows = [row for row in rows if row.path not in again] + published_rows(space, list(again), thread_id)
    _note_use(rows)
    for row in rows:
        answer = read_view(space, row, reader) if row.store == Mount.Store.VIEWS else row.answer()
        yield row, problems.get(row.path) or answer, row.path not in again


def _sync_row(space: Space, row: PublishedRow) -> HubError | None:
    """Bring one path in step with its disk; answers the error of a disk that cannot be read, so that no old text is served."""
    columns = {
        "prefix": row.prefix,
        "store": row.store,
        "directory": row.directory,
        "policy": row.policy,
        "node": row.node,
    }
    place = mounts.place_in_mount(Mount(space=space, **columns, **columns_of(row.selection)), row.path)
    try:
        file = sync.sync_file(space, paths.clean(row.path), place)
    except HubError as error:
        return error
    return disk_error(file, place) if file and is_unreadable(file) else None


def _note_use(rows: list[PublishedRow]) -> None:
    """Note that thread files were used, at most once an hour: they are deleted a day after their last use."""
    hour_ago = timezone.now() - timedelta(hours=1)
    used = [row.file_id for row in rows if row.store == Mount.Store.THREAD and row.file_id and row.used_at < hour_ago]
    if used:
        File.objects.filter(pk__in=used).update(used_at=timezone.now())


def exists(space: Space, path: str, *, thread_id: str = "") -> bool:
    """Whether a file can be read at this path."""
    try:
        read(space, path, thread_id=thread_id)
    except HubError:
        return False
    return True


FILE_ROW = prepared(
    lambda space, path, thread: File.objects.within(space).filter(path=path, thread_id=thread, revision__gt=0)
)


def file_row(space: Space, path: str, thread_id: str = "") -> File:
    """The row of a file that the hub knows, deleted or not."""
    file = FILE_ROW.first(space.pk, path, thread_id)
    if file is None:
        raise edits.file_not_found(path)
    return file


def why_unwritten(space: Space, path: str) -> str:
    """Why the newest revision of a file is not on disk yet; empty where it is, or has no place there."""
    waiting = File.objects.within(space).filter(path=path, thread_id="", problem__startswith="Revision ")
    return waiting.values_list("problem", flat=True).first() or ""


# ---- changing


def write(
    space: Space, actor: Actor, path: str, content: bytes, *, reason: str = "", if_match: str | None = None,
    base_revision: int | None = None, kind: str = "write", proposal: int | None = None, thread_id: str = "",
    must_be_new: bool = False, restored_from: int | None = None, approval: revisions.Approval | None = None,
    place: Place | None = None, guard: Guard | None = None, before: bytes | None = None, savepoint: bool = True,
) -> Revision:  # fmt: skip
    """Make this the text of a file. The actor is who wanted it; `approval` says who decided, where that was another.

    With an older `base_revision`, changes since then are merged where they do not touch; else `edit_conflict` is raised.
    `before` and `savepoint` are those of `locked_change`.
    """
    path = paths.clean(path)
    if len(content) > MAX_BYTES:
        raise too_large(path, len(content), MAX_BYTES)
    with locked_change(
        space, actor, path, thread_id, place, if_match, may_be_new=True, guard=guard, before=before, savepoint=savepoint
    ) as change:
        file = change.file
        if must_be_new and change.exists:
            raise Stale(f"File {path} already exists", code="file_exists", path=path)
        if base_revision is not None and base_revision != file.revision:
            content, reason = _merge_edit(file, content, base_revision, reason)
        if change.exists and content == change.before:
            sync.write_to_disk(space, file, change.place)
            return revisions.get_revision(file, file.revision)
        return save_text(
            change, content, kind=kind, reason=reason, proposal=proposal, restored_from=restored_from, approval=approval
        )


def _merge_edit(file: File, content: bytes, base_revision: int, reason: str) -> tuple[bytes, str]:
    """The content merged with the changes since its base revision, and the reason; refused where they touch."""
    if base_revision == 0 and not file.is_deleted:
        raise _edit_conflict(file, base_revision, "Somebody else created this file meanwhile.")
    if file.is_deleted:
        raise _edit_conflict(file, base_revision, "The file was deleted meanwhile.")
    base = revisions.content_of(file, base_revision)
    theirs = revisions.newest_text(file)
    if any(b"\x00" in text for text in (base, content, theirs)):
        raise _edit_conflict(file, base_revision, "It is not text, so the two versions cannot be merged.")
    merge = merge3(text_of(base), text_of(content), text_of(theirs))
    if merge.conflicts:
        count = "1 place" if merge.conflicts == 1 else f"{merge.conflicts} places"
        raise _edit_conflict(file, base_revision, f"Both of you changed {count}.")
    return bytes_of(merge.text), reason or f"Merged with revision {file.revision}"


def _edit_conflict(file: File, base_revision: int, explanation: str) -> Conflict:
    return Conflict(
        f"“{file.path}” changed since you opened it (revision {base_revision}, now {file.revision}). {explanation} "
        "Nothing is lost: both versions are shown.",
        code="edit_conflict",
        path=file.path,
        base_revision=base_revision,
        revision=file.revision,
    )


def edit(
    space: Space,
    actor: Actor,
    path: str,
    old: str,
    new: str,
    replace_all: bool = False,
    *,
    reason: str = "",
    if_match: str | None = None,
    proposal: int | None = None,
    thread_id: str = "",
    place: Place | None = None,
    guard: Guard | None = None,
) -> Revision:
    """Replace a string in a file by another, with the rules of agents' edit tools."""
    with locked_change(space, actor, path, thread_id, place, if_match, guard=guard) as change:
        content = bytes_of(edits.apply_edit(text_of(change.before), old, new, replace_all))
        return save_if_changed(change, content, reason, proposal)


def insert(
    space: Space, actor: Actor, path: str, line: int, text: str, *, reason: str = "", proposal: int | None = None,
    thread_id: str = "", place: Place | None = None, guard: Guard | None = None,
) -> Revision:  # fmt: skip
    """Insert text after a line of a file; 0 is the beginning."""
    with locked_change(space, actor, path, thread_id, place, guard=guard) as change:
        content = bytes_of(edits.apply_insert(text_of(change.before), line, text))
        return save_if_changed(change, content, reason, proposal)


def delete(
    space: Space, actor: Actor, path: str, *, reason: str = "", if_match: str | None = None, proposal: int | None = None,
    approval: revisions.Approval | None = None, thread_id: str = "", place: Place | None = None,
    guard: Guard | None = None, before: bytes | None = None, savepoint: bool = True,
) -> Revision:  # fmt: skip
    """Delete a file; its revisions stay, and it can be restored. `before` and `savepoint` are those of `locked_change`."""
    with locked_change(
        space, actor, path, thread_id, place, if_match, guard=guard, before=before, savepoint=savepoint
    ) as change:
        return record_change(
            change, b"", "files.delete", "deleted", kind="delete", reason=reason, proposal=proposal, is_deleted=True,
            approval=approval,
        )  # fmt: skip


def restore(
    space: Space, actor: Actor, path: str, number: int, *, reason: str = "", place: Place | None = None,
    instead_of: int | None = None,
) -> Revision:  # fmt: skip
    """Make an earlier text the newest again, as a new revision. As an undo of the revision `instead_of`, later changes stay:
    they are merged where they do not touch, else `edit_conflict` is raised."""
    path = paths.clean(path)
    earlier = revisions.get_revision(file_row(space, path), number)
    if earlier.is_deleted:
        raise Conflict(f"Revision {number} is a deletion: there is no text to restore.", code="nothing_to_restore")
    why = reason or f"Restored revision {number}"
    content = bytes(earlier.content)
    return write(
        space,
        actor,
        path,
        content,
        reason=why,
        kind="restore",
        restored_from=number,
        place=place,
        base_revision=instead_of,
    )
