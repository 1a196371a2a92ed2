"""Writes or removes a file in one step, and returns what stood there at that very moment."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import secrets
import stat as st
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from memoryhub.errors import Conflict, HubError, Unavailable
from memoryhub.stores import paths
from memoryhub.stores.disk import MAX_BYTES, FileContent, WriteResult, check_kind, problem, stat_of, too_large

NEW, SWAP = paths.TEMPORARY + "new-", paths.TEMPORARY + "swap-"


_MAX_NAME, _TOKEN = 100, 8  # bytes of a name that go into a temporary one; letters of a token


def tail(name: str) -> str:
    """The end of a temporary name: the name of its file, or a digest of that where it is too long to take more letters."""
    raw = os.fsencode(name)
    return f"-{name}" if len(raw) <= _MAX_NAME else f"={hashlib.sha256(raw).hexdigest()[:32]}"


def target_of(temporary: str, names: Callable[[], Iterable[str]]) -> str | None:
    """The name of the file that a temporary name belongs to; that of a digest is looked for among `names`, None if not there."""
    end = temporary[len(SWAP if temporary.startswith(SWAP) else NEW) + _TOKEN :]
    if not end.startswith("="):
        return end.removeprefix("-")
    return next((name for name in names() if tail(name) == end.removesuffix("~")), None)


def read(fd: int, name: str, path: str, limit: int) -> FileContent:
    try:
        # A pipe would block; without O_NONBLOCK the hub could be stopped by a name in a folder.
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError as error:
        raise problem(error, path) from error
    try:
        # Looked at before reading: what is written meanwhile shows in the next stat.
        before = stat_of(os.fstat(file))
        check_kind(before, path)
        if before.size > limit:
            raise too_large(path, before.size, limit)
        content = _read_all(file, limit)
    except OSError as error:
        raise problem(error, path) from error
    finally:
        os.close(file)
    if len(content) > limit:
        raise too_large(path, len(content), limit)
    return FileContent(content, before)


def _read_all(file: int, limit: int) -> bytes:
    pieces, size = [], 0
    while size <= limit and (piece := os.read(file, limit + 1 - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def put(fd: int, name: str, path: str, content: bytes) -> WriteResult:
    token = secrets.token_hex(4)
    before = lstat(fd, name)
    if before is not None:
        check_kind(stat_of(before), path)
        check_protection(before, path)
    new, swap = f"{NEW}{token}{tail(name)}", f"{SWAP}{token}{tail(name)}"
    try:
        _write_beside(fd, new, content, before)
        # From here on the name says: this may be what stood there; read it before removing it.
        os.rename(new, swap, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new, dir_fd=fd)
        raise
    exists = before is not None
    try:
        displaced = _into_place(fd, swap, name, path, exists)
    except BaseException:
        _drop_if_ours(fd, swap, content)
        raise
    os.fsync(fd)
    after = lstat(fd, name)
    return WriteResult(stat_of(after) if after else None, displaced, swap if displaced is not None else "")


def check_protection(found: os.stat_result, path: str) -> None:
    """Refuse to replace or remove a file that nobody may write (mode 0444): the permissions of its folder alone would allow it."""
    if not found.st_mode & 0o222:
        says = f"“{path}” is write-protected on disk: let its owner write it (chmod u+w), then try again."
        raise Unavailable(says, code="disk_error", path=path)


def lstat(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _write_beside(fd: int, name: str, content: bytes, like: os.stat_result | None) -> None:
    mode = 0o600 if like else 0o666
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=fd)
    with os.fdopen(file, "wb", buffering=0) as stream:
        view = memoryview(content)
        while view:
            view = view[stream.write(view) or 0 :]
        if like:
            with contextlib.suppress(PermissionError):
                os.fchown(file, like.st_uid, like.st_gid)
            os.fchmod(file, st.S_IMODE(like.st_mode))
        os.fsync(file)


def _into_place(fd: int, swap: str, name: str, path: str, exists: bool) -> bytes | None:
    """Exchanges with what is there, or takes an empty place, whichever it turns out to be."""
    for _ in range(8):
        try:
            if exists:
                exchange(fd, swap, name)
                return _displaced(fd, swap, name, path)
            rename_new(fd, swap, name)
            return None
        except FileNotFoundError:
            exists = False
        except FileExistsError:
            exists = True
    raise Conflict(f"“{path}” keeps appearing and vanishing on disk; try again in a moment.", code="disk_busy")


def _displaced(fd: int, swap: str, name: str, path: str) -> bytes:
    try:
        return read(fd, swap, path, MAX_BYTES).content
    except HubError:
        # A folder, a link or something too large slipped in: it goes back where it was.
        exchange(fd, swap, name)
        raise


def _drop_if_ours(fd: int, swap: str, content: bytes) -> None:
    """After a failure: our own text is removed, any other stays for the next start to recover."""
    with contextlib.suppress(OSError, HubError):
        if read(fd, swap, swap, MAX_BYTES).content == content:
            os.unlink(swap, dir_fd=fd)


def remove(fd: int, name: str, path: str) -> WriteResult:
    before = lstat(fd, name)
    if before is None:
        return WriteResult(None, None)
    check_kind(stat_of(before), path)
    check_protection(before, path)
    swap = f"{SWAP}{secrets.token_hex(4)}{tail(name)}"
    try:
        os.rename(name, swap, src_dir_fd=fd, dst_dir_fd=fd)
    except FileNotFoundError:
        return WriteResult(None, None)
    try:
        displaced = read(fd, swap, path, MAX_BYTES).content
    except HubError:
        with contextlib.suppress(FileExistsError):
            rename_new(fd, swap, name)
        raise
    os.fsync(fd)
    return WriteResult(None, displaced, swap)


# ---- one step for two names

_NOREPLACE, _EXCHANGE = 1, 2
_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


@cache
def _renameat2() -> Any:
    with contextlib.suppress(OSError, AttributeError):
        return ctypes.CDLL(None, use_errno=True).renameat2
    return None


def _rename2(fd: int, old: str, new: str, flag: int) -> bool:
    """Whether this system could do it; other failures are raised."""
    call = _renameat2()
    if call is None:
        return False
    if call(fd, os.fsencode(old), fd, os.fsencode(new), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), new)


def exchange(fd: int, swap: str, name: str) -> None:
    """Exchanges two names. Where the system cannot, a second name is linked to the old file, and both are renamed."""
    if _rename2(fd, swap, name, _EXCHANGE):
        return
    second = f"{swap}~"
    os.link(name, second, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    if not os.path.samestat(os.stat(name, dir_fd=fd, follow_symlinks=False), os.stat(second, dir_fd=fd)):
        os.unlink(second, dir_fd=fd)
        return exchange(fd, swap, name)
    os.rename(swap, name, src_dir_fd=fd, dst_dir_fd=fd)
    os.rename(second, swap, src_dir_fd=fd, dst_dir_fd=fd)


def rename_new(fd: int, swap: str, name: str) -> None:
    """Renames to a name that must not exist; `FileExistsError` where somebody was quicker."""
    if _rename2(fd, swap, name, _NOREPLACE):
        return
    os.link(swap, name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    os.unlink(swap, dir_fd=fd)
