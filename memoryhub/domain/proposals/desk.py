"""What a decision needs, taken in one statement: the proposal and its file, both locked, with the text that stands there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import models

from memoryhub.domain import files, hot, mounts
from memoryhub.domain.access import Actor
from memoryhub.domain.proposals import results
from memoryhub.domain.proposals.asking import locked
from memoryhub.domain.published import Published
from memoryhub.errors import HubError
from memoryhub.models import Agent, File, Mount, Proposal, Space
from memoryhub.stores import FilesystemStore

TEXTS = (Proposal.Kind.EDIT, Proposal.Kind.WRITE, Proposal.Kind.INSERT)


def columns(model: type[models.Model], alias: str) -> str:
    """The columns in the order of the fields; JSON as text, because the objects are made here."""
    return ", ".join(
        f'{alias}."{field.column}"' + ("::text" if isinstance(field, models.JSONField) else "")
        for field in model._meta.concrete_fields
    )


# A file that somebody else just changed comes without its text: the statement looked before the lock was free.
TAKE = f"""
WITH p AS MATERIALIZED (
  SELECT * FROM memoryhub_proposal WHERE space_id = %(space)s AND number = %(number)s FOR UPDATE),
m AS MATERIALIZED (
  SELECT m.* FROM p JOIN memoryhub_mount m ON m.space_id = p.space_id AND starts_with(p.path, m.prefix)
  ORDER BY length(m.prefix) DESC LIMIT 1),
f AS MATERIALIZED (
  SELECT f.* FROM p CROSS JOIN m JOIN memoryhub_file f ON f.space_id = p.space_id AND f.path = p.path
    AND f.thread_id = CASE WHEN m.store = 'thread' THEN p.thread_id ELSE '' END
  WHERE p.state IN ('pending', 'outdated') FOR UPDATE OF f)
SELECT a.slug, r.content,
  EXISTS (SELECT FROM memoryhub_webhook w WHERE w.space_id = p.space_id AND w.is_on),
  EXISTS (SELECT FROM memoryhub_proposal o WHERE o.space_id = p.space_id AND o.path = p.path AND o.state = 'pending'
    AND o.id <> p.id),
  {columns(Proposal, "p")}, {columns(Mount, "m")}, {columns(File, "f")}
FROM p LEFT JOIN memoryhub_agent a ON a.id = p.agent_id LEFT JOIN m ON true LEFT JOIN f ON true
LEFT JOIN memoryhub_revision r ON r.space_id = f.space_id AND r.file_id = f.id AND r.number = f.revision
"""  # noqa: S608  only names of columns are put in
FIRST = 4


@dataclass(frozen=True)
class Desk:
    """A proposal on the desk of whoever decides. `change` is its file, locked and in step, where that is plain to see."""

    proposal: Proposal
    change: files.Change | None
    standing: Published | None
    is_told: bool  # somebody wants a notice
    has_others: bool  # others wait for the same path

    def result(self) -> results.Result:
        """What the proposal would make now."""
        return results.result(self.proposal, self.standing) if self.change else results.result(self.proposal)


def take(space: Space, number: int) -> Desk:
    """Lock a proposal and its file; of two decisions the second sees what the first did."""
    asked = {"space": space.pk, "number": number}
    for _ in range(2):
        found = hot.rows(TAKE, asked, binary=True)
        if not found:
            break
        desk, is_late = _read(space, found[0])
        if not is_late:
            return desk
    return Desk(locked(space, number), None, None, is_told=True, has_others=True)


def _read(space: Space, values: tuple[Any, ...]) -> tuple[Desk, bool]:
    slug, content, is_told, has_others = values[:FIRST]
    at = FIRST
    made = []
    for model in (Proposal, Mount, File):
        fields = model._meta.concrete_fields
        made.append(_object(model, fields, values[at : at + len(fields)]))
        at += len(fields)
    proposal, mount, file = made
    proposal.space = space
    if slug is not None:
        proposal.agent = Agent.from_db("default", ["id", "space_id", "slug"], [proposal.agent_id, space.pk, slug])
    is_there = bool(file and file.revision and not file.is_deleted)
    change = _plain(space, proposal, mount, file, content) if is_there and content is not None else None
    return Desk(proposal, change, _published(change), is_told, has_others), is_there and content is None


def _object(model: type[models.Model], fields: Any, values: tuple[Any, ...]) -> Any:
    if values[0] is None:
        return None
    read = [
        json.loads(value) if isinstance(field, models.JSONField) and value is not None else value
        for field, value in zip(fields, values, strict=True)
    ]
    return model.from_db("default", [field.attname for field in fields], read)


def _plain(space: Space, proposal: Proposal, mount: Mount, file: File, content: bytes) -> files.Change | None:
    """The file as a change can begin with it; nothing where the disk has to be asked first, or the change is no text."""
    if proposal.kind not in TEXTS or file.problem:
        return None
    place = mounts.place_in(mount, proposal.path)
    if isinstance(place.store, FilesystemStore) and not _agrees(place.store, place.relative, file):
        return None
    return files.Change(space, Actor("hub", None, ""), proposal.path, place, file, bytes(content))


def _agrees(store: FilesystemStore, relative: str, file: File) -> bool:
    """Whether the disk is as it was when this text was written there."""
    try:
        stat = store.stat(relative)
    except HubError:
        return False
    if stat is None or stat.mark is None or file.written_revision != file.revision:
        return False
    return stat.mark == file.stat


def _published(change: files.Change | None) -> Published | None:
    if change is None:
        return None
    file = change.file
    return Published(
        file.path, change.before, file.revision, file.sha256, file.created_at, file.modified_at,
        author_kind=file.author_kind, author_name=file.author_name,
    )  # fmt: skip
