"""Revisions, the whole text of a file after each change with who, why and when; and blame."""

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
from memoryhub.domain import activity, jobs, spaces
from memoryhub.errors import NotFound
from memoryhub.models import Actor, File, Job, Proposal, Revision, Space, instance_from_columns
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
    more_changes: Callable[[Revision], Iterable[statements.Change]] = lambda revision: (),
) -> Revision:
    """Add the newest text of a file whose row the caller has locked, and raise the space's revision.

    `before` is the text so far, read if it is not given. `in_place`: the text has no place outside the database, so it counts
    as written. `more_changes`: what the same statement writes too.
    """
    before = newest_text(file) if before is None else before
    added, removed = _line_counts(before, content)
    now = timezone.now()
    written = {  # in the order of _ADD
        "space_id": space.pk, "file_id": file.pk, "number": file.revision + 1, "kind": kind, "path": file.path,
        "content": content, "size": len(content), "sha256": sha_of(content), "is_deleted": is_deleted, "added": added,
        "removed": removed, "reason": reason[:1000], "proposal": proposal, "restored_from": restored_from,
        "moved_from": moved_from, "created_at": now, **actor.as_fields(),
    }  # fmt: skip
    revision = instance_from_columns(Revision, written.items(), space=space, file=file)
    revision.is_new, revision.git_author, revision.git_commit = True, "", ""
    file.revision, file.size, file.is_deleted = revision.number, revision.size, is_deleted
    file.sha256 = NO_SHA if is_deleted else revision.sha256
    file.author_kind, file.author_name = actor.kind, actor.name
    file.modified_at = file.used_at = now
    file.written_revision = revision.number if in_place else file.written_revision
    changes = (
        statements.Change(_INSERT_REVISION, tuple(written.values())),
        _file_update(file),
        spaces.text_mark(space),
        *more_changes(revision),
    )
    (revision.pk,) = statements.together(*changes)
    return revision


_INSERT_REVISION = f"""
INSERT INTO memoryhub_revision (space_id, file_id, number, kind, path, content, size, sha256, is_deleted, added, removed,
  reason, proposal, restored_from, moved_from, created_at, actor_kind, actor_id, actor_name)
SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s WHERE true {statements.ONLY_IF_HELD} RETURNING id
"""
_UPDATE_FILE = f"""
UPDATE memoryhub_file SET revision = %s, size = %s, is_deleted = %s, sha256 = %s, author_kind = %s, author_name = %s,
  modified_at = %s, used_at = %s, written_revision = %s, written_sha256 = %s
WHERE id = %s {statements.ONLY_IF_HELD}
"""  # noqa: S608 (a word of ours)


def _file_update(file: File) -> statements.Change:
    values = (
        file.revision, file.size, file.is_deleted, file.sha256, file.author_kind, file.author_name, file.modified_at,
        file.used_at, file.written_revision, file.written_sha256, file.pk,
    )  # fmt: skip
    return statements.Change(_UPDATE_FILE, values)


def revision_line(
    space: Space, actor: Actor, verb: str, says: str, revision: Revision, adds: str = ""
) -> activity.Line:
    """The line of activity about a revision, not written yet."""
    aside = f"r{revision.number}" + (
        f" +{revision.added} −{revision.removed}" if revision.added or revision.removed else ""
    )
    url = f"files/{revision.path.lstrip('/')}?view=diff&to={revision.number}"
    return activity.make_line(
        space, actor, verb, says, revision.path, url=url, adds=adds, aside=aside, path=revision.path
    )


def _line_counts(before: bytes, after: bytes) -> tuple[int, int]:
    """Lines added and removed; none for contents with NUL, which are no text."""
    if b"\x00" in before or b"\x00" in after:
        return 0, 0
    return diff.counts(text_of(before), text_of(after))


def newest_text(file: File) -> bytes:
    """The published bytes of a file; empty for a deleted or new one."""
    if not file.revision or file.is_deleted:
        return b""
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


def get_revision(file: File, number: int) -> Revision:
    """One revision of a file, with its content."""
    revision = Revision.objects.within(file.space_id).filter(file=file, number=number).first()
    if revision is None:
        raise _no_revision(file, number)
    return revision


def _no_revision(file: File, number: int) -> NotFound:
    return NotFound(f"“{file.path}” has no revision {number}.", code="revision_not_found")


def has_text(file: File, sha: str) -> bool:
    """Whether a revision of this file has the text with this sha."""
    return Revision.objects.within(file.space_id).filter(file=file, sha256=sha, is_deleted=False).exists()


def revisions_of(file: File, before: int | None = None, limit: int = 50) -> list[Revision]:
    """The newest revisions of a file (before a number), without their contents, newest first."""
    found = Revision.objects.within(file.space_id).filter(file=file).defer("content").order_by("-number")
    return list(found.filter(number__lt=before)[:limit] if before else found[:limit])


# ---- who wrote which line


@dataclass(frozen=True)
class BlameLine:
    """A line with the revision that wrote it; `turns` where the line above is of another revision."""

    number: int
    text: str
    revision: Revision
    turns: bool


# The keys of blames that this process computed, by file and revision number, which never change.
_blame_cache: dict[tuple[int, int], list[int]] = {}
_MAX_CACHED = 32
BLAME_JOB = "files.blame"
MAX_BLAME_BYTES = 32 * 1024 * 1024  # of history; as much is read in some 150 ms
jobs.result_lifetimes[BLAME_JOB] = timedelta(days=30)


def blame(file: File, number: int | None = None) -> list[BlameLine]:
    """Each line of a revision with the revision that wrote it, followed through moves and restores."""
    revision = get_revision(file, number or file.revision)
    keys = _blame_keys(file, revision.number)
    by_key = Revision.objects.within(file.space_id).defer("content").in_bulk(set(keys))
    texts = lines.split(text_of(bytes(revision.content)))
    turns = [at == 0 or keys[at] != keys[at - 1] for at in range(len(keys))]
    return [BlameLine(at + 1, line.removesuffix("\n"), by_key[keys[at]], turns[at]) for at, line in enumerate(texts)]


def _blame_keys(file: File, number: int) -> list[int]:
    key = file.pk, number
    if key not in _blame_cache:
        lines = _compute_blame(file, number).lines
        while len(_blame_cache) >= _MAX_CACHED:
            _blame_cache.pop(next(iter(_blame_cache)), None)
        _blame_cache[key] = lines
    return _blame_cache[key]


def blame_job(file: File, number: int) -> Job | None:
    """The job that computes the blame of a long history; None where it is cached, or quick enough to compute at once."""
    if (file.pk, number) in _blame_cache or _bytes_to_read(file, number) <= MAX_BLAME_BYTES:
        return None
    payload = {"file": file.pk, "revision": number}
    failed_lately = Q(state=Job.FAILED, ended_at__gt=timezone.now() - timedelta(minutes=1))
    found = Job.objects.within(file.space_id).filter(kind=BLAME_JOB, payload=payload)
    job = found.filter(Q(state__in=[Job.WAITING, Job.RUNNING]) | failed_lately).order_by("-pk").first()
    return job or jobs.enqueue(BLAME_JOB, payload, space=file.space)


@jobs.job(BLAME_JOB)
def run_blame_job(job: Job, progress: jobs.Progress) -> dict[str, int]:
    """Computes the blame of a long history and stores the keys, so that later revisions only need the texts since then."""
    file = File.objects.within(job.space_id).get(pk=job.payload["file"])
    number = job.payload["revision"]
    state = _compute_blame(file, number, progress)
    jobs.keep_result(job.space_id, BLAME_JOB, _blame_key(file, number), array("q", [number, *state.keys]).tobytes())
    return {"lines": len(state.lines)}


def _compute_blame(file: File, number: int, progress: jobs.Progress = lambda done, total: None) -> Blame:
    """The blame of a revision, from the stored blame of an earlier one where there is one, else from the first revision on."""
    state = Blame(repeated=_repeated_shas(file))
    start = 1
    if stored := _stored_blame(file, number):
        revision, keys = stored
        state.text, state.keys, start = bytes(revision.content), keys, revision.number + 1
    for done, (key, content, sha) in enumerate(_text_chain(file, number, start), start):
        state.add(key, content, sha)
        progress(min(done, number - 1), number)
    return state


def _stored_blame(file: File, number: int) -> tuple[Revision, list[int]] | None:
    """The stored blame of an earlier revision: revision and keys. None if a later one moved the file or restored an older text:
    that needs the texts before."""
    found = jobs.newest_result(file.space_id, BLAME_JOB, _blame_key(file, 0), _blame_key(file, number))
    if found is None:
        return None
    numbers = array("q", bytes(found.content))
    base, keys = numbers[0], numbers[1:].tolist()
    later = Revision.objects.within(file.space_id).filter(file=file, number__gt=base, number__lte=number)
    earlier = Revision.objects.within(file.space_id).filter(file=file, number__lte=base, is_deleted=False)
    restored = Exists(earlier.filter(sha256=OuterRef("sha256")))
    if later.filter(restored, is_deleted=False).exists() or later.exclude(moved_from="").exists():
        return None
    return get_revision(file, base), keys


def _blame_key(file: File, number: int) -> str:
    return f"{file.pk}/{number:015}"  # with zeros, so that keys sort like numbers


def _bytes_to_read(file: File, number: int) -> int:
    stored = _stored_blame(file, number)
    rows = Revision.objects.within(file.space_id).filter(file=file, number__lte=number)
    if stored:
        rows = rows.filter(number__gt=stored[0].number)
    return rows.aggregate(all=models.Sum("size"))["all"] or 0


def _text_chain(file: File, number: int, start: int = 1) -> Iterator[tuple[int, bytes, str]]:
    """The texts up to this revision as (key, text, sha), oldest first; those before a move are found at the old path."""
    move = _last_move(file, number) if start == 1 else None
    if move is not None and (origin := _moved_file(move)):
        yield from _text_chain(origin, move.restored_from or origin.revision)
        start = move.number
    while rows := statements.rows(_TEXTS, [file.space_id, file.pk, start, number, _BATCH], binary=True):
        for pk, _, content, sha, is_deleted in rows:
            yield (pk, b"", "") if is_deleted else (pk, content, sha)
        start = rows[-1][1] + 1


# Read in binary form, not as hexadecimal digits: a long history is a hundred megabytes.
_TEXTS = """
SELECT id, number, content, sha256, is_deleted FROM memoryhub_revision
WHERE space_id = %s AND file_id = %s AND number BETWEEN %s AND %s ORDER BY number LIMIT %s
"""
_BATCH = 50


def _last_move(file: File, number: int) -> Revision | None:
    moved = Revision.objects.within(file.space_id).filter(file=file, number__lte=number, kind="move", is_deleted=False)
    return moved.exclude(moved_from="").defer("content").order_by("-number").first()


def _moved_file(revision: Revision) -> File | None:
    found = File.objects.within(revision.space_id).filter(path=revision.moved_from, thread_id="").first()
    # Each step goes back in time, so that following a file that was moved in a circle ends.
    return found if found and (revision.restored_from or 0) <= found.revision else None


def _repeated_shas(file: File) -> frozenset[str]:
    rows = Revision.objects.within(file.space_id).filter(file=file, is_deleted=False).values("sha256")
    return frozenset(row["sha256"] for row in rows.annotate(n=models.Count("pk")).filter(n__gt=1).order_by())


def base_content(proposal: Proposal) -> bytes:
    """The text that the agent's proposal is based on; empty if there was no file."""
    found = Revision.objects.within(proposal.space_id).filter(
        file__path=proposal.path, number=proposal.base_revision, sha256=proposal.base_sha256
    )
    content = found.values_list("content", flat=True).first()
    return bytes(content) if content is not None else b""
