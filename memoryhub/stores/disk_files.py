"""Whether files on disk are as they were when something was made of their texts: a cached prompt, a cached answer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar


class DiskFile(NamedTuple):
    """Where a text lies on disk, and the mark that it was taken at; None: it was not there."""

    directory: str
    relative: str
    mark: tuple[int, ...] | None


def are_unchanged(disk: Iterable[DiskFile]) -> bool:
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


class FromDisk(Protocol):
    """What was made of texts that may lie on disk, and the places they were taken from."""

    @property
    def disk(self) -> tuple[DiskFile, ...]: ...


Item = TypeVar("Item", bound=FromDisk)


def if_unchanged(item: Item | None) -> Item | None:
    """The item, unless a file that it was made of changed on disk since."""
    return item if item is not None and are_unchanged(item.disk) else None
