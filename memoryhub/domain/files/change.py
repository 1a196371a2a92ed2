"""One change of one file, from the lock to the record: what every verb of `files` that changes something goes through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from memoryhub.db import statements
from memoryhub.domain import activity
from memoryhub.domain.files import disk, mounts, revisions
from memoryhub.domain.files.mounts import Place
from memoryhub.errors import Invalid, Stale
from memoryhub.models import Actor, File, Mount, Revision, Space
from memoryhub.stores import FilesystemStore, paths
from memoryhub.stores.disk import MAX_BYTES, too_large
from memoryhub.text import edits, protected


@dataclass
class Change:
    """One change while its file's row is locked."""

    space: Space
    actor: Actor
    path: str
    place: Place
    file: File
    before: bytes

    @property
    def is_alive(self) -> bool:
        return bool(self.file.revision) and not self.file.is_deleted


@contextmanager
def locked(
    space: Space, actor: Actor, path: str, thread_id: str, place: Place | None, if_match: str | None = None, *,
    may_be_new: bool = False,
) -> Iterator[Change]:  # fmt: skip
    """The file of this path, locked, in step with its disk and as the caller last saw it, until the block ends."""
    path = paths.clean(path)
    place = place or mounts.resolve(space, path, agent=actor.agent)
    with transaction.atomic():
        change = begin(space, actor, path, place, thread_id)
        if not may_be_new:
            check_alive(change)
        check_match(change.file, if_match)
        yield change


LOCK_FILES = """
SELECT FROM memoryhub_file WHERE space_id = %s AND path = ANY(%s) AND thread_id = ANY(%s) ORDER BY path, id FOR UPDATE
"""


def lock_files(space: Space, names: Iterable[str], *threads: str) -> None:
    """Locks the rows of these paths, as far as they exist, before a change of one of them comes to the space's own row. All who
    take several take them in this order."""
    statements.rows(LOCK_FILES, [space.pk, sorted({paths.clean(name) for name in names}), ["", *threads]])


def begin(space: Space, actor: Actor, path: str, place: Place, thread_id: str) -> Change:
    """Lock and take in what the disk has, so that checks meet the true state."""
    thread_id = thread_id if place.mount.store == Mount.Store.THREAD else ""
    file = disk.lock_file(space, path, thread_id)
    if not file.revision or file.is_deleted:
        refuse_folder(space, path, place, thread_id)
    disk.take_in(space, file, place)
    if file.problem and isinstance(place.store, FilesystemStore):
        raise disk.blocked(file, place)
    return Change(space, actor, path, place, file, revisions.current(file))


def refuse_folder(space: Space, path: str, place: Place, thread_id: str = "") -> None:
    """A name cannot be a file and a folder. What a disk holds, the disk says itself."""
    above = [path[:end] for end, sign in enumerate(path) if sign == "/" and end]
    asked = {"space": space.pk, "thread": thread_id, "above": above, "first": path + "/", "end": path + "0"}
    found = [(path + "/",)] if place.relative == "/" else statements.rows(NEAR, asked)
    if found and len(found[0][0]) > len(path):
        raise Invalid(f"“{path}” is a folder, not a file.", code="is_directory", path=path)
    if found:
        raise Invalid(f"“{found[0][0]}” is a file, so nothing can lie below it.", code="invalid_path", path=path)


_ALIVE = (
    "SELECT path FROM memoryhub_file "
    "WHERE space_id = %(space)s AND thread_id = %(thread)s AND NOT is_deleted AND revision > 0"
)
# One look-up for each folder above, and one for all that lies below: the zero follows the slash. In the order of the index
# of paths, which leaves no other index to choose while nobody has counted the table.
NEAR = f"""
SELECT path FROM (
  (SELECT f.path FROM unnest(%(above)s::text[]) AS above(path), LATERAL ({_ALIVE} AND path = above.path LIMIT 1) f
    LIMIT 1) UNION ALL
  ({_ALIVE} AND path ~>=~ %(first)s::text AND path ~<~ %(end)s::text ORDER BY path USING ~<~ LIMIT 1)) near
LIMIT 1
"""  # noqa: S608 (texts of our own)


def put(change: Change, content: bytes, verb: str, says: str, *, adds: str = "", **facts: Any) -> Revision:
    """Record and note in one statement; what lies on a disk is written after the commit. Nothing too large gets in here."""
    if len(content) > MAX_BYTES:
        raise too_large(change.path, len(content), MAX_BYTES)
    keep_protected(change, content, facts.get("proposal"))
    on_disk = change.place.store.on_disk

    def notes(revision: Revision) -> list[statements.Change]:
        line = disk.line_of(change.space, change.actor, verb, says, revision, adds)
        return [activity.adding(line)]

    facts.setdefault("before", change.before)
    revision = revisions.record_revision(
        change.space, change.file, change.actor, content, in_place=not on_disk, along=notes, **facts
    )
    if on_disk:
        disk.push_after_commit(change.space, change.file, content)
    return revision


def keep_protected(change: Change, content: bytes, proposal: int | None) -> None:
    """An agent that is trusted leaves alone what people protected; what a person approved, the person did."""
    if change.actor.agent is not None and proposal is None:
        protected.check(change.before, content)


def holds(if_match: str, sha: str | None) -> bool:
    """Whether an `If-Match` names the text that is there; none is there when `sha` is nothing."""
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in if_match.split(",")]
    return sha is not None and ("*" in tags or sha in tags)


def stale(path: str, sha: str | None, revision: int) -> Stale:
    return Stale(
        f"“{path}” changed since you read it: read it again, then write.", path=path, sha256=sha, revision=revision
    )


def check_alive(change: Change) -> None:
    if not change.is_alive:
        raise edits.missing(change.path)


def check_match(file: File, if_match: str | None) -> None:
    sha = file.sha256 if file.revision and not file.is_deleted else None
    if if_match is not None and not holds(if_match, sha):
        raise stale(file.path, sha, file.revision)


def put_text(change: Change, content: bytes, *, kind: str = "write", **facts: Any) -> Revision:
    """Make this the newest text of a file whose row is locked and in step."""
    alive = change.is_alive
    says = {"restore": "restored", "edit": "edited"}.get(kind, "changed" if alive else "made")
    recorded = kind if alive or kind != "write" else "create"
    return put(change, content, f"files.{'write' if kind == 'create' else kind}", says, kind=recorded, **facts)


def record_text(change: Change, content: bytes, kind: str, says: str, reason: str, proposal: int | None) -> Revision:
    if content == change.before:
        return revisions.get_revision(change.file, change.file.revision)
    return put(change, content, f"files.{kind}", says, kind=kind, reason=reason, proposal=proposal)
