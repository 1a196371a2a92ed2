"""Who wrote which line of a file: the author of the revision that brought it, or the reviewer who changed it."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.domain import jobs
from memoryhub.domain.files.revisions import get_revision
from memoryhub.models import Actor, File, Job, Revision
from memoryhub.text import lines
from memoryhub.text.blame import Blame
from memoryhub.text.lines import text_of


@dataclass(frozen=True)
class BlameLine:
    """A line with the revision that wrote it and who wanted it; `turns` where the line above is of another one."""

    number: int
    text: str
    revision: Revision
    turns: bool
    author: Actor

    @property
    def by_reviewer(self) -> bool:
        """Whether the reviewer wrote it while approving what the revision's author asked for."""
        return (self.author.kind, self.author.name) != (self.revision.actor_kind, self.revision.actor_name)


# For each line the id of its revision; negative, where the reviewer wrote it.
blames: Cache[list[int]] = Cache(
    "blames", key="file, revision", max_items=32, invalidated_by="nothing: a revision does not change",
    saves="computing a blame again: 0.6 s for 5,000 lines over 500 revisions",
)  # fmt: skip
BLAME_JOB = "files.blame"
MAX_BLAME_BYTES = 32 * 1024 * 1024  # of history; as much is read in some 150 ms
jobs.result_lifetimes[BLAME_JOB] = timedelta(days=30)


def blame(file: File, number: int | None = None) -> list[BlameLine]:
    """Each line of a revision with the revision that wrote it, followed through moves and restores."""
    revision = get_revision(file, number or file.revision)
    keys = _blame_keys(file, revision.number)
    by_key = Revision.objects.within(file.space_id).defer("content").in_bulk({abs(key) for key in keys})
    authors = {key: author_of(by_key[abs(key)], by_reviewer=key < 0) for key in set(keys)}
    texts = lines.split(text_of(bytes(revision.content)))
    turns = [at == 0 or keys[at] != keys[at - 1] for at in range(len(keys))]
    return [
        BlameLine(at + 1, line.removesuffix("\n"), by_key[abs(keys[at])], turns[at], authors[keys[at]])
        for at, line in enumerate(texts)
    ]


def author_of(revision: Revision, *, by_reviewer: bool = False) -> Actor:
    """Who wanted the words of a revision, or those lines of it that its reviewer wrote."""
    mine: dict[str, Any] | None = revision.reviewer_lines if by_reviewer else None
    if mine:
        return Actor(mine["kind"], mine["id"], mine["name"])
    return Actor(revision.actor_kind, revision.actor_id, revision.actor_name)


def _blame_keys(file: File, number: int) -> list[int]:
    keys = blames.get((file.pk, number))
    if keys is None:
        keys = _compute_blame(file, number).lines
        blames.put((file.pk, number), keys)
    return keys


def blame_job(file: File, number: int) -> Job | None:
    """The job that computes the blame of a long history; None where it is cached, or quick enough to compute at once."""
    if blames.get((file.pk, number)) is not None or _bytes_to_read(file, number) <= MAX_BLAME_BYTES:
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
    among = _files_behind(file, number)
    state = Blame(repeated=_repeated_shas(among), referred=_referred(among))
    start = 1
    if stored := _stored_blame(file, number):
        revision, keys = stored
        state.text, state.keys, start = bytes(revision.content), keys, revision.number + 1
    for done, one in enumerate(_text_chain(file, number, start), start):
        state.add(
            one.key, one.content, one.sha, by_other=one.by_reviewer, based_on=one.based_on, merged_with=one.merged_with
        )
        progress(min(done, number - 1), number)
    return state


def _stored_blame(file: File, number: int) -> tuple[Revision, list[int]] | None:
    """The stored blame of an earlier revision: revision and keys. None if a later one moved the file, or restored or merged an older
    text: that needs the texts before."""
    found = jobs.newest_result(file.space_id, BLAME_JOB, _blame_key(file, 0), _blame_key(file, number))
    if found is None:
        return None
    numbers = array("q", bytes(found.content))
    base, keys = numbers[0], numbers[1:].tolist()
    later = Revision.objects.within(file.space_id).filter(file=file, number__gt=base, number__lte=number)
    earlier = Revision.objects.within(file.space_id).filter(file=file, number__lte=base, is_deleted=False)
    restored = Exists(earlier.filter(sha256=OuterRef("sha256")))
    refers = Q(based_on__lte=base) | Q(merged_with__lte=base) | ~Q(moved_from="")
    if later.filter(restored, is_deleted=False).exists() or later.filter(refers).exists():
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


class Step(NamedTuple):
    """A revision as `Blame.add` takes it."""

    key: int
    content: bytes
    sha: str
    by_reviewer: list[list[int]]
    based_on: int
    merged_with: int


def _text_chain(file: File, number: int, start: int = 1) -> Iterator[Step]:
    """The texts up to this revision, oldest first; those before a move are found at the old path."""
    move = _last_move(file, number) if start == 1 else None
    if move is not None and (origin := _moved_file(move)):
        yield from _text_chain(origin, move.restored_from or origin.revision)
        start = move.number
    while rows := statements.rows(_TEXTS, [file.space_id, file.pk, start, number, _BATCH], binary=True):
        for pk, _, content, sha, is_deleted, by_reviewer, based_on, merged_with in rows:
            text, sha = (b"", "") if is_deleted else (content, sha)
            yield Step(pk, text, sha, by_reviewer or [], based_on or 0, merged_with or 0)
        start = rows[-1][1] + 1


# Read in binary form, not as hexadecimal digits: a long history is a hundred megabytes.
_TEXTS = """
SELECT id, number, content, sha256, is_deleted, reviewer_lines -> 'lines',
  CASE WHEN based_on IS NOT NULL THEN (SELECT id FROM memoryhub_revision o WHERE o.space_id = r.space_id
    AND o.file_id = r.file_id AND o.number = r.based_on) END,
  CASE WHEN merged_with IS NOT NULL THEN (SELECT id FROM memoryhub_revision o WHERE o.space_id = r.space_id
    AND o.file_id = r.file_id AND o.number = r.merged_with) END
FROM memoryhub_revision r WHERE space_id = %s AND file_id = %s AND number BETWEEN %s AND %s ORDER BY number LIMIT %s
"""
_BATCH = 50


def _last_move(file: File, number: int) -> Revision | None:
    moved = Revision.objects.within(file.space_id).filter(file=file, number__lte=number, kind="move", is_deleted=False)
    return moved.exclude(moved_from="").defer("content").order_by("-number").first()


def _moved_file(revision: Revision) -> File | None:
    found = File.objects.within(revision.space_id).filter(path=revision.moved_from, thread_id="").first()
    # Each step goes back in time, so that following a file that was moved in a circle ends.
    return found if found and (revision.restored_from or 0) <= found.revision else None


def lines_with_keys(file: File, wanted: Container[int]) -> Iterator[tuple[int, bytes, list[int]]]:
    """Each revision of a file's history, oldest first, with its text and the places (from 0) of the lines with these keys.

    A key is the id of the revision that brought a line; negative, of a line in it that the reviewer wrote.
    """
    among = _files_behind(file, file.revision)
    state = Blame(repeated=_repeated_shas(among), referred=_referred(among))
    for one in _text_chain(file, file.revision):
        state.add(
            one.key, one.content, one.sha, by_other=one.by_reviewer, based_on=one.based_on, merged_with=one.merged_with
        )
        yield one.key, one.content, [at for at, key in enumerate(state.keys) if key in wanted]


def _files_behind(file: File, number: int) -> list[File]:
    """The file and those that it was moved from, whose texts are part of its history."""
    found = [file]
    while (move := _last_move(found[-1], number)) and (origin := _moved_file(move)):
        found.append(origin)
        number = move.restored_from or origin.revision
        if len(found) > _MAX_MOVES:
            break
    return found


_MAX_MOVES = 1000


def _referred(among: list[File]) -> frozenset[int]:
    """The ids of revisions that later ones of their file were based on or merged with."""
    found: set[int] = set()
    for file in among:
        rows = Revision.objects.within(file.space_id).filter(file=file)
        refers = rows.filter(Q(based_on__isnull=False) | Q(merged_with__isnull=False))
        numbers = {number for pair in refers.values_list("based_on", "merged_with") for number in pair if number}
        found |= set(rows.filter(number__in=numbers).values_list("pk", flat=True)) if numbers else set()
    return frozenset(found)


def _repeated_shas(among: list[File]) -> frozenset[str]:
    rows = Revision.objects.within(among[0].space_id).filter(file__in=among, is_deleted=False).values("sha256")
    return frozenset(row["sha256"] for row in rows.annotate(n=models.Count("pk")).filter(n__gt=1).order_by())
