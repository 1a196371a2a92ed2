"""Reading files: the published texts of many paths in one prepared statement, which every read and every prompt uses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from memoryhub.db import fragments, statements
from memoryhub.db.cache import ENTRY_BYTES, Cache
from memoryhub.domain import nodes, spaces
from memoryhub.domain.files import mounts
from memoryhub.domain.files.disk import sync
from memoryhub.domain.files.disk.problems import disk_error, is_unreadable
from memoryhub.domain.files.mounts.resolve import intake_at
from memoryhub.errors import Forbidden, HubError, NotFound
from memoryhub.models import Agent, File, Mount, Space
from memoryhub.stores import FilesystemStore, paths
from memoryhub.stores.disk import Stat
from memoryhub.stores.disk_files import DiskFile
from memoryhub.stores.selection import columns_of
from memoryhub.stores.thread import ThreadStore
from memoryhub.text.lines import is_text


@dataclass(frozen=True, slots=True)
class Published:
    """A file as agents and prompts get it."""

    path: str
    content: bytes
    revision: int
    sha256: str
    created_at: datetime
    modified_at: datetime
    status: str = "included"
    author_kind: str = ""
    author_name: str = ""
    problem: str = ""
    expires_at: datetime | None = None  # of files per thread, unless they are used before
    disk_secrets: tuple[dict[str, Any], ...] = ()  # that stand on disk where the content has marks

    @property
    def is_text(self) -> bool:
        """Whether the content is valid UTF-8 without NUL."""
        return is_text(self.content)


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of files: files of a `views` mount show each agent its own. Without an agent, what the group has."""

    agent: Agent | None = None
    may_recall: bool = True  # whether its token may read working and long-term memory


ANYBODY = Reader()


@dataclass(frozen=True, slots=True)
class CachedFile:
    """A file as it was published at one revision of its space, and where on disk it was taken from."""

    published: Published
    disk: tuple[DiskFile, ...]

    @property
    def bytes(self) -> int:
        return len(self.published.content)


@dataclass(slots=True)
class PublishedRow:
    """A path with its mount, its file and its newest text, as far as they exist, or the error of a bad path."""

    path: str
    prefix: str | None
    store: str
    directory: str
    policy: str
    file_id: int | None
    revision: int
    is_deleted: bool
    sha256: str
    stat: str | None  # as JSON
    written_revision: int | None
    problem: str
    created_at: datetime | None
    modified_at: datetime | None
    used_at: datetime | None
    author_kind: str
    author_name: str
    disk_secrets: str  # as JSON
    held: str  # what lies on disk is another text, which waits for a person
    content: bytes | None
    selection: str = ""
    node: str = ""
    refusal: HubError | None = None

    @property
    def lies_here(self) -> bool:
        """Whether its text is taken from a disk of this node."""
        return self.store == "filesystem" and nodes.is_here(self.node)

    @property
    def relative(self) -> str:
        return paths.strip(self.prefix or "/", self.path)

    def is_left_out(self) -> bool:
        """Whether its mount leaves the path out by its name. What only the disk tells, syncing finds out."""
        return bool(self.selection) and bool(intake_at(self.directory, self.selection).why_named_out(self.relative))

    def matches_disk(self, stat: Stat | None) -> bool:
        """Whether this stat of the file on disk (None: no file) is that of the last read or write."""
        if self.file_id is None or not (self.revision or self.held):
            return stat is None
        if self.written_revision != self.revision or self.problem:
            return False
        if self.held == "deleted":
            return stat is None
        if not self.held and (stat is None or self.is_deleted):
            return stat is None and self.is_deleted
        return (
            stat is not None and stat.mark is not None and self.stat is not None and stat.mark == json.loads(self.stat)
        )

    def answer(self) -> Published | HubError:
        """The published file, or the error that says why there is none."""
        if self.refusal is not None:
            return self.refusal
        if self.file_id is None or not self.revision or self.is_deleted or self.content is None:
            return not_found(self.path)
        return self.published()

    @property
    def expires_at(self) -> datetime | None:
        """When a file of a thread goes, unless it is used before; reading it puts that off, at most once an hour."""
        return self.used_at + ThreadStore.keeps_for if self.store == "thread" and self.used_at else None

    def on_disk(self) -> tuple[DiskFile, ...]:
        """Where its text lies on disk, if it does."""
        if not self.lies_here:
            return ()
        mark = None if self.held == "deleted" else tuple(json.loads(self.stat or "[]"))
        return (DiskFile(self.directory, self.relative, mark),)

    def published(self) -> Published:
        """The published file of a row that has one."""
        assert self.content is not None
        assert self.created_at is not None and self.modified_at is not None
        return Published(
            self.path, self.content, self.revision, self.sha256, self.created_at, self.modified_at,
            author_kind=self.author_kind, author_name=self.author_name, problem=self.problem, expires_at=self.expires_at,
            disk_secrets=() if self.disk_secrets == "[]" else tuple(json.loads(self.disk_secrets)),
        )  # fmt: skip


def read_view(space: Space, row: PublishedRow, reader: Reader) -> Published | HubError:
    """A file of a `views` mount, made now."""
    if row.refusal is not None:
        return row.refusal
    if not reader.may_recall:
        return Forbidden(
            "This file shows memory, so its token needs the scope 'retrieve'.", code="scope_missing", scope="retrieve"
        )
    found: tuple[bytes, datetime] | None = spaces.ask_event("read_view", space, reader.agent, row.relative)
    if found is None:
        return not_found(row.path)
    content, at = found
    return Published(
        row.path, content, 0, hashlib.sha256(content).hexdigest(), at, at, author_kind="hub", author_name="hub"
    )


def not_found(path: str) -> NotFound:
    """The error for a path without a file."""
    return NotFound(f"File '{path}' not found", code="file_not_found", path=path)


THREAD_OF_STORE = "CASE WHEN store = 'thread' THEN %(thread)s::text ELSE '' END AS thread"
READ_ROWS = f"""
SELECT p.path, m.prefix, coalesce(m.store, ''), coalesce(m.directory, ''), coalesce(m.policy, ''), f.id,
  coalesce(f.revision, 0), coalesce(f.is_deleted, false), coalesce(f.sha256, ''), f.stat::text, f.written_revision,
  coalesce(f.problem, ''), f.created_at, f.modified_at, f.used_at, coalesce(f.author_kind, ''),
  coalesce(f.author_name, ''), coalesce(f.disk_secrets::text, '[]'),
  coalesce(f.held, ''), r.content, coalesce(m.selection, ''), coalesce(m.node, '')
FROM unnest(%(paths)s::text[]) WITH ORDINALITY AS p(path, n)
LEFT JOIN LATERAL ({fragments.mount_of("p.path", "%(space)s", f"*, {THREAD_OF_STORE}, {fragments.SELECTION}")}) m ON true
LEFT JOIN LATERAL ({fragments.file_at("p.path", "%(space)s", "coalesce(m.thread, '')")}) f ON true
LEFT JOIN LATERAL ({fragments.newest_text_of("f", "%(space)s", only="NOT f.is_deleted")}) r ON true
ORDER BY p.n
"""  # noqa: S608 (pieces of ours)


def published_rows(space: Space | int, asked_paths: list[str], thread_id: str = "") -> list[PublishedRow]:
    """One row for each of these paths, in their order; a bad path and one without a mount have a row with its error.

    Files on disk are not looked at: see `changed_on_disk`.
    """
    refused: dict[str, HubError] = {}
    cleaned: dict[str, str] = {}
    for path in asked_paths:
        try:
            cleaned[path] = paths.clean(path)
        except HubError as error:
            refused[path] = error
    rows = {}
    values = {"paths": list(cleaned.values()), "space": getattr(space, "pk", space), "thread": thread_id}
    for columns in statements.rows(READ_ROWS, values, binary=True) if cleaned else []:
        rows[columns[0]] = PublishedRow(*columns)
    answers = []
    for path in asked_paths:
        row = _refused_row(path, refused[path]) if path in refused else rows[cleaned[path]]
        if row.path != path:
            row = replace(row, path=path)  # two spellings of one path have a row each
        if row.refusal is None and (row.prefix is None or row.is_left_out()):
            row.refusal = not_found(path)
        answers.append(row)
    return answers


def _refused_row(path: str, refusal: HubError) -> PublishedRow:
    nothing = (None, "", "", "", None, 0, False, "", None, None, "", None, None, None, "", "", "[]", "", None)
    return PublishedRow(path, *nothing, refusal=refusal)


cache: Cache[CachedFile] = Cache(
    "files as agents read them", key="space, path", max_bytes=32 << 20, size_of=lambda file: file.bytes + ENTRY_BYTES,
    invalidated_by="the space's revision, a change of the file on disk", saves="a statement for each file that is read",
)  # fmt: skip


def cached(space: Space, path: str) -> Published | None:
    """The file at this path, if it was cached at the revision that `space` names and nobody touched it on disk since."""
    found = cache.get((space.pk, path), space.revision)
    return found.published if found and all(file.is_unchanged() for file in found.disk) else None


def put_in_cache(space: Space, row: PublishedRow, answer: Published) -> None:
    """Keeps a file for the next reader at this revision. Those of threads are noted as used whenever they are read."""
    if row.store not in ("thread", "views"):
        cache.put((space.pk, row.path), CachedFile(answer, row.on_disk()), space.revision)


def changed_on_disk(rows: list[PublishedRow]) -> list[PublishedRow]:
    """The rows whose file on disk changed since it was last read or written, or cannot be looked at: a stat for each."""
    by_root: dict[str, list[PublishedRow]] = {}
    for row in rows:
        if row.refusal is None and row.lies_here:
            by_root.setdefault(row.directory, []).append(row)
    changed = []
    for root, group in by_root.items():
        try:
            stats = FilesystemStore(root).stats([row.relative for row in group])
        except HubError:
            changed += group
            continue
        changed += [row for row, stat in zip(group, stats, strict=True) if not row.matches_disk(stat)]
    return changed


# ---- the texts that are published


def read(space: Space, path: str, *, thread_id: str = "") -> Published:
    """The published text of a file; what changed on disk is recorded first."""
    path = paths.clean(path)
    found = read_many(space, [path], thread_id=thread_id)[path]
    if isinstance(found, HubError):
        raise found
    return found


def read_many(
    space: Space,
    asked_paths: Iterable[str],
    *,
    thread_id: str = "",
    reader: Reader = ANYBODY,
) -> dict[str, Published | HubError]:
    """The published text of each path, or the error why there is none.

    One statement when nothing changed on disk. The answers are by path, in the order of the paths.
    """
    wanted = list(dict.fromkeys(asked_paths))
    answers = {row.path: answer for row, answer, _ in _answers(space, wanted, thread_id, reader)}
    return {path: answers[path] for path in wanted}


def published_now(
    space: Space, many: Iterable[str], *, thread_id: str = "", reader: Reader = ANYBODY
) -> dict[str, Published | HubError]:
    """What `read_many` answers, from the cache where it can be; `space` must have been read for this very call."""
    wanted = list(dict.fromkeys(many))
    found: dict[str, Published | HubError] = {path: one for path in wanted if (one := cached(space, path))}
    for row, answer, agreed in _answers(space, [path for path in wanted if path not in found], thread_id, reader):
        found[row.path] = answer
        if agreed and isinstance(answer, Published):
            put_in_cache(space, row, answer)
    return {path: found[path] for path in wanted}


def _answers(
    space: Space, wanted: list[str], thread_id: str, reader: Reader
) -> Iterator[tuple[PublishedRow, Published | HubError, bool]]:
    """Each path's row with its answer, after taking in what changed on disk, and whether the disk agreed at once."""
    rows = published_rows(space, wanted, thread_id) if wanted else []
    problems: dict[str, HubError] = {}
    again: set[str] = set()
    if stale := changed_on_disk(rows):
        problems = {row.path: problem for row in stale if (problem := _sync_row(space, row))}
        again = {row.path for row in stale}
        rows = [row for row in rows if row.path not in again] + published_rows(space, list(again), thread_id)
    _note_use(rows)
    for row in rows:
        answer = read_view(space, row, reader) if row.store == Mount.Store.VIEWS else row.answer()
        yield row, problems.get(row.path) or answer, row.path not in again


def _sync_row(space: Space, row: PublishedRow) -> HubError | None:
    """Bring one path in step with its disk; answers the error of a disk that cannot be read, so that no old text is served."""
    columns = {name: getattr(row, name) for name in ("prefix", "store", "directory", "policy", "node")}
    place = mounts.place_in_mount(Mount(space=space, **columns, **columns_of(row.selection)), row.path)
    try:
        file = sync.sync_file(space, paths.clean(row.path), place)
    except HubError as error:
        return error
    return disk_error(file, place) if file and is_unreadable(file) else None


def _note_use(rows: list[PublishedRow]) -> None:
    """Note that thread files were used, at most once an hour: they are deleted a day after their last use."""
    hour_ago = timezone.now() - timedelta(hours=1)
    used = [row.file_id for row in rows if row.store == Mount.Store.THREAD and row.file_id and row.used_at < hour_ago]
    if used:
        File.objects.filter(pk__in=used).update(used_at=timezone.now())


def exists(space: Space, path: str, *, thread_id: str = "") -> bool:
    """Whether a file can be read at this path."""
    try:
        read(space, path, thread_id=thread_id)
    except HubError:
        return False
    return True
