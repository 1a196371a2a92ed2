"""The row of a file, locked for a change, and its revisions: the whole text after each change with who wanted it, who approved it,
why and when."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from django.db.models import F, Q
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.db.prepared import prepared
from memoryhub.domain import activity, spaces
from memoryhub.errors import NotFound
from memoryhub.models import Actor, File, Proposal, Revision, Space
from memoryhub.text import edits
from memoryhub.text.lines import added_and_removed, text_of

NO_SHA = ""

COLUMNS = [field.attname for field in File._meta.concrete_fields]
AS_JSON = ("stat", "disk_secrets")
_NAMES = ", ".join(f"{name}::text" if name in AS_JSON else name for name in COLUMNS)
LOCK_ROW = f"SELECT {_NAMES} FROM memoryhub_file WHERE space_id = %s AND path = %s AND thread_id = %s FOR UPDATE"  # noqa: S608
# A new row is locked by its transaction; no row comes back when another transaction made it at the same moment.
INSERT_ROW = f"""
INSERT INTO memoryhub_file (space_id, path, thread_id, created_at, modified_at, used_at, revision, is_deleted, size, sha256,
  author_kind, author_name, written_sha256, problem)
VALUES (%s, %s, %s, %s, %s, %s, 0, false, 0, '', '', '', '', '') ON CONFLICT DO NOTHING RETURNING {_NAMES}
"""  # noqa: S608 (only names of columns are put in)


def lock_file(space: Space, path: str, thread_id: str = "") -> File:
    """The row of a file, locked until the transaction ends; a path without one gets a new row."""
    key = (space.pk, path, thread_id)
    rows = (
        statements.rows(LOCK_ROW, key)
        or statements.rows(INSERT_ROW, [*key, *[timezone.now()] * 3])
        or statements.rows(LOCK_ROW, key)
    )
    return file_from_row(rows[0])


def file_from_row(values: Sequence[Any]) -> File:
    file = statements.instance(File, zip(COLUMNS, values, strict=True))
    file.stat = json.loads(file.stat) if file.stat else None
    file.disk_secrets = json.loads(file.disk_secrets)
    return file


def sha_of(content: bytes) -> str:
    return sha256(content).hexdigest()


@dataclass(frozen=True)
class Approval:
    """Who approved a revision that somebody else asked for, and the lines of it (ranges from 1) that a reviewer wrote."""

    approver: Actor
    reviewer: Actor | None = None  # who wrote those lines: of two approvers, the first who sent this text
    lines: list[list[int]] = field(default_factory=list)

    def as_fields(self) -> dict[str, Any]:
        """For the columns of a revision."""
        by = self.reviewer or self.approver
        mine = {"kind": by.kind, "id": by.id, "name": by.name, "lines": self.lines} if self.lines else None
        return {
            "approver_kind": self.approver.kind, "approver_id": self.approver.id, "approver_name": self.approver.name,
            "reviewer_lines": mine,
        }  # fmt: skip


def approval_of(revision: Revision) -> Approval | None:
    """The approval of a revision, for another one with its text."""
    if not revision.approver_kind:
        return None
    mine = revision.reviewer_lines or {}
    reviewer = Actor(mine["kind"], mine["id"], mine["name"]) if mine else None
    approver = Actor(revision.approver_kind, revision.approver_id, revision.approver_name)
    return Approval(approver, reviewer, mine.get("lines", []))


# What becomes of a revision later, and that it was made just now.
NEW_REVISION = {
    "is_new": True, "git_author": "", "git_commit": "", "erased_at": None, "erased_by": "", "erasure": None,
}  # fmt: skip
NOT_APPROVED = {"approver_kind": "", "approver_id": None, "approver_name": "", "reviewer_lines": None}


def record_revision(
    space: Space, file: File, actor: Actor, content: bytes, *, kind: str = "write", reason: str = "",
    proposal: int | None = None, is_deleted: bool = False, restored_from: int | None = None, moved_from: str = "",
    approval: Approval | None = None, based_on: int | None = None, merged_with: int | None = None,
    before: bytes | None = None, in_place: bool = False,
    more_changes: Callable[[Revision], Iterable[statements.Change]] = lambda revision: (),
) -> Revision:  # fmt: skip
    """Add the newest text of a file whose row the caller has locked, and raise the space's revision.

    The actor is who wanted these words; `approval` says who decided, where that was somebody else. `based_on` and
    `merged_with` are numbers of revisions, for blame. `before` is the text so far, read if it is not given. `in_place`: the
    text has no place outside the database, so it counts as written. `more_changes`: what the same statement writes too.
    """
    before = newest_text(file) if before is None else before
    added, removed = _line_counts(before, content)
    written = {  # in the order of _ADD
        "space_id": space.pk, "file_id": file.pk, "number": file.revision + 1, "kind": kind, "path": file.path,
        "content": content, "size": len(content), "sha256": sha_of(content), "is_deleted": is_deleted, "added": added,
        "removed": removed, "reason": reason[:1000], "proposal": proposal, "restored_from": restored_from,
        "moved_from": moved_from, "created_at": timezone.now(), "based_on": based_on, "merged_with": merged_with, **actor.as_fields(),
        **(approval.as_fields() if approval else NOT_APPROVED),
    }  # fmt: skip
    revision = statements.instance(Revision, (written | NEW_REVISION).items(), space=space, file=file)
    _show_newest(file, revision, in_place=in_place)
    changes = (
        statements.Change(_INSERT_REVISION, _as_values(written)),
        _file_update(file),
        statements.Change(spaces.TEXT_MARK, [space.pk]),
        *more_changes(revision),
    )
    (revision.pk,) = statements.together(*changes)
    return revision


def _show_newest(file: File, revision: Revision, *, in_place: bool) -> None:
    """Gives the row of a file what it shows of its newest revision; `_file_update` stores it."""
    if file.is_deleted and revision.kind == "create":
        file.created_at = revision.created_at  # it is another file now
    file.revision, file.size, file.is_deleted = revision.number, revision.size, revision.is_deleted
    file.sha256 = NO_SHA if revision.is_deleted else revision.sha256
    file.author_kind, file.author_name = revision.actor_kind, revision.actor_name
    file.modified_at = file.used_at = revision.created_at
    file.written_revision = revision.number if in_place else file.written_revision


_INSERT_REVISION = f"""
INSERT INTO memoryhub_revision (space_id, file_id, number, kind, path, content, size, sha256, is_deleted, added, removed,
  reason, proposal, restored_from, moved_from, created_at, based_on, merged_with, actor_kind, actor_id, actor_name,
  approver_kind, approver_id, approver_name, reviewer_lines)
SELECT {", ".join(["%s"] * 25)} WHERE true {statements.ONLY_IF_HELD} RETURNING id
"""
_UPDATE_FILE = f"""
UPDATE memoryhub_file SET revision = %s, size = %s, is_deleted = %s, sha256 = %s, author_kind = %s, author_name = %s,
  created_at = %s, modified_at = %s, used_at = %s, written_revision = %s, written_sha256 = %s
WHERE id = %s {statements.ONLY_IF_HELD}
"""  # noqa: S608 (a word of ours)


def _as_values(written: dict[str, Any]) -> tuple[Any, ...]:
    mine = written["reviewer_lines"]
    return (*(value for name, value in written.items() if name != "reviewer_lines"), mine and statements.Json(mine))


def _file_update(file: File) -> statements.Change:
    values = (
        file.revision, file.size, file.is_deleted, file.sha256, file.author_kind, file.author_name, file.created_at,
        file.modified_at, file.used_at, file.written_revision, file.written_sha256, file.pk,
    )  # fmt: skip
    return statements.Change(_UPDATE_FILE, values)


def revision_line(
    space: Space, actor: Actor, verb: str, says: str, revision: Revision, adds: str = ""
) -> activity.Line:
    """The line of activity about a revision, not written yet. A file of a thread has no page to link to."""
    aside = f"r{revision.number}" + (
        f" +{revision.added} −{revision.removed}" if revision.added or revision.removed else ""
    )
    url = "" if revision.file.thread_id else f"files/{revision.path.lstrip('/')}?view=diff&to={revision.number}"
    return activity.make_line(
        space, actor, verb, says, revision.path, url=url, adds=adds, aside=aside, path=revision.path
    )


def _line_counts(before: bytes, after: bytes) -> tuple[int, int]:
    """Lines added and removed; none for contents with NUL, which are no text."""
    if b"\x00" in before or b"\x00" in after:
        return 0, 0
    return added_and_removed(text_of(before), text_of(after))


def newest_text(file: File, known: bytes | None = None) -> bytes:
    """The published bytes of a file; empty for a deleted or new one. `known` is not read again where it is that text."""
    if not file.revision or file.is_deleted:
        return b""
    if known is not None and sha_of(known) == file.sha256:
        return known
    return content_of(file, file.revision)


# A range of one number with ORDER BY makes PostgreSQL take the index of numbers, even before the table was analysed.
_CONTENT = """
SELECT content FROM memoryhub_revision
WHERE space_id = %(space)s AND file_id = %(file)s AND number BETWEEN %(number)s AND %(number)s ORDER BY number LIMIT 1
"""


def content_of(file: File, number: int) -> bytes:
    """The bytes of one revision of a file."""
    found = statements.rows(_CONTENT, {"space": file.space_id, "file": file.pk, "number": number}, binary=True)
    if not found:
        raise _no_revision(file, number)
    return found[0][0]


REVISION = prepared(
    lambda space, file, number: Revision.objects.within(space).filter(file_id=file, number=number).order_by("pk")
)


def get_revision(file: File, number: int) -> Revision:
    """One revision of a file, with its content."""
    revision = REVISION.first(file.space_id, file.pk, number)
    if revision is None:
        raise _no_revision(file, number)
    return revision


def _no_revision(file: File, number: int) -> NotFound:
    return NotFound(f"“{file.path}” has no revision {number}.", code="revision_not_found")


def decided_content(space: Space, path: str, thread_id: str = "") -> bytes:
    """The newest text of a file that is not what an agent made of it at once: a person's, one that a person approved, or one
    from disk that was there first or that somebody looked at. Empty where agents alone wrote the file."""
    seen = ~Q(actor_kind="disk") | Q(file__unreviewed_from=None) | Q(number__lte=F("file__unreviewed_from"))
    others = Revision.objects.within(space).filter(seen, file__path=path, file__thread_id=thread_id)
    newest = others.exclude(actor_kind="agent", proposal=None).order_by("-number").values_list("content", flat=True)
    return bytes(newest.first() or b"")


def has_text(file: File, sha: str) -> bool:
    """Whether a revision of this file has the text with this sha."""
    return Revision.objects.within(file.space_id).filter(file=file, sha256=sha, is_deleted=False).exists()


def revisions_of(file: File, before: int | None = None, limit: int = 50) -> list[Revision]:
    """The newest revisions of a file (before a number), without their contents, newest first."""
    found = Revision.objects.within(file.space_id).filter(file=file).defer("content").order_by("-number")
    return list(found.filter(number__lt=before)[:limit] if before else found[:limit])


def base_content(proposal: Proposal) -> bytes:
    """The text that the agent's proposal is based on; empty if there was no file."""
    found = Revision.objects.within(proposal.space_id).filter(
        file__path=proposal.path, number=proposal.base_revision, sha256=proposal.base_sha256
    )
    content = found.values_list("content", flat=True).first()
    return bytes(content) if content is not None else b""


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
