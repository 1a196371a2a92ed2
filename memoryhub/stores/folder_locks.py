"""Which hub of a machine puts back changes in a folder: two that both did would undo each other.

The kernel's lock of the folder (flock) says it. Nothing is written there, no other program is kept out, and the lock ends with the
process that holds it, however that ends. Where a file system has no such locks, everybody holds them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable

TRIES, PAUSE = 3, 0.02  # another hub that only looks has the lock for a moment


class FolderLocks:
    """The locks that this process holds, by real path."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def hold_only(self, folders: Iterable[str]) -> set[str]:
        """Holds the locks of these folders, and no others; answers the folders that are left to somebody else, who holds them or
        a folder above them. The wider folder comes first, also of this process's own."""
        wanted = sorted(set(folders), key=lambda path: (path.count("/"), path))
        for path in self._held.keys() - set(wanted):
            self._let_go(path)
        left = set()
        for path in wanted:
            if self._is_left(path):
                self._let_go(path)
                left.add(path)
        return left

    def is_free(self, path: str) -> bool:
        """Whether a folder could be held now; nothing is held afterwards that was not before."""
        had = path in self._held
        is_left = self._is_left(path)
        if not had:
            self._let_go(path)
        return not is_left

    def _is_left(self, path: str) -> bool:
        above = _folders_above(path)
        return any(one in self._held for one in above) or not self._hold(path) or any(map(_is_held, above))

    def _hold(self, path: str) -> bool:
        """Whether this process holds the lock now, or the folder has none."""
        if path in self._held and _is_same(self._held[path], path):
            return True
        self._let_go(path)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return True
        if not _locks(descriptor, fcntl.LOCK_EX):
            os.close(descriptor)
            return False
        self._held[path] = descriptor
        return True

    def _let_go(self, path: str) -> None:
        if (descriptor := self._held.pop(path, None)) is not None:
            os.close(descriptor)


def _folders_above(path: str) -> list[str]:
    parts = path.rstrip("/").split("/")
    return ["/".join(parts[:count]) or "/" for count in range(1, len(parts))]


def _is_same(descriptor: int, path: str) -> bool:
    """Whether the folder was not made anew since it was opened."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    return False


def _is_held(path: str) -> bool:
    """Whether another process holds the lock of a folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locks(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _locks(descriptor: int, how: int) -> bool:
    """Whether nobody else has the lock; True as well where the file system knows no locks of folders."""
    for number in range(TRIES):
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if number + 1 < TRIES:
                time.sleep(PAUSE)
        except OSError:
            return True
        else:
            return True
    return False
