"""Moving and copying files: two paths changed in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from memoryhub.domain.files import mounts, revisions
from memoryhub.domain.files.change import (
    Change,
    Guard,
    check_if_match,
    check_marks,
    check_protected,
    record_change,
    require_existing,
    start_change,
)
from memoryhub.domain.files.disk import sync
from memoryhub.domain.files.mounts import Place
from memoryhub.errors import Conflict
from memoryhub.models import Actor, Revision, Space
from memoryhub.stores import paths


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
        check_if_match(source.file, if_match)
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
