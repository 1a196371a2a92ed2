"""What a decision needs, seen in one statement: the proposal and its file, with the text that stands there. What somebody has
just looked at is kept for their decision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from django.db import connection, models

from memoryhub.db import statements
from memoryhub.domain import files
from memoryhub.domain.files import Published
from memoryhub.domain.proposals import results
from memoryhub.errors import HubError
from memoryhub.models import Actor, File, Proposal, Space, as_read
from memoryhub.stores import FilesystemStore
from memoryhub.stores.database import DatabaseStore

TEXTS = (Proposal.Kind.EDIT, Proposal.Kind.WRITE, Proposal.Kind.INSERT)


def columns(model: type[models.Model], alias: str) -> str:
    """The columns in the order of the fields; JSON as text, because the objects are made here."""
    return ", ".join(
        f'{alias}."{field.column}"' + ("::text" if isinstance(field, models.JSONField) else "")
        for field in model._meta.concrete_fields
    )


# Nothing is locked: `xmin` tells a row from every later state of it, and HELD locks both and looks at it again. Each step
# is a range of one, in order: the one index that gives this order is taken while nobody has counted the tables, too.
LOOK = f"""
SELECT p.xmin::text, f.xmin::text, m.id, m.xmin::text, r.content,
  EXISTS (SELECT FROM memoryhub_webhook w WHERE w.space_id = p.space_id AND w.is_on),
  coalesce((SELECT true FROM memoryhub_proposal o WHERE o.space_id = p.space_id AND o.path BETWEEN p.path AND p.path
    AND o.state = 'pending' AND o.id <> p.id ORDER BY o.path LIMIT 1), false),
  {columns(Proposal, "p")}, {", ".join(f"m.{name}" for name in files.MOUNT_LEADS)}, {columns(File, "f")}
FROM (
  SELECT *, xmin FROM memoryhub_proposal WHERE space_id = %(space)s AND number BETWEEN %(number)s AND %(number)s
  ORDER BY number LIMIT 1) p
LEFT JOIN LATERAL (
  SELECT *, xmin FROM memoryhub_mount WHERE space_id = p.space_id AND starts_with(p.path, prefix)
  ORDER BY length(prefix) DESC LIMIT 1) m ON true
LEFT JOIN LATERAL (
  SELECT *, xmin FROM memoryhub_file WHERE space_id = p.space_id AND path ~>=~ p.path AND path ~<=~ p.path
    AND thread_id = CASE WHEN m.store = 'thread' THEN p.thread_id ELSE '' END
  ORDER BY path USING ~<~ LIMIT 1) f ON true
LEFT JOIN LATERAL (
  SELECT content FROM memoryhub_revision WHERE space_id = f.space_id AND file_id = f.id
  ORDER BY number DESC LIMIT 1) r ON true
"""  # noqa: S608  only names of columns are put in
FIRST = 7
# The proposal before its file, as everywhere.
HELD = """
SELECT FROM memoryhub_proposal p, memoryhub_file f
WHERE p.id = %s AND p.xmin = %s::xid AND f.id = %s AND f.xmin = %s::xid FOR UPDATE
"""
# The same for a desk that was kept: whatever LOOK saw is looked at once more.
STILL_HELD = """
SELECT FROM memoryhub_proposal p, memoryhub_file f
WHERE p.id = %s AND p.xmin = %s::xid AND f.id = %s AND f.xmin = %s::xid
  AND (SELECT m.id = %s AND m.xmin = %s::xid FROM memoryhub_mount m
    WHERE m.space_id = p.space_id AND starts_with(p.path, m.prefix) ORDER BY length(m.prefix) DESC LIMIT 1)
  AND (SELECT w.id FROM memoryhub_webhook w WHERE w.space_id = p.space_id AND w.is_on LIMIT 1) IS NULL
  AND (SELECT o.id FROM memoryhub_proposal o WHERE o.space_id = p.space_id AND o.path BETWEEN p.path AND p.path
    AND o.state = 'pending' AND o.id <> p.id ORDER BY o.path LIMIT 1) IS NULL
FOR UPDATE
"""


@dataclass(frozen=True)
class Desk:
    """A proposal that waits, with its file as both stand at one moment, and the text; nothing of it is locked."""

    proposal: Proposal
    change: files.Change
    standing: Published
    is_told: bool  # somebody wants a notice
    has_others: bool  # others wait for the same path
    mount_mark: tuple[int, str]
    held: statements.Change  # locks both, if they are still the same
    found: results.Result | None = None

    def result(self) -> results.Result:
        """What the proposal would make now."""
        return self.found or results.result(self.proposal, self.standing)


def look(space: Space, number: int) -> Desk | None:
    """A proposal and its file in one statement; nothing where more has to be asked: the disk, or what no text is."""
    found = statements.rows(LOOK, {"space": space.pk, "number": number}, binary=True)
    if not found:
        return None
    (mark, file_mark, mount, mount_mark, content, is_told, has_others), rest = found[0][:FIRST], found[0][FIRST:]
    width, fields = len(Proposal._meta.concrete_fields), len(files.MOUNT_LEADS)
    proposal = _object(Proposal, rest[:width], space)
    file = _object(File, rest[width + fields :], space)
    prefix, store, directory, policy = rest[width : width + fields]
    if prefix is None or content is None or file.is_deleted or file.problem or proposal.kind not in TEXTS:
        return None
    place = files.place_in(files.leading(space.pk, prefix, store, directory, policy), proposal.path)
    if isinstance(place.store, FilesystemStore) and not _agrees(place.store, place.relative, file):
        return None
    change = files.Change(space, Actor("hub", None, ""), proposal.path, place, file, content)
    held = statements.Change(HELD, [proposal.pk, mark, file.pk, file_mark])
    return Desk(proposal, change, _published(change), is_told, has_others, (mount, mount_mark), held)


# ---- kept for the decision

# A row that is read outside of a transaction was written by one that has ended, and every later change of it brings another
# `xmin`: so a desk is true exactly as long as STILL_HELD finds its rows, whichever process changed something, and that is
# asked under lock, by the statement that decides. What does not hold any more, or would be refused, is looked at afresh. A
# proposal on top of another is not kept, because that one is no row of the desk; nor is what a disk may change.
MOST, LARGEST = 64, 64 * 1024
_kept: dict[tuple[int, int], Desk] = {}
_at_it = Lock()


def looked(proposal: Proposal) -> results.Result:
    """What it would make now, for somebody who looks at it and may decide next."""
    may_be_kept = proposal.state == Proposal.State.PENDING and proposal.kind in TEXTS and proposal.stacked_on is None
    if not may_be_kept or connection.in_atomic_block:
        return results.result(proposal)
    desk = look(proposal.space, proposal.number)
    if desk is None or not isinstance(desk.change.place.store, (DatabaseStore, FilesystemStore)):
        return results.result(proposal)
    found = desk.result()
    _keep(desk, found)
    return replace(found, proposal=proposal)


def _keep(desk: Desk, found: results.Result) -> None:
    is_small = len(desk.change.before) + len(found.after or b"") <= LARGEST
    is_plain = desk.proposal.state == Proposal.State.PENDING and not (desk.is_told or desk.has_others or found.problem)
    if not (is_small and is_plain and isinstance(desk.change.place.store, DatabaseStore)):
        return
    held = statements.Change(STILL_HELD, [*desk.held.params, *desk.mount_mark])
    key = desk.proposal.space_id, desk.proposal.number
    with _at_it:
        _kept.pop(key, None)
        while len(_kept) >= MOST:
            _kept.pop(next(iter(_kept)))
        _kept[key] = replace(desk, held=held, found=found)


def recall(space: Space, number: int) -> Desk | None:
    """What this process kept of it, once; what of the space counts is as the caller has it."""
    with _at_it:
        desk = _kept.pop((space.pk, number), None)
    if desk is not None:
        desk.proposal.space = desk.change.space = space
    return desk


NAMES = {model: [one.attname for one in model._meta.concrete_fields] for model in (Proposal, File)}
AS_JSON = {
    model: [at for at, one in enumerate(model._meta.concrete_fields) if isinstance(one, models.JSONField)]
    for model in (Proposal, File)
}


def _object(model: type[models.Model], values: Sequence[Any], space: Space) -> Any:
    if values[0] is None:
        return None
    read = list(values)
    for at in AS_JSON[model]:
        text = read[at]
        read[at] = [] if text == "[]" else json.loads(text) if text is not None else None
    return as_read(model, zip(NAMES[model], read, strict=True), space=space)


def _agrees(store: FilesystemStore, relative: str, file: File) -> bool:
    """Whether the disk is as it was when this text was written there."""
    try:
        stat = store.stat(relative)
    except HubError:
        return False
    if stat is None or stat.mark is None or file.written_revision != file.revision:
        return False
    return stat.mark == file.stat


def _published(change: files.Change) -> Published:
    file = change.file
    return Published(
        file.path, change.before, file.revision, file.sha256, file.created_at, file.modified_at,
        author_kind=file.author_kind, author_name=file.author_name,
    )  # fmt: skip
