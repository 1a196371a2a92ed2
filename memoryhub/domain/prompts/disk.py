"""Where the sources of a prompt lie, and whether those on disk are unchanged since they were read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from memoryhub.domain import files, nodes
from memoryhub.errors import HubError
from memoryhub.models import Space
from memoryhub.stores import paths
from memoryhub.stores.disk_files import DiskFile
from memoryhub.stores.filesystem import FilesystemStore

State = tuple[Any, ...]  # the mark on disk, whether it is deleted, number and sha256 of the newest revision, its bytes


# The mark of a file as SQL. A file that was too young for a mark when it was written has an empty one, which equals no file:
# so it differs from a file that is gone. A text that waits to be written has none, nor has a file that is not on disk, though a
# deletion that a person has yet to approve may be all that is missing.
MARK = """
CASE WHEN held <> 'deleted' AND (NOT is_deleted OR held <> '')
  THEN coalesce(stat::text, CASE WHEN written_revision = revision THEN '[]' END) END AS mark
"""


class Place(NamedTuple):
    """A source's path as it is configured and as it is printed, and the mount that it lies in."""

    path: str | None
    printed: str
    store: str | None
    directory: str
    prefix: str
    thread: str | None
    selection: str | None  # what its mount takes in, where that is a directory
    node: str | None = ""  # whose directory it is, where nodes share the database

    @property
    def is_left_out(self) -> bool:
        """Whether its mount leaves it out: then it is missing, whatever lies there."""
        relative = paths.strip(self.prefix, self.path or "") if self.selection else ""
        return bool(self.selection) and files.is_left_out(
            self.directory, self.selection or "", relative, self.node or ""
        )

    @property
    def view(self) -> str:
        """The name of the file in a mount that shows memory, empty elsewhere."""
        return paths.strip(self.prefix, self.path or "") if self.store == "views" else ""

    @property
    def is_on_disk(self) -> bool:
        """Whether its text is taken from the disk."""
        return self.store == "filesystem" and nodes.is_here(self.node or "") and not self.is_left_out


def disk_files(places: Sequence[Place], states: Sequence[State]) -> tuple[DiskFile, ...]:
    """Those of the places that lie on disk, with their marks."""
    return tuple(
        DiskFile(
            place.directory,
            relative_path(place.directory, place.prefix, place.path or ""),
            parse_mark(mark) if mark else None,
        )
        for place, (mark, *_) in zip(places, states, strict=True)
        if place.is_on_disk
    )


@lru_cache(maxsize=4096)
def parse_mark(text: str) -> tuple[int, ...]:
    return tuple(json.loads(text))


def relative_path(directory: str, prefix: str, path: str) -> str:
    relative = paths.strip(prefix, path)
    return relative if relative.isascii() else FilesystemStore(directory).spelled(relative)


def read_error(directory: str, prefix: str, path: str) -> str:
    """The error code that a stock agent would get when it reads this file, or an empty string."""
    relative = paths.strip(prefix, path)
    try:
        stat = FilesystemStore(directory).stat(relative)
    except HubError as error:
        return "permission_denied" if error.status == 503 and os.path.isdir(directory) else error.code
    if stat is None:
        return ""
    if stat.kind != "file":
        return "is_directory" if stat.kind == "folder" else "not_a_file"
    return "" if os.access(directory + relative_path(directory, prefix, path), os.R_OK) else "permission_denied"


def sync_sources(space_id: int, listed: list[str], thread: str) -> None:
    """Takes changes on disk in as revisions, so that every text in a prompt has one."""
    files.read_many(Space.objects.get(pk=space_id), listed, thread_id=thread)
