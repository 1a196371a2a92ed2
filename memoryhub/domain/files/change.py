"""Changing a file so that no text is lost; every verb of `files` that changes something uses it.

Every change locks the file's row, records what its disk has, checks, records the revision with a line of activity, and writes
to the disk after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from memoryhub.db import statements
from memoryhub.domain import activity
from memoryhub.domain.files import mounts, revisions
from memoryhub.domain.files.disk import arrivals, marks, problems, sync
from memoryhub.domain.files.mounts import Place
from memoryhub.errors import Conflict, Forbidden, Invalid, Stale
from memoryhub.models import Actor, File, Mount, Revision, Space
from memoryhub.stores import FilesystemStore, paths
from memoryhub.stores.disk import MAX_BYTES, too_large
from memoryhub.text import edits
from memoryhub.text.counted import counted
from memoryhub.text.lines import bytes_of, text_of
from memoryhub.text.merge import merge3

# Looks at the text before and after, under the lock of the file, and raises where the change must not be.
Guard = Callable[[bytes, bytes], object]


@dataclass
class Change:
    """A change of a file whose row is locked, with the published bytes before it."""

    space: Space
    actor: Actor
    path: str
    place: Place
    file: File
    before: bytes
    guard: Guard | None = None

    @property
    def exists(self) -> bool:
        return bool(self.file.revision) and not self.file.is_deleted

    @property
    def sha(self) -> str | None:
        return self.file.sha256 if self.exists else None


@contextmanager
def locked_change(
    space: Space, actor: Actor, path: str, thread_id: str, place: Place | None, if_match: str | None = None, *,
    may_be_new: bool = False, guard: Guard | None = None, before: bytes | None = None, savepoint: bool = True,
) -> Iterator[Change]:  # fmt: skip
    """Gives the change of the file at this path: locked, in step with its disk, and checked against `if_match`.

    A path without a file is refused unless it `may_be_new`. The transaction ends with the block. `before` is the text as the
    caller has read it, which is not read again where it is still the newest. Without a `savepoint` a refusal ends the caller's
    transaction too.
    """
    path = paths.clean(path)
    place = place or mounts.resolve_path(space, path, agent=actor.agent)
    with transaction.atomic(savepoint=savepoint):
        change = start_change(space, actor, path, place, thread_id, before)
        change.guard = guard
        if not may_be_new:
            require_existing(change)
        check_if_match(path, change.sha, change.file.revision, if_match)
        yield change


LOCK_FILES = """
SELECT FROM memoryhub_file WHERE space_id = %s AND path = ANY(%s) AND thread_id = ANY(%s) ORDER BY path, id FOR UPDATE
"""


def lock_files(space: Space, names: Iterable[str], *threads: str) -> None:
    """Locks the rows of these paths, as far as they exist, before a change of one of them comes to the space's own row. All who
    take several take them in this order."""
    statements.rows(LOCK_FILES, [space.pk, sorted({paths.clean(name) for name in names}), ["", *threads]])


def start_change(
    space: Space, actor: Actor, path: str, place: Place, thread_id: str, before: bytes | None = None
) -> Change:
    """Lock the file and record what its disk has, so that checks see the true state."""
    thread_id = thread_id if place.mount.store == Mount.Store.THREAD else ""
    if place.mount.store == Mount.Store.VIEWS:
        raise views_error(path)
    if why := place.why_closed():
        raise mounts.left_out_error(path, why)
    file = revisions.lock_file(space, path, thread_id)
    if not file.revision or file.is_deleted:
        refuse_folder(space, path, place, thread_id)
    if isinstance(place.store, FilesystemStore):
        sync.pull_from_disk(space, file, place)
        if file.problem:
            raise problems.disk_error(file, place)
    return Change(space, actor, path, place, file, revisions.newest_text(file, before))


def views_error(path: str) -> Forbidden:
    says = f"“{path}” is made when it is read, of what memory holds: change the entry that it shows."
    return Forbidden(says, code="read_only", path=path)


def refuse_folder(space: Space, path: str, place: Place, thread_id: str = "") -> None:
    """Refuse a path that is a folder, or lies below a file, as far as the hub knows; a disk refuses by itself."""
    above = [path[:end] for end, sign in enumerate(path) if sign == "/" and end]
    values = {"space": space.pk, "thread": thread_id, "above": above, "first": path + "/", "end": path + "0"}
    found = [(path + "/",)] if place.relative == "/" else statements.rows(FOLDER_CLASH, values)
    if found and len(found[0][0]) > len(path):
        raise Invalid(f"“{path}” is a folder, not a file.", code="is_directory", path=path)
    if found:
        raise Invalid(f"“{found[0][0]}” is a file, so nothing can lie below it.", code="invalid_path", path=path)


_EXISTING = (
    "SELECT path FROM memoryhub_file "
    "WHERE space_id = %(space)s AND thread_id = %(thread)s AND NOT is_deleted AND revision > 0"
)
# One index look-up for each folder above, and one for everything below: "0" follows "/". The ORDER BY is that of the index of
# paths, so that PostgreSQL takes it even before the table was analysed.
FOLDER_CLASH = f"""
SELECT path FROM (
  (SELECT f.path FROM unnest(%(above)s::text[]) AS above(path), LATERAL ({_EXISTING} AND path = above.path LIMIT 1) f
    LIMIT 1) UNION ALL
  ({_EXISTING} AND path ~>=~ %(first)s::text AND path ~<~ %(end)s::text ORDER BY path USING ~<~ LIMIT 1)) near
LIMIT 1
"""  # noqa: S608 (texts of our own)


def record_change(change: Change, content: bytes, verb: str, says: str, *, adds: str = "", **facts: Any) -> Revision:
    """Record a revision with its line of activity in one statement; a disk is written after the commit.

    `facts` are those of `record_revision`.
    """
    if len(content) > MAX_BYTES:
        raise too_large(change.path, len(content), MAX_BYTES)
    check_protected(change, content, facts.get("proposal"))
    check_program(change, content, facts.get("proposal"))
    check_marks(change, None if facts.get("is_deleted") else content)
    if change.guard:
        change.guard(change.before, content)
    on_disk = change.place.store.on_disk

    def with_revision(revision: Revision) -> list[statements.Change]:
        line = revisions.revision_line(change.space, change.actor, verb, says, revision, adds or _edited_by(revision))
        return [activity.lines_as_change(line)]

    facts.setdefault("before", change.before)
    if on_disk:
        arrivals.forget_put_backs(change.file)
    revision = revisions.record_revision(
        change.space, change.file, change.actor, content, in_place=not on_disk, more_changes=with_revision, **facts
    )
    if on_disk:
        sync.push_after_commit(change.space, change.file, content)
    return revision


def _edited_by(revision: Revision) -> str:
    """What the line of activity adds where a reviewer wrote some of it; who approved it stands in the line of the decision."""
    if not (mine := revision.reviewer_lines):
        return ""
    count = sum(last - first + 1 for first, last in mine["lines"])
    return f"with {counted(count, 'line')} by {mine['name']}"


def check_protected(change: Change, content: bytes, proposal: int | None) -> None:
    """Refuse an agent's change of a protected region; a proposal that a person approved counts as the person's change."""
    if change.actor.agent is not None and proposal is None:
        edits.check_protected(change.before, content)


def check_marks(change: Change, content: bytes | None) -> None:
    """Refuse a change that would lose a secret that stands on disk, where the hub has a mark; None is a deletion.

    Where the disk has a text that waits for a person, the write to the disk looks whether it would be lost.
    """
    if not change.file.disk_secrets or (change.file.held and content is not None):
        return
    marks.check_marks(change.path, change.file.disk_secrets, change.before, content)


def check_program(change: Change, content: bytes, proposal: int | None) -> None:
    """Refuse a text by an agent that is a program, or lies where one is run; what a person approved has been looked at."""
    if change.actor.agent is None or proposal is not None:
        return
    if reasons := mounts.why_not_memory(change.place, change.path, content):
        raise mounts.not_memory_error(change.path, reasons)


def etag_matches(header: str, sha: str | None) -> bool:
    """Whether an `If-Match` or `If-None-Match` header names the text with this sha; None is no file, which nothing matches.

    A weak tag counts too: proxies that compress make `W/"…"` of ours, and it is the sha256 of the bytes all the same.
    """
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in header.split(",")]
    return sha is not None and ("*" in tags or sha in tags)


def require_existing(change: Change) -> None:
    """Refuse a change of a file that is deleted or never was."""
    if not change.exists:
        raise edits.file_not_found(change.path)


def check_if_match(path: str, sha: str | None, revision: int, header: str | None) -> None:
    """Refuse a change whose `If-Match` does not name the text that the file has; None is no condition."""
    if header is not None and not etag_matches(header, sha):
        says = f"“{path}” changed since you read it: read it again, then write."
        raise Stale(says, path=path, sha256=sha, revision=revision)


def check_if_none_match(path: str, sha: str | None, header: str | None) -> None:
    """Refuse a change whose `If-None-Match` names the text that the file has, or any by `*`; None is no condition."""
    if header is None or not etag_matches(header, sha):
        return
    if header.strip() == "*":
        raise Stale(f"File {path} already exists", code="file_exists", path=path)
    raise Stale(f"“{path}” has the text that If-None-Match names, so nothing was changed.", path=path, sha256=sha)


def save_text(change: Change, content: bytes, *, kind: str = "write", **facts: Any) -> Revision:
    """Make this the newest text of the file, whose row is locked."""
    existed = change.exists
    says = {"restore": "restored", "edit": "edited"}.get(kind, "changed" if existed else "created")
    recorded = kind if existed or kind != "write" else "create"
    return record_change(
        change, content, f"files.{'write' if kind == 'create' else kind}", says, kind=recorded, **facts
    )


def write(
    space: Space, actor: Actor, path: str, content: bytes, *, reason: str = "", if_match: str | None = None,
    base_revision: int | None = None, kind: str = "write", proposal: int | None = None, thread_id: str = "",
    if_none_match: str | None = None, restored_from: int | None = None, approval: revisions.Approval | None = None,
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
        check_if_none_match(path, change.sha, if_none_match)
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
        raise _edit_conflict(file, base_revision, "Somebody else has created this file.")
    if file.is_deleted:
        raise _edit_conflict(file, base_revision, "The file has been deleted.")
    base = revisions.content_of(file, base_revision)
    theirs = revisions.newest_text(file)
    if any(b"\x00" in text for text in (base, content, theirs)):
        raise _edit_conflict(file, base_revision, "It is not text, so the two versions cannot be merged.")
    merge = merge3(text_of(base), text_of(content), text_of(theirs))
    if merge.conflicts:
        raise _edit_conflict(file, base_revision, f"Both of you changed {counted(merge.conflicts, 'place')}.")
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


def save_if_changed(change: Change, content: bytes, reason: str, proposal: int | None) -> Revision:
    """Record the content as an edit; answers the newest revision where nothing changed."""
    if content == change.before:
        return revisions.get_revision(change.file, change.file.revision)
    return record_change(change, content, "files.edit", "edited", kind="edit", reason=reason, proposal=proposal)
