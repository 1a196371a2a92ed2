"""Who wrote what over REST: the newest revisions of a file, and the author and approver of each line."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema, Status

from memoryhub.api.base import ERRORS, json_response, needs
from memoryhub.api.files import as_text
from memoryhub.api.paging import page_limit
from memoryhub.domain import files
from memoryhub.domain.accounts import Caller
from memoryhub.errors import Forbidden, NotFound
from memoryhub.models import Actor, File, Revision
from memoryhub.stores import paths

router = Router()


class Who(Schema):
    kind: str
    name: str


class GitOut(Schema):
    author: str
    commit: str


class RevisionOut(Schema):
    revision: int
    kind: str
    author: Who
    approver: Who | None
    git: GitOut | None
    proposal: int | None
    reason: str
    created_at: datetime


class RevisionsOut(Schema):
    items: list[RevisionOut]
    next: str | None


class LinesOut(RevisionOut):
    first: int
    last: int


class BlameOut(Schema):
    path: str
    revision: int
    lines: list[LinesOut]


class Computing(Schema):
    status: str


@router.get("/revisions", response={200: RevisionsOut, **ERRORS}, summary="The revisions of a file, newest first")
@needs("files")
def revisions(request: HttpRequest, path: str, before: int | None = None, limit: int = 50) -> HttpResponse:
    """`before`, which is `next` of the page before, goes on below that number. Without the texts."""
    file = _file(request.auth, path)
    size = page_limit(limit)
    files.find_git_authors(request.auth.space, file.path)
    rows = files.revisions_of(file, before, size + 1)
    following = str(rows[size - 1].number) if len(rows) > size else None
    items = [_revision(row, files.author_of(row)) for row in rows[:size]]
    return json_response({"items": items, "next": following})


@router.get(
    "/blame", response={200: BlameOut, 202: Computing, **ERRORS}, summary="Who wrote which lines, and who approved them"
)
@needs("files")
def blame(request: HttpRequest, path: str, revision: int | None = None) -> HttpResponse | Status:
    """Runs of lines without their text. 202 while the blame of a very long history is computed: ask again."""
    caller: Caller = request.auth
    if revision is not None and not caller.actor.is_person:
        raise Forbidden("An agent's token sees who wrote the published text, not an earlier one.", code="people_only")
    file = _file(caller, path)
    number = revision or file.revision
    files.find_git_authors(caller.space, file.path)
    if files.blame_job(file, number):
        return Status(202, {"status": "computing"})
    runs: list[dict[str, Any]] = []
    for line in files.blame(file, number):
        if line.turns:
            runs.append({"first": line.number, "last": line.number, **_revision(line.revision, line.author)})
        runs[-1]["last"] = line.number
    return json_response({"path": file.path, "revision": number, "lines": runs})


def _file(caller: Caller, path: str) -> File:
    """A file that is there; what was deleted is history, which people see on its page."""
    where = paths.clean(path if path.startswith(("/", *paths.HEADS)) else f"/{path}")
    file = files.file_row(caller.space, where)
    if file.is_deleted:
        raise NotFound(f"There is no file “{where}” any more.", code="file_not_found", path=where)
    return file


def _revision(row: Revision, author: Actor) -> dict[str, Any]:
    approver = {"kind": row.approver_kind, "name": row.approver_name} if row.approver_name else None
    git = {"author": row.git_author, "commit": row.git_commit} if row.git_commit else None
    return {
        "revision": row.number, "kind": row.kind, "author": {"kind": author.kind, "name": author.name},
        "approver": approver, "git": git, "proposal": row.proposal, "reason": row.reason, "created_at": as_text(row.created_at),
    }  # fmt: skip
