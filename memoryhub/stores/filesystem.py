"""Files in a directory, behind a wall: names are opened one by one below a directory descriptor, links never followed.

A write is put beside its target, synced, and exchanged with it in one step, so that readers see the old or the new
text and what stood there at that very moment is in our hands afterwards, even if it slipped in after the last look.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.stores import paths, placing
from memoryhub.stores.disk import MAX_BYTES, Found, Placed, Stat, problem, stat_of
from memoryhub.stores.placing import NEW, SWAP

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_IN_ROOT = _DIR | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder; `odd` says why it cannot be a virtual path, `target` where a link points."""

    name: str
    stat: Stat
    target: str = ""
    odd: str = ""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A temporary file of an earlier write: `path` is the file it belongs to; a whole text only if it was swapped."""

    path: str
    name: str
    age: float
    content: bytes | None


class FilesystemStore:
    on_disk = True
    keeps_for = None

    def __init__(self, root: str) -> None:
        self.root = root

    # ---- looking

    def stat(self, path: str) -> Stat | None:
        """What lies there, without opening it; nothing if there is nothing."""
        return self.stats([path])[0]

    def stats(self, many: list[str]) -> list[Stat | None]:
        """The same for many paths, opening each folder once."""
        folders: dict[str, int | None] = {}
        try:
            with self._root() as root:
                return [self._stat_in(root, path, folders) for path in many]
        finally:
            for fd in folders.values():
                if fd is not None:
                    os.close(fd)

    def _stat_in(self, root: int, path: str, folders: dict[str, int | None]) -> Stat | None:
        folder, _, name = path.rpartition("/")
        if not name:
            return stat_of(os.stat(root))
        if folder not in folders:
            folders[folder] = _open_folder(root, folder) if folder else os.dup(root)
        fd = folders[folder]
        if fd is None:
            return None
        try:
            return stat_of(os.stat(name, dir_fd=fd, follow_symlinks=False))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise problem(error, path) from error

    def read(self, path: str, limit: int = MAX_BYTES) -> Found:
        """The bytes of a file with their stat, or a refusal that says what lies there instead."""
        with self._folder_of(path) as (fd, name):
            return placing.read(fd, name, path, limit)

    def entries(self, path: str = "/") -> list[Entry]:
        """What a folder holds, by name; temporary files of the hub are not shown."""
        with self._root() as root, _closing(_folder_or_refuse(root, path.strip("/"), path)) as fd:
            names = sorted(n for n in os.listdir(fd) if not n.startswith(paths.TEMPORARY))
            return [entry for name in names if (entry := _entry(fd, name))]

    def walk(self, path: str = "/") -> Iterator[tuple[str, Entry]]:
        """Every file, link and oddity below a folder, with its path; links are shown, not followed."""
        todo = [path if path.endswith("/") else path + "/"]
        while todo:
            folder = todo.pop()
            try:
                entries = self.entries(folder)
            except HubError:
                continue
            for entry in entries:
                if entry.stat.kind == "folder" and not entry.odd:
                    todo.append(f"{folder}{entry.name}/")
                else:
                    yield folder + entry.name, entry

    # ---- changing

    def put(self, path: str, content: bytes) -> Placed:
        """Put a text in place in one step and answer what it displaced."""
        try:
            with self._folder_of(path, create=True) as (fd, name):
                return placing.put(fd, name, path, content)
        except OSError as error:
            raise problem(error, path) from error

    def remove(self, path: str) -> Placed:
        """Take a file away in one step and answer what it was."""
        try:
            with self._folder_of(path) as (fd, name):
                return placing.remove(fd, name, path)
        except OSError as error:
            raise problem(error, path) from error

    # ---- what earlier writes left behind

    def leftovers(self, folder: str = "/") -> Iterator[Leftover]:
        """Temporary files of one folder, with what they hold: after an exchange that is what stood there."""
        with self._root() as root, _closing(_folder_or_refuse(root, folder.strip("/"), folder)) as fd:
            for name in os.listdir(fd):
                if name.startswith(paths.TEMPORARY):
                    yield _leftover(fd, folder, name)

    def folders(self) -> Iterator[str]:
        """Every folder of this store."""
        todo = ["/"]
        while todo:
            folder = todo.pop()
            yield folder
            with contextlib.suppress(HubError):
                todo += [f"{folder}{e.name}/" for e in self.entries(folder) if e.stat.kind == "folder" and not e.odd]

    def read_again(self, path: str, name: str) -> bytes | None:
        """A kept text once more: who still had the file open may have written into it."""
        with self._folder_of(path) as (fd, _), contextlib.suppress(FileNotFoundError, HubError):
            return placing.read(fd, name, path, MAX_BYTES).content
        return None

    def forget(self, path: str, name: str) -> None:
        """Remove a temporary file of a write, once its text is known."""
        if name.startswith(paths.TEMPORARY) and "/" not in name:
            with self._folder_of(path) as (fd, _), contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=fd)

    # ---- walls

    @contextlib.contextmanager
    def _root(self) -> Iterator[int]:
        """The root itself may be a link: a person chose it. Nothing below it is followed."""
        try:
            fd = os.open(self.root, _DIR)
        except OSError as error:
            raise problem(error, self.root, root=True) from error
        with _closing(fd):
            yield fd

    @contextlib.contextmanager
    def _folder_of(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        folder, _, name = path.rpartition("/")
        if not name or name in (".", ".."):
            raise Invalid(f"The path “{path}” names a folder, not a file.", code="is_directory", path=path)
        with self._root() as root:
            opened = _folder_or_refuse(root, folder, path, create=create)
            with _closing(opened):
                yield opened, name


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _folder_or_refuse(root: int, folder: str, path: str, *, create: bool = False) -> int:
    fd = _open_folder(root, folder, create=create, path=path)
    if fd is None:
        raise NotFound(f"File '{path}' not found", code="file_not_found", path=path)
    return fd


def _open_folder(root: int, folder: str, *, create: bool = False, path: str = "") -> int | None:
    """Walk down name by name; a link, a file or `..` in the way ends the walk."""
    fd = os.dup(root)
    for name in folder.strip("/").split("/") if folder.strip("/") else []:
        try:
            if name in ("", ".", ".."):
                raise paths.refused(path or folder, f"has the part “{name}”")
            deeper = _enter(fd, name, create)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise problem(error, path or folder) from error
        finally:
            os.close(fd)
        fd = deeper
    return fd


def _enter(fd: int, name: str, create: bool) -> int:
    try:
        return os.open(name, _IN_ROOT, dir_fd=fd)
    except FileNotFoundError:
        if not create:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=fd)
    return os.open(name, _IN_ROOT, dir_fd=fd)


def _entry(fd: int, name: str) -> Entry | None:
    try:
        stat = stat_of(os.stat(name, dir_fd=fd, follow_symlinks=False))
        target = os.readlink(name, dir_fd=fd) if stat.kind == "link" else ""
    except OSError:
        return None
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    odd = "" if paths.is_clean_name(name) else paths.why_refused(name) or "is not written in NFC"
    return Entry(shown, stat, target, odd)


def _leftover(fd: int, folder: str, name: str) -> Leftover:
    kind = SWAP if name.startswith(SWAP) else NEW
    target = name[len(kind) :].partition("-")[2]
    found = placing.lstat(fd, name)
    age = time.time() - found.st_ctime if found else 0.0
    content = None
    if kind == SWAP:
        with contextlib.suppress(HubError, OSError):
            content = placing.read(fd, name, folder + name, MAX_BYTES).content
    return Leftover(folder + target, name, age, content)
