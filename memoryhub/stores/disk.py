"""What lies on a disk and what it says when it cannot: plain shapes and sentences."""

from __future__ import annotations

import errno
import os
import stat as st
import time
from dataclasses import dataclass

from memoryhub.errors import HubError, Invalid, NotFound, TooLarge, Unavailable

MAX_BYTES = 1 << 20
_SETTLED_NS = 10_000_000


@dataclass(frozen=True, slots=True)
class Stat:
    """What lies at a path: `file`, `folder`, `link` or `other`."""

    kind: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    settled: bool

    @property
    def mark(self) -> list[int] | None:
        """What must stay the same for the content to be the same; nothing while the file was touched just now."""
        return [self.mtime_ns, self.ctime_ns, self.size, self.inode] if self.settled else None


@dataclass(frozen=True, slots=True)
class Found:
    content: bytes
    stat: Stat


@dataclass(frozen=True, slots=True)
class Placed:
    """What a write or a removal did: the new stat, what stood there before, and where that is kept for a moment."""

    stat: Stat | None
    displaced: bytes | None
    leftover: str = ""


def stat_of(found: os.stat_result) -> Stat:
    mode = found.st_mode
    kind = "file" if st.S_ISREG(mode) else "folder" if st.S_ISDIR(mode) else "link" if st.S_ISLNK(mode) else "other"
    settled = time.time_ns() - found.st_mtime_ns >= _SETTLED_NS
    return Stat(kind, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, settled)


def check_kind(stat: Stat, path: str) -> None:
    if stat.kind == "folder":
        raise Invalid(f"“{path}” is a folder, not a file.", code="is_directory", path=path)
    if stat.kind != "file":
        raise Invalid(
            f"“{path}” is neither a file nor a folder; the hub does not open it.", code="not_a_file", path=path
        )


def too_large(path: str, size: int, limit: int) -> TooLarge:
    return TooLarge(
        f"“{path}” has {size:,} bytes; the hub takes files up to {limit:,} bytes.", path=path, size=size, limit=limit
    )


# ---- what the disk says, in a sentence

_SENTENCES = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EROFS: "the disk is read-only: check how it is mounted",
    errno.EACCES: "the hub may not do that there: check owner and permissions",
    errno.EPERM: "the hub may not do that there: check owner and permissions",
    errno.EIO: "the disk reports an error: check the disk",
    errno.EFBIG: "the file would be larger than this system allows",
    errno.EMFILE: "too many files are open: check the limits of the hub's process",
    errno.ENAMETOOLONG: "the name is too long for this disk",
}


def problem(error: OSError, path: str, *, root: bool = False) -> HubError:
    """The refusal for what the operating system said."""
    number = error.errno or 0
    if root and number in (errno.ENOENT, errno.ENOTDIR):
        return Unavailable(
            f"The directory “{path}” is not there: bring it back or change the mount.", code="root_missing", path=path
        )
    if number == errno.ENOENT:
        return NotFound(f"File '{path}' not found", code="file_not_found", path=path)
    if number == errno.ELOOP:
        return Invalid(
            f"“{path}” is or leads through a link; the hub does not follow links.", code="invalid_path", path=path
        )
    if number == errno.ENOTDIR:
        return Invalid(
            f"A part of “{path}” is a link or a file where a folder is needed; the hub does not follow links.",
            code="invalid_path",
            path=path,
        )
    if number == errno.EISDIR:
        return Invalid(f"“{path}” is a folder, not a file.", code="is_directory", path=path)
    if number == errno.ENXIO:
        return Invalid(
            f"“{path}” is neither a file nor a folder; the hub does not open it.", code="not_a_file", path=path
        )
    why = _SENTENCES.get(number, f"the system says “{os.strerror(number) if number else error}”")
    return Unavailable(f"“{path}”: {why}, then try again.", code="disk_error", path=path)
