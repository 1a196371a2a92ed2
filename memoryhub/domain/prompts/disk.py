"""Where the sources of a prompt lead, and whether those that lie on disk still are what was read there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from memoryhub.domain import files
from memoryhub.errors import HubError
from memoryhub.models import Space
from memoryhub.stores import paths
from memoryhub.stores.filesystem import FilesystemStore

State = tuple[Any, ...]  # the mark on disk, whether it is deleted, number and sha256 of the newest revision, its bytes


# The mark of a file as SQL. What was written there and was too young for a mark has an empty one, which no file has: so it
# differs from one that is gone. What still waits to be written has none.
MARK = "coalesce(stat::text, CASE WHEN written_revision = revision THEN '[]' END) AS mark"


class OnDisk(NamedTuple):
    """Where a source lies on disk, and the mark that its text was taken at; None: it was not there."""

    directory: str
    relative: str
    mark: tuple[int, ...] | None


class Place(NamedTuple):
    """Where a source leads: its path as it is configured and as it is printed, and the mount that answers it."""

    path: str | None
    printed: str
    store: str | None
    directory: str
    prefix: str
    thread: str | None

    @property
    def is_on_disk(self) -> bool:
        return self.store == "filesystem"


def spots(places: Sequence[Place], states: Sequence[State]) -> tuple[OnDisk, ...]:
    """Where these lie, with the marks that belong to the texts that were read."""
    return tuple(
        OnDisk(
            place.directory,
            on_this_disk(place.directory, place.prefix, place.path or ""),
            as_mark(mark) if mark and not is_deleted else None,
        )
        for place, (mark, is_deleted, *_) in zip(places, states, strict=True)
        if place.is_on_disk
    )


@lru_cache(maxsize=4096)
def as_mark(told: str) -> tuple[int, ...]:
    return tuple(json.loads(told))


def on_this_disk(directory: str, prefix: str, path: str) -> str:
    relative = paths.strip(prefix, path)
    return relative if relative.isascii() else FilesystemStore(directory).spelled(relative)


def is_still(disk: Iterable[OnDisk]) -> bool:
    """Whether every place on disk is as it was when its text was taken.

    A plain look is enough here: what has the same times, size and inode is the same file, whichever way led to it. The
    way that follows no links is taken when a text is read.
    """
    for spot in disk:
        try:
            found = os.lstat(spot.directory + spot.relative)
        except (OSError, ValueError):
            if spot.mark is not None:
                return False
            continue
        if spot.mark != (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino):
            return False
    return True


def why_unreadable(directory: str, prefix: str, path: str) -> str:
    """The error code that a stock agent would meet at this place of the disk, or nothing."""
    relative = paths.strip(prefix, path)
    try:
        stat = FilesystemStore(directory).stat(relative)
    except HubError as error:
        return "permission_denied" if error.status == 503 and os.path.isdir(directory) else error.code
    if stat is None:
        return ""
    if stat.kind != "file":
        return "is_directory" if stat.kind == "folder" else "not_a_file"
    return "" if os.access(directory + on_this_disk(directory, prefix, path), os.R_OK) else "permission_denied"


def take_in(space_id: int, listed: list[str], thread: str) -> None:
    """Brings changes on disk in as revisions, so that nothing a prompt shows is without one."""
    files.published_many(Space.objects.get(pk=space_id), listed, thread_id=thread)
