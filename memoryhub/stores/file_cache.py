"""What a process made of texts that may lie on disk, cached for as long as those files are untouched."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeVar


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


class Cacheable(Protocol):
    """What has a size, and the places on disk that it was taken from."""

    @property
    def bytes(self) -> int: ...
    @property
    def disk(self) -> tuple[DiskFile, ...]: ...


Item = TypeVar("Item", bound=Cacheable)


@dataclass
class FileCache(Generic[Item]):
    """The items that were used last, bounded by number and bytes. Keys name what else they hold for, such as a revision."""

    max_items: int = 256
    max_bytes: int = 32 * 1024 * 1024
    size: int = 0
    items: OrderedDict[Hashable, Item] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable) -> Item | None:
        """The item, if its files on disk are untouched."""
        item = self.peek(key)
        return item if item is not None and are_unchanged(item.disk) else None

    def peek(self, key: Hashable) -> Item | None:
        """The item, whatever became of its files on disk."""
        item = self.items.get(key)
        if item is not None:
            with self.lock:
                if key in self.items:
                    self.items.move_to_end(key)
        return item

    def put(self, key: Hashable, item: Item) -> None:
        with self.lock:
            replaced = self.items.pop(key, None)
            self.size += item.bytes - (replaced.bytes if replaced else 0)
            self.items[key] = item
            while len(self.items) > self.max_items or self.size > self.max_bytes:
                _, removed = self.items.popitem(last=False)
                self.size -= removed.bytes
