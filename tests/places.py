"""Where tests keep databases: in memory where there is room for them.

A database is 1,200 files. On ext4 a new file costs a look at each one that was deleted within the last minute, and where a
hundred databases come and go that took half of a test's processor time.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

import psutil

TMP = Path("/tmp")
MEMORY = Path("/dev/shm")
BYTES = 6 << 30  # a run takes 2 GB at most


@cache
def for_databases() -> Path:
    """The folder for databases that come and go. Nothing below /dev can be mounted, so directories of tests stay in /tmp."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK)):
        return TMP
    found = os.statvfs(MEMORY)
    has_room = min(found.f_bavail * found.f_frsize, psutil.virtual_memory().available) >= BYTES
    return MEMORY if has_room and not found.f_flag & os.ST_NOEXEC else TMP


def new_folder() -> Path:
    """An empty folder for databases that every user may pass through."""
    folder = Path(tempfile.mkdtemp(prefix=_prefix(), dir=for_databases()))
    folder.chmod(0o755)
    return folder


def twin(place: Path) -> Path:
    """The folder with the databases of a place in /tmp."""
    return for_databases() / f"{_prefix()}{place.name.rpartition('-')[2]}"


def _prefix() -> str:
    """How such folders are named: the next run removes what a killed one left (`conftest`)."""
    return f"memoryhub-test-{os.getpid()}-"


def make_in_memory(folder: Path) -> Path:
    """Makes a folder that is missing yet; in a place of `tests.running.own_place` it is a link to one in its twin."""
    if folder.parent.parent != TMP or not twin(folder.parent).is_dir() or for_databases() == TMP:
        folder.mkdir(exist_ok=True)
        return folder
    real = twin(folder.parent) / folder.name
    real.mkdir(mode=0o755)
    folder.symlink_to(real)
    return folder
