"""What lies at a path on disk, what a write did there, and refusals in place of errors of the operating system."""

from __future__ import annotations

import errno
import os
import pwd
import shlex
import stat as st
import time
from dataclasses import dataclass

from memoryhub.errors import HubError, Invalid, NotFound, TooLarge, Unavailable
from memoryhub.text import edits

MAX_BYTES = edits.MAX_BYTES
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
        """If this stays equal, so does the content; None while the file was touched within the last 10 ms."""
        return [self.mtime_ns, self.ctime_ns, self.size, self.inode] if self.settled else None


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of a file, and its stat from before they were read."""

    content: bytes
    stat: Stat


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write or a removal did: the new stat, the bytes that stood there before, and the temporary name that still holds them."""

    stat: Stat | None
    displaced: bytes | None
    leftover: str = ""


def stat_of(found: os.stat_result) -> Stat:
    mode = found.st_mode
    kind = "file" if st.S_ISREG(mode) else "folder" if st.S_ISDIR(mode) else "link" if st.S_ISLNK(mode) else "other"
    settled = time.time_ns() - found.st_mtime_ns >= _SETTLED_NS
    return Stat(kind, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, settled)


def check_kind(stat: Stat, path: str) -> None:
    """Refuses what is no file."""
    if stat.kind != "file":
        raise problem(OSError(errno.EISDIR if stat.kind == "folder" else errno.ENXIO, ""), path)


def too_large(path: str, size: int, limit: int) -> TooLarge:
    return TooLarge(
        f"“{path}” has {size:,} bytes; the hub takes files up to {limit:,} bytes.", path=path, size=size, limit=limit
    )


@dataclass(frozen=True, slots=True)
class Closed:
    """What keeps the hub out of a path: the first name on the way that it may not open, with its owner and mode; and as whom the
    hub runs."""

    path: str
    owner: str
    mode: str
    user: str

    @property
    def command(self) -> str:
        """What lets the hub read it, for a shell of who may change that."""
        may = "chmod -R u+rX" if self.owner == self.user else f"sudo setfacl -R -m u:{self.user}:rX"
        return f"{may} {shlex.quote(self.path)}"


def closed_at(root: str, relative: str) -> Closed | None:
    """What keeps the hub out of a path below a directory; None where it may read it, or a link leads elsewhere."""
    names = [name for name in relative.split("/") if name]
    for count in range(len(names) + 1):
        at = os.path.join(root, *names[:count])
        if count and os.path.islink(at):
            return None
        if is_closed(at):
            found = os.lstat(at)
            return Closed(at, _user_name(found.st_uid), st.filemode(found.st_mode), _user_name(os.geteuid()))
    return None


def is_closed(path: str) -> bool:
    """Whether something lies there that the operating system does not let the hub read."""
    needed = os.R_OK | os.X_OK if os.path.isdir(path) else os.R_OK
    return os.path.lexists(path) and not os.access(path, needed, effective_ids=True)


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # in a container
        return str(number)


_UNAVAILABLE = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EROFS: "the disk is read-only: check how it is mounted",
    errno.EACCES: "its owner or permissions keep the hub out: change them",
    errno.EPERM: "its owner or permissions keep the hub out: change them",
    errno.EIO: "the disk reports an error: check the disk",
    errno.EFBIG: "the file would be larger than this system allows",
    errno.EMFILE: "too many files are open: check the limits of the hub's process",
    errno.ENAMETOOLONG: "the name is too long for this disk",
}


def _invalid(number: int, path: str) -> Invalid | None:
    """The refusal where something else than a file lies at a path; None for other errors."""
    match number:
        case errno.EISDIR:
            return Invalid(f"“{path}” is a folder, not a file.", code="is_directory", path=path)
        case errno.ENXIO:
            message = f"“{path}” is neither a file nor a folder; the hub does not open it."
            return Invalid(message, code="not_a_file", path=path)
        case errno.ELOOP:
            message = f"“{path}” is or leads through a link; the hub does not follow links."
            return Invalid(message, code="invalid_path", path=path)
        case errno.ENOTDIR:
            message = f"A part of “{path}” is a link or a file where a folder is needed; the hub does not follow links."
            return Invalid(message, code="invalid_path", path=path)
    return None


def problem(error: OSError, path: str, *, root: bool = False) -> HubError:
    """The refusal for an error of the operating system; `root`: the directory of a mount itself was opened."""
    number = error.errno or 0
    if root and number in (errno.ENOENT, errno.ENOTDIR):
        return Unavailable(
            f"The directory “{path}” is not there: bring it back or change the mount.", code="root_missing", path=path
        )
    if number == errno.ENOENT:
        return NotFound(f"File '{path}' not found", code="file_not_found", path=path)
    if invalid := _invalid(number, path):
        return invalid
    why = _UNAVAILABLE.get(number, f"the system says “{os.strerror(number) if number else error}”")
    return Unavailable(f"“{path}”: {why}, then try again.", code="disk_error", path=path)
