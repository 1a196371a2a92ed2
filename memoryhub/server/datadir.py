"""The data directory: where it is, whether it can be used, and the lock files in it.

    postgres/      the embedded database (see `postgres.py`)
    run/           its socket
    hub.lock       held by the one running hub; its process and address
    start.lock     held for the moments in which the database is started or stopped
    users.lock     shared by every process that uses the database: the last one to release it stops the server

The kernel releases a lock when its holder dies, so nothing here needs cleaning up after `kill -9`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import sys
import time
from pathlib import Path

from memoryhub.errors import HubError, Unavailable

ROOT_DATA_DIR = Path("/var/lib/memoryhub")


class DataDirError(HubError):
    """The data directory cannot be used; the sentence says why and what to do."""

    status, code = 503, "data_dir"


def default_data_dir() -> Path:
    """`MEMORYHUB_DATA_DIR`, else the user's data directory, for root `/var/lib/memoryhub`."""
    if chosen := os.environ.get("MEMORYHUB_DATA_DIR"):
        return Path(chosen).expanduser().absolute()
    if os.geteuid() == 0:
        return ROOT_DATA_DIR
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "memoryhub"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "memoryhub"


def prepare(data_dir: Path) -> Path:
    """Make the directory and test that this process can write in it; DataDirError with a sentence if it cannot."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        _close_to_others(data_dir)
        probe = data_dir / f".probe-{os.getpid()}"
        try:
            probe.write_bytes(b"x" * 4096)
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise DataDirError(_unusable_reason(data_dir, error)) from error
    return data_dir


def _close_to_others(data_dir: Path) -> None:
    """Mode 0700, also for a directory that was there; a volume that belongs to somebody else keeps its own.

    For root the group may pass through: the database of such a hub belongs to another user (`let_group_in`).
    """
    found = data_dir.stat()
    mode = stat.S_IMODE(found.st_mode)
    wanted = 0o710 if os.geteuid() == 0 and mode & 0o070 == 0o010 else 0o700
    if found.st_uid == os.geteuid() and mode != wanted:
        data_dir.chmod(wanted)


def let_group_in(data_dir: Path, group: int) -> None:
    """Let one group enter the directory, not list it; nobody else."""
    found = data_dir.stat()
    if (stat.S_IMODE(found.st_mode), found.st_gid) != (0o710, group) and found.st_uid == os.geteuid():
        os.chown(data_dir, -1, group)
        data_dir.chmod(0o710)


def _unusable_reason(data_dir: Path, error: OSError) -> str:
    advice = "choose another with --data-dir or MEMORYHUB_DATA_DIR."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"No space is left on the disk of the data directory {data_dir}: free some, or {advice}"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return f"The data directory {data_dir} is a file, or lies below one: {advice}"
    reason = (error.strerror or "unknown reason").lower()
    return f"The data directory {data_dir} is not writable ({reason}): change its owner or mode, or {advice}"


def require_space(data_dir: Path, megabytes: int) -> None:
    """Raise DataDirError when less than this is free: a database that stops half way is worse than none."""
    free = shutil.disk_usage(data_dir).free // 2**20
    if free < megabytes:
        raise DataDirError(
            f"No space is left on the disk of the data directory {data_dir}: {free} MB are free, "
            f"{megabytes} MB are needed to start; free some, or choose another with --data-dir."
        )


class Lock:
    """A lock file: `with Lock(path)` waits for it, `Lock(path).acquire(wait=0)` tries once."""

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self.path = path
        self.shared = shared
        self._fd: int | None = None

    def acquire(self, wait: float = 60) -> bool:
        """Take the lock within `wait` seconds; answers whether it was taken."""
        if self._fd is None:
            self._fd = _open_lock(self.path)
        kind = fcntl.LOCK_SH if self.shared else fcntl.LOCK_EX
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    self.release()
                    return False
                time.sleep(0.02)

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def write(self, text: str) -> None:
        """Write into the lock file, for people who find the lock taken."""
        assert self._fd is not None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text.encode(), 0)

    def __enter__(self) -> Lock:
        if not self.acquire():
            raise Unavailable(f"{self.path} is held by another process for a minute: is it hanging?")
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _open_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except PermissionError:
        if path.exists():  # made by root; locking needs no right to write
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        raise


def hub_lock(data_dir: Path, *, wait: float = 0) -> Lock:
    """Take the lock of the one hub on this data directory; DataDirError while another hub holds it, after `wait` seconds."""
    path = data_dir / "hub.lock"
    lock = Lock(path)
    if not lock.acquire(wait=wait):
        holder = path.read_text().partition("\n")[0] or "unknown"
        raise DataDirError(
            f"Another hub (process {holder}) is running on the data directory {data_dir}: "
            f"stop it, or choose another directory with --data-dir."
        )
    lock.write(str(os.getpid()))
    return lock


def hub_address(data_dir: Path) -> str:
    """Where the hub of this data directory answers, or did when it last ran; empty where that is not known."""
    try:
        return (data_dir / "hub.lock").read_text().partition("\n")[2]
    except OSError:
        return ""
