"""Lists of files as pages show them: of each file or folder its newest change, how large it is, and what waits below it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.db.models.functions import Ceil

from memoryhub.db import statements
from memoryhub.dialects import BYTES_PER_TOKEN
from memoryhub.domain.files import mounts
from memoryhub.domain.files.tree import FolderEntry
from memoryhub.models import File, Mount, PolicyRule, Proposal, Revision, Space
from memoryhub.stores.thread import ThreadStore

MAX_WAITING = 10_000  # pending proposals that are counted


@dataclass(frozen=True)
class Totals:
    """How many files, and how many tokens they are together."""

    files: int
    tokens: int


def published_files(space: Space) -> QuerySet[File]:
    """The files that agents of a space can read, without those of threads."""
    return File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0)


def file_totals(space: Space) -> Totals:
    """The totals of a space: of tokens the sum of what each file has, as lists of folders add them up."""
    from_size = Sum(Ceil(F("size") / float(BYTES_PER_TOKEN)))
    found = published_files(space).aggregate(files=Count("pk"), tokens=from_size)
    return Totals(found["files"], int(found["tokens"] or 0))


def files_at(space: Space, paths: Collection[str]) -> dict[str, File]:
    """The published files among these paths."""
    return {file.path: file for file in published_files(space).filter(path__in=list(paths))}


def unwritten_files(space: Space, prefix: str) -> list[File]:
    """The files below a folder that differ from what lies on disk: not written there yet, or not read from there."""
    differ = Q(written_revision__lt=F("revision")) | ~Q(problem="")
    return list(File.objects.within(space).filter(differ, path__startswith=prefix).order_by("path"))


def first_files(space: Space, limit: int) -> list[File]:
    """The first files by path."""
    return list(published_files(space).order_by("path")[:limit])


# ---- folders


@dataclass(frozen=True)
class Below:
    """What lies below a folder."""

    files: int
    tokens: int
    newest: int  # the id of the file that changed last
    changed_at: datetime
    inner: str  # the innermost folder that holds all of it


# A file that was found on disk changed when its disk says so; the hub came by later. A file that was put back, or touched, has
# a later time on disk and has not changed. Below a prefix that ends with a slash lies
# what comes before the same prefix with the next sign, which is a zero.
BELOW = """
SELECT asked.prefix, below.files, below.tokens, below.newest[2], below.newest[1], below.first, below.last
  FROM unnest(%(prefixes)s::text[]) AS asked(prefix),
  LATERAL (
    SELECT count(*) AS files, sum((size + %(per)s - 1) / %(per)s)::bigint AS tokens,
      max(ARRAY[least((extract(epoch FROM modified_at) * 1000000)::bigint,
                      CASE WHEN revision = 1 THEN (stat->>0)::bigint / 1000 END), id]) AS newest,
      min(path COLLATE "C") AS first, max(path COLLATE "C") AS last
    FROM memoryhub_file
    WHERE space_id = %(space)s AND thread_id = '' AND NOT is_deleted AND revision > 0
      AND path ~>=~ asked.prefix AND path ~<~ (left(asked.prefix, -1) || '0')) below
 WHERE below.files > 0
"""


def below_folders(space: Space, prefixes: Iterable[str]) -> dict[str, Below]:
    """What lies below each of these folders, as far as the hub knows files there; one statement."""
    values = {"space": space.pk, "prefixes": list(prefixes), "per": BYTES_PER_TOKEN}
    if not values["prefixes"]:
        return {}
    found = {}
    for prefix, count, tokens, newest, at, first, last in statements.rows(BELOW, values):
        inner = common_start(first, last).rpartition("/")[0] + "/"
        found[prefix] = Below(count, tokens, newest, datetime.fromtimestamp(at / 1e6, UTC), inner)
    return found


def common_start(one: str, other: str) -> str:
    """The signs with which both texts begin."""
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:same]


def newest_revisions(space: Space, files: Collection[int]) -> dict[int, Revision]:
    """The newest revision of each of these files, without its text, by the file's id."""
    found = Revision.objects.raw(NEWEST, {"space": space.pk, "files": list(files)}) if files else ()
    return {revision.file_id: revision for revision in found}


NEWEST = """
SELECT r.id, r.space_id, r.file_id, r.number, r.kind, r.path, r.reason, r.proposal, r.actor_kind, r.actor_id, r.actor_name,
  r.approver_kind, r.approver_name, r.git_author, r.git_commit, r.created_at, r.is_deleted
  FROM unnest(%(files)s::bigint[]) AS asked(id)
  JOIN memoryhub_file f ON f.id = asked.id AND f.space_id = %(space)s
  JOIN LATERAL (
    SELECT * FROM memoryhub_revision r WHERE r.space_id = %(space)s AND r.file_id = f.id
      AND r.number BETWEEN f.revision AND f.revision ORDER BY r.number LIMIT 1) r ON true
"""


# ---- one page of a list


def entries_of(prefix: str, files: Iterable[File]) -> list[FolderEntry]:
    """These files as one list, each named by its path below a folder."""
    return [FolderEntry(one.path, one.path.removeprefix(prefix), False, one.size, one.modified_at) for one in files]


def add_details(space: Space, rows: Sequence[FolderEntry]) -> Sequence[FolderEntry]:
    """Adds to the entries of one page their newest change, size, policy and pending proposals; folders are joined with their
    only child. As many statements for any number of rows."""
    all_mounts = mounts.mounts_of_space(space)
    below = below_folders(space, [row.path for row in rows if row.is_dir])
    for row in rows:
        if row.path in below:
            _join(row, below[row.path], all_mounts)
    known = files_at(space, [row.path for row in rows if not row.is_dir])
    ids = [file.pk for file in known.values()] + [one.newest for one in below.values()]
    newest = newest_revisions(space, ids)
    rules = list(PolicyRule.objects.within(space).filter(is_on=True))
    for row in rows:
        _add_policy(row, all_mounts, rules)
        if file := known.get(row.path):
            _add_file(row, file, newest.get(file.pk))
    for path, one in below.items():
        row = next(row for row in rows if row.path == path or row.listed == path)
        row.tokens, row.files, row.revision, row.modified_at = (
            one.tokens,
            one.files,
            newest.get(one.newest),
            one.changed_at,
        )
    _add_waiting(space, rows)
    return rows


def _join(row: FolderEntry, below: Below, all_mounts: list[Mount]) -> None:
    """Gives a folder the path of the innermost one that holds all of it, unless a mount begins on the way."""
    on_the_way = any(mount.prefix.startswith(row.path) and mount.prefix != row.path for mount in all_mounts)
    if below.inner != row.path and below.inner.startswith(row.path) and not on_the_way:
        row.listed = row.path
        row.name, row.path = row.name + "/" + below.inner[len(row.path) :].rstrip("/"), below.inner


def _add_policy(row: FolderEntry, all_mounts: list[Mount], rules: list[PolicyRule]) -> None:
    mount = mounts.find_mount(all_mounts, row.path)
    rule = next((rule for rule in rules if mounts.rule_applies(rule, row.path, None)), None)
    row.policy = (rule.policy if rule else mount.policy) if mount else ""


def _add_file(row: FolderEntry, file: File, revision: Revision | None) -> None:
    row.tokens, row.files, row.revision = -(-file.size // BYTES_PER_TOKEN), 1, revision
    row.author_kind, row.author_name = file.author_kind, file.author_name
    row.note = row.note or file.problem
    row.modified_at = file.modified_at if file.revision > 1 or row.modified_at is None else row.modified_at


def _add_waiting(space: Space, rows: Sequence[FolderEntry]) -> None:
    if not rows:
        return
    paths = [row.path for row in rows]
    for path, count in pending_below(space, common_start(min(paths), max(paths))):
        for row in rows:
            if path == row.path or (row.is_dir and path.startswith(row.path)):
                row.waiting += count


def pending_below(space: Space, start: str) -> list[tuple[str, int]]:
    """The paths that begin so and have pending proposals, each with how many."""
    pending: Any = Proposal.objects.within(space).filter(state="pending", path__startswith=start).order_by()
    return list(pending.values_list("path").annotate(n=Count("pk"))[:MAX_WAITING])


# ---- finding a file by some of its letters

MAX_LETTERS, MAX_CANDIDATES, MAX_FOUND, MAX_TRIES = 100, 2_000, 50, 20


@dataclass(frozen=True)
class Found:
    """A file whose path has the letters, and where in the path they are."""

    path: str
    size: int
    places: tuple[int, ...]

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The path in pieces, each with whether it is one of what was typed."""
        marked, pieces = set(self.places), list[tuple[str, bool]]()
        for at, sign in enumerate(self.path):
            if pieces and pieces[-1][1] == (at in marked):
                pieces[-1] = pieces[-1][0] + sign, pieces[-1][1]
            else:
                pieces.append((sign, at in marked))
        return pieces


def search_paths(space: Space, words: str) -> list[Found]:
    """The files whose path has these letters in this order, whatever stands between; the closest first."""
    letters = "".join(words.split())[:MAX_LETTERS]
    if not letters:
        return []
    pattern = "%" + "%".join("\\" + sign if sign in "%_\\" else sign for sign in letters) + "%"
    rows = statements.rows(CANDIDATES, {"space": space.pk, "pattern": pattern, "limit": MAX_CANDIDATES})
    found = [Found(path, size, places) for path, size in rows if (places := places_of(letters, path))]
    return sorted(found, key=_distance)[:MAX_FOUND]


CANDIDATES = """
SELECT path, size FROM memoryhub_file
 WHERE space_id = %(space)s AND thread_id = '' AND NOT is_deleted AND revision > 0 AND path ILIKE %(pattern)s
 ORDER BY length(path), path LIMIT %(limit)s
"""


def places_of(letters: str, path: str) -> tuple[int, ...]:
    """Where these letters stand in a path, as close together and as near to its end as they can; empty where they do not."""
    wanted, there = letters.casefold(), path.casefold()
    if len(there) != len(path):  # a sign that changes its length: its place cannot be told
        wanted, there = letters, path
    whole = there.rfind(wanted)
    if whole >= 0:
        return tuple(range(whole, whole + len(wanted)))
    best: tuple[int, ...] = ()
    end = len(there)
    for _ in range(MAX_TRIES):
        found = _backwards(wanted, there, end)
        if not found:
            break
        if not best or found[-1] - found[0] < best[-1] - best[0]:
            best = found
        end = found[-1]
    return best


def _backwards(wanted: str, there: str, end: int) -> tuple[int, ...]:
    places = []
    for sign in reversed(wanted):
        end = there.rfind(sign, 0, end)
        if end < 0:
            return ()
        places.append(end)
    return tuple(reversed(places))


def _distance(found: Found) -> tuple[int, int, int, str]:
    """How far a match is from what was probably meant: its letters apart, not in the name, in a long path."""
    spread = found.places[-1] - found.places[0] + 1 - len(found.places)
    from_name = found.places[0] - found.path.rfind("/") - 1
    return spread + (from_name < 0), max(from_name, 0), len(found.path), found.path


@dataclass(frozen=True)
class ThreadFiles:
    """The files that one thread has in a mount."""

    thread: str
    paths: list[str]  # a few of them
    used_at: datetime

    @property
    def expires_at(self) -> datetime:
        return self.used_at + ThreadStore.keeps_for


MAX_THREADS, PATHS_OF_THREAD = 50, 5


def threads_in(space: Space, mount: Mount) -> list[ThreadFiles]:
    """The threads that have files in a mount, those used last first."""
    found = File.objects.within(space).exclude(thread_id="").filter(path__startswith=mount.prefix)
    live = found.filter(is_deleted=False, revision__gt=0).order_by()
    newest = list(live.values_list("thread_id").annotate(used=Max("used_at")).order_by("-used")[:MAX_THREADS])
    by_thread: dict[str, list[str]] = {}
    for thread, path in (
        live.filter(thread_id__in=[one for one, _ in newest]).order_by("path").values_list("thread_id", "path")
    ):
        by_thread.setdefault(thread, []).append(path)
    return [ThreadFiles(thread, by_thread.get(thread, [])[:PATHS_OF_THREAD], used) for thread, used in newest]
