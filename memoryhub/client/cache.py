"""Last good copies on disk: private to this user, written atomically, bounded, checked when read.

Every token has a folder of its own, so that one agent never gets what another was allowed to read. Nothing here
ever raises: without a usable directory the client has no copies.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import stat
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from .records import sha256_of

log = logging.getLogger("memoryhub.client")

MAX_BYTES = 64 * 1024 * 1024
PRUNE_EVERY = 50  # writes


@dataclass(frozen=True)
class CachedAnswer:
    """A copy that is whole; `at` is when it was written."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    at: float = 0.0

    @property
    def etag(self) -> str | None:
        return self.headers.get("etag")


def default_directory() -> Path | None:
    """`MEMORYHUB_CACHE_DIR`, else the user's cache directory; None where there is no home."""
    named = os.environ.get("MEMORYHUB_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "memoryhub"
    try:
        return Path.home() / ".cache" / "memoryhub"
    except RuntimeError:
        return None


def replace_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Puts a whole file in place in one step, so that a reader sees the old bytes or the new ones."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".memoryhub-")  # made with mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if mode != 0o600:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


class Cache:
    def __init__(self, url: str, token: str, directory: Path | str | None = None, max_bytes: int = MAX_BYTES):
        base = Path(directory) if directory else default_directory()
        self.folder: Path | None = None
        if base is not None:
            self.folder = base / sha256_of(f"{url}\n{token}".encode())[:32]
        self.max_bytes = max_bytes
        self._writes = 0
        self._ready = False

    def get(self, key: str) -> CachedAnswer | None:
        if self.folder is None:
            return None
        try:
            head, _, body = self._file(key).read_bytes().partition(b"\n")
            entry = json.loads(head)
        except (OSError, ValueError):
            return None
        is_whole = entry.get("key") == key and entry.get("sha256") == sha256_of(body)
        return CachedAnswer(body, entry.get("headers", {}), entry.get("at", 0.0)) if is_whole else None

    def put(self, key: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        if self.folder is None or len(body) > self.max_bytes // 4:
            return
        head = {"key": key, "sha256": sha256_of(body), "headers": headers or {}, "at": time.time()}
        try:
            self._make_private_folder()
            replace_file(self._file(key), json.dumps(head).encode() + b"\n" + body)
        except OSError as problem:
            log.warning("No copies are kept on disk: %s", problem)
            self.folder = None
            return
        self._writes += 1
        if self._writes % PRUNE_EVERY == 1:
            self._prune()

    def drop(self, key: str) -> None:
        if self.folder is not None:
            with contextlib.suppress(OSError):
                self._file(key).unlink()

    def clear(self) -> None:
        """Forgets everything: the token is not accepted any more."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._ready = False

    def _file(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / sha256_of(key.encode())

    def _make_private_folder(self) -> None:
        if self._ready or self.folder is None:
            return
        for folder in (self.folder.parent, self.folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = os.lstat(self.folder)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise PermissionError(f"{self.folder} belongs to someone else")
        if info.st_mode & 0o077:
            self.folder.chmod(0o700)
        self._ready = True

    def _prune(self) -> None:
        """Drops the oldest copies until the folder holds at most three quarters of its bound."""
        assert self.folder is not None
        files = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                with contextlib.suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    files.append((info.st_mtime, info.st_size, entry.path))
        total = sum(size for _, size, _ in files)
        if total <= self.max_bytes:
            return
        for _, size, path in sorted(files):
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= self.max_bytes * 3 // 4:
                return
