"""Listing folders, and finding files by what somebody types."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from memoryhub.db import statements
from memoryhub.domain.files.disk.marks import has_secret_name
from memoryhub.domain.files.mounts import find_mount, intake_of, is_mine, mounts_of_space, place_in_mount
from memoryhub.domain.files.read import ANYBODY, Published, Reader, read_many
from memoryhub.errors import HubError
from memoryhub.models import Mount, Space
from memoryhub.stores import FilesystemStore, paths, views
from memoryhub.stores.disk import is_closed
from memoryhub.stores.filesystem import Entry as DiskEntry
from memoryhub.stores.survey import Intake

_ROWS_AT_ONCE = 2000
_CLOSED = "the hub may not read it: its owner or permissions keep it out"


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a folder; `note` says what is unusual about it (a link, a name that cannot be a path)."""

    path: str
    is_dir: bool
    size: int
    modified_at: datetime | None
    note: str = ""

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]


def list_entries(
    space: Space, prefix: str = "/", *, thread_id: str = "", with_odd: bool = False, reader: Reader = ANYBODY
) -> list[Entry]:
    """The entries of a folder: folders, files, and mounts below it. `with_odd` also lists what no virtual path can name."""
    prefix = paths.clean(prefix or "/", directory=True)
    mounts = mounts_of_space(space)
    mount = find_mount(mounts, prefix)
    found = {entry.path: entry for entry in _entries_in_hub(space, mounts, mount, prefix, thread_id)} if mount else {}
    if mount and mount.store == Mount.Store.VIEWS:
        found = {entry.path: entry for entry in _views(space, mount, prefix, reader)}
    if mount and is_mine(mount) and (taking := intake_of(mount)):
        found = _entries_on_disk(mount, taking, prefix, found, with_odd=with_odd)
        found = _without_held(space, found, prefix)
    for other in mounts:
        if other.prefix != prefix and other.prefix.startswith(prefix):
            name = other.prefix[len(prefix) :].partition("/")[0]
            found.setdefault(f"{prefix}{name}/", Entry(f"{prefix}{name}/", True, 0, None))
    return sorted(found.values(), key=lambda entry: (not entry.is_dir, entry.path))


def _views(space: Space, mount: Mount, prefix: str, reader: Reader) -> Iterator[Entry]:
    """The files of a `views` mount, which lie in its root."""
    if prefix == mount.prefix:
        names = [mount.prefix + name.lstrip("/") for name in views.NAMES]
        for path, found in read_many(space, names, reader=reader).items():
            if isinstance(found, Published):
                yield Entry(path, False, len(found.content), found.modified_at)


def page_of_entries(
    space: Space, prefix: str, start: int, count: int, *, with_odd: bool = False
) -> tuple[list[Entry], int]:
    """Some of what `list_entries` answers, and how many there are in all. Of a folder that lies in the hub alone, nothing else
    is read."""
    mount = mount_in_hub(space, prefix)
    if mount is None:
        found = list_entries(space, prefix, with_odd=with_odd)
        return found[start : start + count], len(found)
    values = {"cut": len(prefix) + 1, **_below(space, mount, prefix, ""), "start": start, "count": count}
    rows = statements.rows(_PAGE.format(space=int(space.pk)), values, binary=True)
    total = rows[0][5] if rows else 0
    return [_entry_in_hub(prefix, *row[:5]) for row in rows], total


def mount_in_hub(space: Space, prefix: str) -> Mount | None:
    """The mount of a folder that lies in the hub alone: on no disk of this node, with no other mount below it; else None."""
    mounts = mounts_of_space(space)
    mount = find_mount(mounts, prefix)
    has_inner = any(other.prefix != prefix and other.prefix.startswith(prefix) for other in mounts)
    if mount is None or has_inner or mount.store == Mount.Store.VIEWS or (is_mine(mount) and intake_of(mount)):
        return None
    return mount


# Below a prefix that ends with a slash lies what comes before the same prefix with the next sign, which is a zero: a range
# that the index of paths gives. The space's number stands in the SQL text: as a parameter, the planner takes each space for
# one of average size, and reads all files of a large one.
_CHILDREN = """
SELECT split_part(substr(path, %(cut)s), '/', 1), strpos(substr(path, %(cut)s), '/') > 0, max(size), max(modified_at),
  bool_or(written_revision IS DISTINCT FROM revision)
FROM memoryhub_file
WHERE space_id = {space} AND thread_id = %(thread)s AND NOT is_deleted AND revision > 0
  AND path ~>=~ %(prefix)s AND path ~<~ %(end)s
GROUP BY 1, 2
"""
_PAGE = f"SELECT *, count(*) OVER () FROM ({_CHILDREN}) c (name, is_dir, size, modified_at, unwritten) "  # noqa: S608
_PAGE += 'ORDER BY is_dir DESC, name COLLATE "C" LIMIT %(count)s OFFSET %(start)s'
_FILES = """
SELECT path, size, modified_at FROM memoryhub_file
WHERE space_id = %(space)s AND thread_id = %(thread)s AND NOT is_deleted AND revision > 0
  AND path ~>=~ %(prefix)s AND path ~<~ %(end)s AND path ~>~ %(after)s
  AND (NOT %(unwritten)s::boolean OR written_revision IS DISTINCT FROM revision)
ORDER BY path USING ~<~ LIMIT %(limit)s
"""


def _below(space: Space, mount: Mount, prefix: str, thread_id: str) -> dict[str, Any]:
    """What both statements are asked with."""
    thread = thread_id if mount.store == Mount.Store.THREAD else ""
    return {"space": space.pk, "thread": thread, "prefix": prefix, "end": prefix[:-1] + "0"}


def _entries_in_hub(space: Space, mounts: list[Mount], mount: Mount, prefix: str, thread_id: str) -> Iterator[Entry]:
    """The entries that the hub knows, without those of other mounts."""
    values = {"cut": len(prefix) + 1, **_below(space, mount, prefix, thread_id)}
    for row in statements.rows(_CHILDREN.format(space=int(space.pk)), values, binary=True):
        entry = _entry_in_hub(prefix, *row)
        if find_mount(mounts, entry.path) is mount:
            yield entry


def _entry_in_hub(prefix: str, name: str, is_dir: bool, size: int, modified_at: datetime, unwritten: bool) -> Entry:
    path = prefix + name + ("/" if is_dir else "")
    return Entry(path, is_dir, 0 if is_dir else size, modified_at, "not on disk yet" if unwritten else "")


def _entries_on_disk(
    mount: Mount, taking: Intake, prefix: str, in_hub: dict[str, Entry], *, with_odd: bool
) -> dict[str, Entry]:
    """The entries of the folder on disk, and those that the hub has not written there yet."""
    try:
        on_disk = taking.entries(paths.strip(mount.prefix, prefix), mount.prefix)
    except HubError as error:
        if error.status == 503:
            raise
        on_disk = []
    shown = {}
    for disk_entry in on_disk:
        entry = _entry_from_disk(prefix, disk_entry)
        if entry.is_dir and entry.path not in in_hub and taking.hides_all_of(paths.strip(mount.prefix, entry.path)):
            continue  # a folder of code would look empty
        if (entry.is_dir or (with_odd and not entry.note)) and is_closed(
            taking.root + paths.strip(mount.prefix, entry.path)
        ):
            entry = replace(entry, note=_CLOSED)
        if (with_odd or not entry.note) and not has_secret_name(disk_entry.name):
            shown[entry.path] = entry
    unwritten = {path: entry for path, entry in in_hub.items() if entry.note and path not in shown}
    return shown | unwritten


# What waits for a person is not shown: a new file is not there yet, a deleted one still is.
_HELD = "SELECT path, held, size, modified_at FROM memoryhub_file WHERE space_id = %s AND held <> '' AND thread_id = ''"


def _held(space: Space, prefix: str) -> dict[str, Entry | None]:
    """The entries of files below a prefix whose change on disk waits, as the hub hands them out; None is no file."""
    return {
        path: None if held == "made" else Entry(path, False, size, modified_at)
        for path, held, size, modified_at in statements.rows(_HELD, [space.pk])
        if path.startswith(prefix)
    }


def _without_held(space: Space, shown: dict[str, Entry], prefix: str) -> dict[str, Entry]:
    """The entries of a folder as the hub hands them out."""
    for path, entry in _held(space, prefix).items():
        name, slash, _ = path[len(prefix) :].partition("/")
        if entry is None:
            shown.pop(path, None)
        elif slash:
            shown.setdefault(f"{prefix}{name}/", Entry(f"{prefix}{name}/", True, 0, None))
        else:
            shown[path] = entry
    return shown


def _modified_at(entry: DiskEntry) -> datetime | None:
    """When a file on disk changed last; None where the disk names a year that Python does not know."""
    try:
        return datetime.fromtimestamp(entry.stat.mtime_ns / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _entry_from_disk(prefix: str, entry: DiskEntry) -> Entry:
    modified = _modified_at(entry)
    note = f"its name {entry.odd}" if entry.odd else ""
    if entry.stat.kind == "link":
        note = f"a link to {entry.target}; links are not followed"
    elif entry.stat.kind == "other":
        note = "neither a file nor a folder"
    is_dir = entry.stat.kind == "folder"
    return Entry(
        prefix + entry.name + ("/" if is_dir else ""), is_dir, 0 if is_dir else entry.stat.size, modified, note
    )


def link_target(space: Space, path: str) -> str:
    """The path that a link on disk names by a relative path inside its mount; else "". The link is read and not followed."""
    mount = find_mount(mounts_of_space(space), path)
    place = place_in_mount(mount, path) if mount else None
    if mount is None or place is None or not isinstance(place.store, FilesystemStore):
        return ""
    folder, _slash, name = place.relative.rpartition("/")
    with contextlib.suppress(HubError):
        target = next((one.target for one in place.store.entries(folder or "/") if one.name == name), "")
        inside = posixpath.normpath(posixpath.join(folder.lstrip("/"), target))
        if target and not inside.startswith(("..", "/")):
            return paths.clean(mount.prefix + inside)
    return ""


def walk(space: Space, prefix: str = "/", *, thread_id: str = "", reader: Reader = ANYBODY) -> Iterator[Entry]:
    """Every file at or below a folder, mounts below it included; deleted files are left out."""
    prefix = paths.clean(prefix or "/", directory=True)
    mounts = mounts_of_space(space)
    for mount in mounts:
        if mount.store == Mount.Store.VIEWS:
            if paths.under(prefix, mount.prefix):
                yield from _views(space, mount, mount.prefix, reader)
            continue
        if paths.under(prefix, mount.prefix):
            yield from _walk_mount(space, mounts, mount, mount.prefix, thread_id)
        elif paths.under(mount.prefix, prefix) and find_mount(mounts, prefix) is mount:
            yield from _walk_mount(space, mounts, mount, prefix, thread_id)


def _walk_mount(space: Space, mounts: list[Mount], mount: Mount, prefix: str, thread_id: str) -> Iterator[Entry]:
    seen: set[str] = set()
    taking = intake_of(mount) if is_mine(mount) else None
    held = _held(space, prefix) if taking else {}
    for path, as_handed_out in held.items():
        if find_mount(mounts, path) is mount:
            seen.add(path)
            if as_handed_out:
                yield as_handed_out
    if taking:
        for relative, entry in taking.files(paths.strip(mount.prefix, prefix)):
            path = mount.prefix + relative[1:]
            if entry.odd or entry.stat.kind != "file" or path in seen or has_secret_name(relative):
                continue
            if find_mount(mounts, path) is mount:
                seen.add(path)
                yield Entry(path, False, entry.stat.size, _modified_at(entry))
    for path, size, modified_at in _files(_below(space, mount, prefix, thread_id), unwritten=taking is not None):
        if path not in seen and find_mount(mounts, path) is mount:
            yield Entry(path, False, size, modified_at)


def _files(below: dict[str, Any], *, unwritten: bool) -> Iterator[tuple[str, int, datetime]]:
    """Path, size and time of the files that the hub knows, in the order of their paths."""
    rows: list[tuple[Any, ...]] = []
    while not rows or len(rows) == _ROWS_AT_ONCE:
        after = rows[-1][0] if rows else ""
        values = {**below, "after": after, "unwritten": unwritten, "limit": _ROWS_AT_ONCE}
        rows = statements.rows(_FILES, values, binary=True)
        if not rows:
            return
        yield from rows


_OLDEST = """
SELECT path, size, modified_at, created_at, id FROM memoryhub_file
WHERE space_id = %(space)s AND thread_id = %(thread)s AND NOT is_deleted AND revision > 0
  AND path ~>=~ %(prefix)s AND path ~<~ %(end)s AND (created_at, id) > (%(at)s::timestamptz, %(id)s)
ORDER BY created_at, id LIMIT %(limit)s
"""


def oldest_in_hub(space: Space, mount: Mount, prefix: str, thread_id: str, at_first: int) -> Iterator[Entry]:
    """The files below a folder of `mount_in_hub` in the order in which they were made; `at_first` of them are read in one go."""
    values = {**_below(space, mount, prefix, thread_id), "at": "-infinity", "id": 0, "limit": at_first}
    while rows := statements.rows(_OLDEST, values, binary=True):
        for path, size, modified_at, *_made in rows:
            yield Entry(path, False, size, modified_at)
        if len(rows) < values["limit"]:
            return
        values |= {"at": rows[-1][3].isoformat(), "id": rows[-1][4], "limit": 4 * values["limit"]}


_MADE = """
SELECT path, created_at, id FROM memoryhub_file
WHERE space_id = %(space)s AND thread_id = ANY(%(threads)s) AND NOT is_deleted AND revision > 0
  AND path ~>=~ %(prefix)s AND path ~<~ %(end)s
"""


def made_at(space: Space, prefix: str, thread_id: str = "") -> dict[str, tuple[datetime, int]]:
    """When each file that the hub knows below a prefix was made, and its id, by path."""
    values = {"space": space.pk, "threads": ["", thread_id], "prefix": prefix, "end": prefix[:-1] + "0"}
    return {path: (at, number) for path, at, number in statements.rows(_MADE, values, binary=True)}


def is_folder(space: Space, path: str) -> bool:
    """Whether a file or a mount lies below this path."""
    return next(walk(space, path), None) is not None or any(m.prefix == path + "/" for m in mounts_of_space(space))


_NAMED = """
SELECT path FROM memoryhub_file
WHERE space_id = %(space)s AND thread_id = '' AND NOT is_deleted AND revision > 0 AND path ILIKE ALL (%(likes)s)
ORDER BY lower(regexp_replace(path, '^.*/', '')) LIKE %(begins)s DESC, regexp_replace(path, '^.*/', '') ILIKE %(holds)s DESC,
  length(path), path
LIMIT %(limit)s
"""
_ESCAPED = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def find_paths(space: Space, typed: str, limit: int = 8) -> list[str]:
    """The paths of files that fit what is typed: names that begin with it, then names and paths with all its words, then paths
    with its letters in this order."""
    words = typed.lower().split()[:8]
    if not words:
        return []
    first = words[0].translate(_ESCAPED)
    values = {"space": space.pk, "limit": limit, "begins": f"{first}%", "holds": f"%{first}%"}
    likes = [f"%{word.translate(_ESCAPED)}%" for word in words]
    found = [path for (path,) in statements.rows(_NAMED, {**values, "likes": likes})]
    letters = "".join(words)
    if len(found) < limit and 2 <= len(letters) <= 40:
        scattered = "%" + "%".join(letter.translate(_ESCAPED) for letter in letters) + "%"
        more = statements.rows(_NAMED, {**values, "likes": [scattered]})
        found += [path for (path,) in more if path not in found]
    return found[:limit]


def existing_paths(space: Space, wanted: Iterable[str]) -> set[str]:
    """Those of the paths at which there is a file."""
    sql = "SELECT path FROM memoryhub_file WHERE space_id = %s AND path = ANY(%s) AND thread_id = '' AND NOT is_deleted AND revision > 0"
    return {path for (path,) in statements.rows(sql, [space.pk, list(wanted)])}
