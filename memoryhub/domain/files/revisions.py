"""Revisions: the whole text of a file after each change, with who, why and when."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import jobs, spaces
from memoryhub.errors import NotFound
from memoryhub.models import Actor, File, Job, Proposal, Revision, Space, as_read
from memoryhub.text import diff, lines
from memoryhub.text.blame import Blame
from memoryhub.text.lines import text_of

NO_SHA = ""


def sha_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def record_revision(
    space: Space,
    file: File,
    actor: Actor,
    content: bytes,
    *,
    kind: str = "write",
    reason: str = "",
    proposal: int | None = None,
    is_deleted: bool = False,
    restored_from: int | None = None,
    moved_from: str = "",
    before: bytes | None = None,
    in_place: bool = False,
    along: Callable[[Revision], Iterable[statements.Change]] = lambda revision: (),
) -> Revision:
    """Adds the newest text of a file whose row the caller has locked, and makes cached prompts of the space stale.

    `in_place`: this text lies nowhere else, so nothing is left to write; `along`: what is written in the same statement.
    """
    before = current(file) if before is None else before
    added, removed = _counts(before, content)
    now = timezone.now()
    written = {  # in the order of _ADD
        "space_id": space.pk, "file_id": file.pk, "number": file.revision + 1, "kind": kind, "path": file.path,
        "content": content, "size": len(content), "sha256": sha_of(content), "is_deleted": is_deleted, "added": added,
        "removed": removed, "reason": reason[:1000], "proposal": proposal, "restored_from": restored_from,
        "moved_from": moved_from, "created_at": now, **actor.as_fields(),
    }  # fmt: skip
    revision = as_read(Revision, written.items(), space=space, file=file)
    revision.is_new = True
    file.revision, file.size, file.is_deleted = revision.number, revision.size, is_deleted
    file.sha256 = NO_SHA if is_deleted else revision.sha256
    file.author_kind, file.author_name = actor.kind, actor.name
    file.modified_at = file.used_at = now
    file.written_revision = revision.number if in_place else file.written_revision
    changes = (
        statements.Change(_ADD, tuple(written.values())),
        _newest(file),
        spaces.text_mark(space),
        *along(revision),
    )
    (revision.pk,) = statements.together(*changes)
    return revision


_ADD = f"""
INSERT INTO memoryhub_revision (space_id, file_id, number, kind, path, content, size, sha256, is_deleted, added, removed,
  reason, proposal, restored_from, moved_from, created_at, actor_kind, actor_id, actor_name)
SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s WHERE true {statements.ONLY} RETURNING id
"""
_NEWEST = f"""
UPDATE memoryhub_file SET revision = %s, size = %s, is_deleted = %s, sha256 = %s, author_kind = %s, author_name = %s,
  modified_at = %s, used_at = %s, written_revision = %s, written_sha256 = %s
WHERE id = %s {statements.ONLY}
"""  # noqa: S608 (a word of ours)


def _newest(file: File) -> statements.Change:
    values = (
        file.revision, file.size, file.is_deleted, file.sha256, file.author_kind, file.author_name, file.modified_at,
        file.used_at, file.written_revision, file.written_sha256, file.pk,
    )  # fmt: skip
    return statements.Change(_NEWEST, values)


def _counts(before: bytes, after: bytes) -> tuple[int, int]:
    """Lines added and removed; of what is no text, nothing is counted."""
    if b"\x00" in before or b"\x00" in after:
        return 0, 0
    return diff.counts(text_of(before), text_of(after))


def current(file: File) -> bytes:
    """The published bytes of a file; of a deleted or new one, none."""
    if not file.revision or file.is_deleted:
        return b""
    return content_of(file, file.revision)


# A range of one, in order: see `published.GATHER`.
_CONTENT = """
SELECT content FROM memoryhub_revision
WHERE space_id = %(space)s AND file_id = %(file)s AND number BETWEEN %(number)s AND %(number)s ORDER BY number LIMIT 1
"""


def content_of(file: File, number: int) -> bytes:
    found = statements.rows(_CONTENT, {"space": file.space_id, "file": file.pk, "number": number}, binary=True)
    if not found:
        raise _no_revision(file, number)
    return found[0][0]


def get_revision(file: File, number: int) -> Revision:
    revision = Revision.objects.within(file.space_id).filter(file=file, number=number).first()
    if revision is None:
        raise _no_revision(file, number)
    return revision


def _no_revision(file: File, number: int) -> NotFound:
    return NotFound(f"“{file.path}” has no revision {number}.", code="revision_not_found")


def knows(file: File, sha: str) -> bool:
    """Whether a text stands in the history of this file."""
    return Revision.objects.within(file.space_id).filter(file=file, sha256=sha, is_deleted=False).exists()


def revisions_of(file: File, before: int | None = None, limit: int = 50) -> list[Revision]:
    """Revisions without their texts, newest first, as many as a page shows."""
    found = Revision.objects.within(file.space_id).filter(file=file).defer("content").order_by("-number")
    return list(found.filter(number__lt=before)[:limit] if before else found[:limit])


# ---- who wrote which line


@dataclass(frozen=True)
class BlameLine:
    number: int
    text: str
    revision: Revision
    turns: bool  # another revision than the line above


# The newest blames of this process; every entry can be made again from the database.
_cache: dict[tuple[int, int], list[int]] = {}
_CACHED = 32
BLAME = "files.blame"
BLAME_AT_ONCE = 32 * 1024 * 1024  # bytes of history that are read in some 150 ms
jobs.result_lives[BLAME] = timedelta(days=30)


def blame(file: File, number: int | None = None) -> list[BlameLine]:
    """Each line of a revision with the revision that brought it, through moves and restores."""
    revision = get_revision(file, number or file.revision)
    keys = _keys(file, revision.number)
    known = Revision.objects.within(file.space_id).defer("content").in_bulk(set(keys))
    texts = lines.split(text_of(bytes(revision.content)))
    turns = [at == 0 or keys[at] != keys[at - 1] for at in range(len(keys))]
    return [BlameLine(at + 1, line.removesuffix("\n"), known[keys[at]], turns[at]) for at, line in enumerate(texts)]


def _keys(file: File, number: int) -> list[int]:
    key = file.pk, number
    if key not in _cache:
        lines = _blamed(file, number).lines
        while len(_cache) >= _CACHED:
            _cache.pop(next(iter(_cache)), None)
        _cache[key] = lines
    return _cache[key]


def blame_job(file: File, number: int) -> Job | None:
    """The job that goes through a long history for the first time; nothing when it is quick, or known already."""
    if (file.pk, number) in _cache or _bytes_to_read(file, number) <= BLAME_AT_ONCE:
        return None
    asked = {"file": file.pk, "revision": number}
    lately = Q(state=Job.FAILED, ended_at__gt=timezone.now() - timedelta(minutes=1))
    there = Job.objects.within(file.space_id).filter(kind=BLAME, payload=asked)
    job = there.filter(Q(state__in=[Job.WAITING, Job.RUNNING]) | lately).order_by("-pk").first()
    return job or jobs.enqueue(BLAME, asked, space=file.space)


@jobs.job(BLAME)
def blame_long(job: Job, progress: jobs.Progress) -> dict[str, int]:
    """Goes through a long history once and keeps what it found, so that the next revisions cost only themselves."""
    file = File.objects.within(job.space_id).get(pk=job.payload["file"])
    number = job.payload["revision"]
    state = _blamed(file, number, progress)
    jobs.keep_result(job.space_id, BLAME, _blame_key(file, number), array("q", [number, *state.keys]).tobytes())
    return {"lines": len(state.lines)}


def _blamed(file: File, number: int, progress: jobs.Progress = lambda done, total: None) -> Blame:
    """The keys of every line, from what is kept of this file's past, or from the beginning."""
    state = Blame(again=_stood_twice(file))
    start = 1
    if kept := _kept(file, number):
        state.text, state.keys, start = bytes(kept[0].content), kept[1], kept[0].number + 1
    for done, (key, content, sha) in enumerate(_chain(file, number, start), start):
        state.feed(key, content, sha)
        progress(min(done, number - 1), number)
    return state


def _kept(file: File, number: int) -> tuple[Revision, list[int]] | None:
    """What is kept of a file's blame, if what came after needs nothing older: no move, no text that stood before."""
    found = jobs.newest_result(file.space_id, BLAME, _blame_key(file, 0), _blame_key(file, number))
    if found is None:
        return None
    held = array("q", bytes(found.content))
    base, keys = held[0], held[1:].tolist()
    later = Revision.objects.within(file.space_id).filter(file=file, number__gt=base, number__lte=number)
    earlier = Revision.objects.within(file.space_id).filter(file=file, number__lte=base, is_deleted=False)
    back = Exists(earlier.filter(sha256=OuterRef("sha256")))
    if later.filter(back, is_deleted=False).exists() or later.exclude(moved_from="").exists():
        return None
    return get_revision(file, base), keys


def _blame_key(file: File, number: int) -> str:
    return f"{file.pk}/{number:015}"  # in the order of the revisions


def _bytes_to_read(file: File, number: int) -> int:
    kept = _kept(file, number)
    rows = Revision.objects.within(file.space_id).filter(file=file, number__lte=number)
    if kept:
        rows = rows.filter(number__gt=kept[0].number)
    return rows.aggregate(all=models.Sum("size"))["all"] or 0


def _chain(file: File, number: int, start: int = 1) -> Iterator[tuple[int, bytes, str]]:
    """The texts that led to this revision, oldest first; a moved file's past lies under its old path."""
    first = _last_move(file, number) if start == 1 else None
    if first is not None and (origin := _origin(first)):
        yield from _chain(origin, first.restored_from or origin.revision)
        start = first.number
    while rows := statements.rows(_TEXTS, [file.space_id, file.pk, start, number, _AT_ONCE], binary=True):
        for pk, _, content, sha, is_deleted in rows:
            yield (pk, b"", "") if is_deleted else (pk, content, sha)
        start = rows[-1][1] + 1


# Texts travel as they are, not as hexadecimal digits: a long history is a hundred megabytes.
_TEXTS = """
SELECT id, number, content, sha256, is_deleted FROM memoryhub_revision
WHERE space_id = %s AND file_id = %s AND number BETWEEN %s AND %s ORDER BY number LIMIT %s
"""
_AT_ONCE = 50


def _last_move(file: File, number: int) -> Revision | None:
    moved = Revision.objects.within(file.space_id).filter(file=file, number__lte=number, kind="move", is_deleted=False)
    return moved.exclude(moved_from="").defer("content").order_by("-number").first()


def _origin(revision: Revision) -> File | None:
    found = File.objects.within(revision.space_id).filter(path=revision.moved_from, thread_id="").first()
    # Each step goes back in time, so a file that was moved in a circle is told to its end as well.
    return found if found and (revision.restored_from or 0) <= found.revision else None


def _stood_twice(file: File) -> frozenset[str]:
    rows = Revision.objects.within(file.space_id).filter(file=file, is_deleted=False).values("sha256")
    return frozenset(row["sha256"] for row in rows.annotate(n=models.Count("pk")).filter(n__gt=1).order_by())


def base_content(proposal: Proposal) -> bytes:
    """What the agent had in front of it; empty if there was no file."""
    found = Revision.objects.within(proposal.space_id).filter(
        file__path=proposal.path, number=proposal.base_revision, sha256=proposal.base_sha256
    )
    content = found.values_list("content", flat=True).first()
    return bytes(content) if content is not None else b""
