"""Changes of a file that is there: edit, insert, delete, restore, move and copy."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from memoryhub.domain.files import mounts, revisions
from memoryhub.domain.files.change import (
    Change,
    Guard,
    check_if_match,
    check_if_none_match,
    check_marks,
    check_protected,
    locked_change,
    record_change,
    require_existing,
    save_if_changed,
    start_change,
    write,
)
from memoryhub.domain.files.disk import sync
from memoryhub.domain.files.mounts import Place
from memoryhub.errors import Conflict
from memoryhub.models import Actor, Revision, Space
from memoryhub.stores import paths
from memoryhub.text import edits
from memoryhub.text.lines import bytes_of, text_of


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
    guard: Guard | None = None, before: bytes | None = None, savepoint: bool = True, if_none_match: str | None = None,
) -> Revision:  # fmt: skip
    """Delete a file; its revisions stay, and it can be restored. `before` and `savepoint` are those of `locked_change`."""
    with locked_change(
        space, actor, path, thread_id, place, if_match, guard=guard, before=before, savepoint=savepoint
    ) as change:
        check_if_none_match(path, change.sha, if_none_match)
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
    earlier = revisions.get_revision(revisions.file_row(space, path), number)
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


# ---- moving and copying: two paths in one transaction


def move(
    space: Space,
    actor: Actor,
    path: str,
    to: str,
    *,
    reason: str = "",
    if_match: str | None = None,
    proposal: int | None = None,
    approval: revisions.Approval | None = None,
    thread_id: str = "",
    place: Place | None = None,
    to_place: Place | None = None,
    guard: Guard | None = None,
    before: bytes | None = None,
    savepoint: bool = True,
) -> Revision:
    """Give a file another path; its history can be followed back through the move. `before` and `savepoint` are those of
    `locked_change`."""
    return _transfer(
        space,
        actor,
        path,
        to,
        reason=reason,
        if_match=if_match,
        proposal=proposal,
        approval=approval,
        thread_id=thread_id,
        keep_source=False,
        known=[place, to_place] if place and to_place else [],
        guard=guard,
        before=before,
        savepoint=savepoint,
    )


def copy(space: Space, actor: Actor, path: str, to: str, *, reason: str = "") -> Revision:
    """Make a second file with the same text."""
    return _transfer(space, actor, path, to, reason=reason, keep_source=True)


def _transfer(
    space: Space, actor: Actor, path: str, to: str, *, reason: str, keep_source: bool, if_match: str | None = None,
    proposal: int | None = None, approval: revisions.Approval | None = None, thread_id: str = "", guard: Guard | None = None,
    known: Sequence[Place] = (), before: bytes | None = None, savepoint: bool = True,
) -> Revision:  # fmt: skip
    path, to = paths.clean(path), paths.clean(to)
    if path == to:
        raise Conflict(f"The destination {to} is the file itself.", code="file_exists", path=to)
    found = known or mounts.resolve_paths(space, [path, to], agent=actor.agent)
    places = dict(zip((path, to), found, strict=True))
    with transaction.atomic(savepoint=savepoint):
        # In the order of the paths, so that two moves in opposite directions cannot wait for each other.
        changes = {
            name: start_change(space, actor, name, places[name], thread_id, before) for name in sorted((path, to))
        }
        source, target = changes[path], changes[to]
        target.guard = guard
        require_existing(source)
        check_if_match(path, source.sha, source.file.revision, if_match)
        if target.exists:
            raise Conflict(f"The destination {to} already exists.", code="file_exists", path=to)
        if not keep_source:
            check_protected(source, b"", proposal)
        number = source.file.revision
        moved = {} if keep_source else {"moved_from": path, "restored_from": number}
        why = reason or (f"Copied from {path}" if keep_source else f"Moved from {path}")
        verb, says = ("files.copy", "created") if keep_source else ("files.move", "moved")
        revision = record_change(
            target, source.before, verb, says, adds=f"from {path}", kind="create" if keep_source else "move", reason=why,
            proposal=proposal, approval=approval, **moved,
        )  # fmt: skip
        if not keep_source:
            _leave(source, reason or f"Moved to {to}", proposal, approval)
        return revision


def _leave(source: Change, reason: str, proposal: int | None, approval: revisions.Approval | None) -> None:
    """The deleted half of a move, which gets no line of activity."""
    check_marks(source, None)
    on_disk = source.place.store.on_disk
    revisions.record_revision(
        source.space, source.file, source.actor, b"", kind="move", reason=reason, proposal=proposal, approval=approval,
        is_deleted=True, before=source.before, in_place=not on_disk,
    )  # fmt: skip
    if on_disk:
        sync.push_after_commit(source.space, source.file, b"")
