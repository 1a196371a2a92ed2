"""Files in a directory, behind a wall: names are opened one by one below a directory descriptor, links never followed.

A write is put beside its target, synced, and exchanged with it in one step: readers see the old or the new text, and the writer
gets what stood there at that very moment, even if it came after the last look.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from memoryhub.errors import Conflict, HubError, Invalid, NotFound
from memoryhub.stores import atomic, paths
from memoryhub.stores.atomic import NEW, SWAP
from memoryhub.stores.disk import MAX_BYTES, FileContent, Stat, WriteResult, problem, stat_of

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_IN_ROOT = _DIR | os.O_NOFOLLOW
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
TWICE = "lies there twice, in two spellings that look the same (NFC and NFD): rename or remove one of them"


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder; `odd` says why it cannot be a virtual path, `target` where a link points."""

    name: str
    stat: Stat
    target: str = ""
    odd: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder that virtual paths can lead into."""
        return self.stat.kind == "folder" and not self.odd


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

    def __init__(self, root: str, prefix: str = "/") -> None:
        self.root = root
        self.prefix = prefix  # where it is mounted: refusals name paths as the caller knows them

    def shown(self, path: str) -> str:
        return self.prefix + path.removeprefix("/")

    # ---- looking

    def stat(self, path: str) -> Stat | None:
        """What lies there, without opening it; nothing if there is nothing."""
        return self.stats([path])[0]

    def stats(self, many: list[str]) -> list[Stat | None]:
        """What lies at each of many paths; each folder is opened once."""
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
            folders[folder] = _open_folder(root, folder, path=self.shown(path)) if folder else os.dup(root)
        fd = folders[folder]
        if fd is None:
            return None
        try:
            return stat_of(os.stat(_spelling(fd, name, self.shown(path)), dir_fd=fd, follow_symlinks=False))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise problem(error, self.shown(path)) from error

    def spelled(self, path: str) -> str:
        """A path as the disk spells it (NFC or NFD); unchanged where nothing lies."""
        if path.isascii():
            return path
        names: list[str] = []
        with contextlib.suppress(HubError), self._root() as root:
            for name in path.strip("/").split("/"):
                fd = _open_folder(root, "/".join(names))
                if fd is None:
                    break
                with _closing(fd):
                    names.append(_spelling(fd, name, path))
        return "/" + "/".join([*names, *path.strip("/").split("/")[len(names) :]])

    def read(self, path: str, limit: int = MAX_BYTES) -> FileContent:
        """The bytes of a file with their stat, or a refusal that says what lies there instead."""
        with self._folder_of(path) as (fd, name):
            shown = self.shown(path)
            return atomic.read(fd, _spelling(fd, name, shown), shown, limit)

    def entries(self, path: str = "/") -> list[Entry]:
        """What a folder holds, by name; temporary files of the hub are not shown."""
        with self._root() as root, _closing(_folder_or_refuse(root, path.strip("/"), self.shown(path))) as fd:
            names = sorted(n for n in os.listdir(fd) if not n.startswith(paths.TEMPORARY))
            spelled = {name: _one_spelling(name) for name in names}
            often = Counter(spelled.values())
            found = {spelled[n]: entry for n in names if (entry := _entry(fd, n, spelled[n], often[spelled[n]] > 1))}
            return list(found.values())

    def walk(self, path: str = "/") -> Iterator[tuple[str, Entry]]:
        """Every file, link and oddity below a folder, with its path; links are shown, not followed."""
        for folder, entries in self._folders(path):
            yield from ((folder + entry.name, entry) for entry in entries if not entry.is_folder)

    def folders(self) -> Iterator[str]:
        """Every folder of this store."""
        return (folder for folder, _ in self._folders("/"))

    def _folders(self, path: str) -> Iterator[tuple[str, list[Entry]]]:
        """A folder and all below it, each with its entries; one that cannot be read has none."""
        todo = [path if path.endswith("/") else path + "/"]
        while todo:
            folder, entries = todo.pop(), []
            with contextlib.suppress(HubError):
                entries = self.entries(folder)
            todo += [f"{folder}{entry.name}/" for entry in entries if entry.is_folder]
            yield folder, entries

    # ---- changing

    def put(self, path: str, content: bytes) -> WriteResult:
        """Put a text in place in one step and answer what it displaced."""
        try:
            with self._folder_of(path, create=True) as (fd, name):
                return atomic.put(fd, _spelling(fd, name, self.shown(path)), self.shown(path), content)
        except OSError as error:
            raise problem(error, self.shown(path)) from error

    def remove(self, path: str) -> WriteResult:
        """Take a file away in one step and answer what it was."""
        try:
            with self._folder_of(path) as (fd, name):
                return atomic.remove(fd, _spelling(fd, name, self.shown(path)), self.shown(path))
        except OSError as error:
            raise problem(error, self.shown(path)) from error

    # ---- what earlier writes left behind

    def leftovers(self, folder: str = "/", known: Callable[[], Iterable[str]] = tuple) -> Iterator[Leftover]:
        """Temporary files of one folder, with what they hold: after an exchange that is what stood there. `known`
        names files that may be gone from the disk: what was too long to stand in a temporary name is found by it."""
        with self._root() as root, _closing(_folder_or_refuse(root, folder.strip("/"), self.shown(folder))) as fd:
            names = os.listdir(fd)
            for name in names:
                if name.startswith(paths.TEMPORARY):
                    target = atomic.target_of(name, lambda: [*names, *known()])
                    if target is not None:
                        yield _leftover(fd, folder, name, target)

    def read_again(self, path: str, name: str) -> bytes | None:
        """A displaced text once more: who still had the file open may have written into it."""
        with self._folder_of(path) as (fd, _), contextlib.suppress(FileNotFoundError, HubError):
            return atomic.read(fd, name, self.shown(path), MAX_BYTES).content
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
            refusal = problem(error, self.root, root=True)
            refusal.details["path"] = self.prefix
            raise refusal from error
        with _closing(fd):
            yield fd

    @contextlib.contextmanager
    def _folder_of(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        folder, _, name = path.rpartition("/")
        if not name or name in (".", ".."):
            shown = self.shown(path)
            raise Invalid(f"The path “{shown}” names a folder, not a file.", code="is_directory", path=shown)
        with self._root() as root:
            opened = _folder_or_refuse(root, folder, self.shown(path), create=create)
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
            deeper = _enter(fd, _spelling(fd, name, path or folder), create)
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


def _one_spelling(name: str) -> str:
    """The name as a path has it. What would turn into plain ASCII (a Kelvin sign into K) stays: no path finds it."""
    composed = unicodedata.normalize("NFC", name)
    return name if composed.isascii() else composed


def _spelling(fd: int, name: str, path: str) -> str:
    """The name as this folder spells it (macOS takes accents apart); looked up among its names alone."""
    if name.isascii():
        return name
    name = _one_spelling(name)
    there = {one: mark for one in (name, unicodedata.normalize("NFD", name)) if (mark := _inode(fd, one))}
    if not there:
        with contextlib.suppress(OSError):
            same = [one for one in os.listdir(fd) if not one.isascii() and unicodedata.normalize("NFC", one) == name]
            there = {one: mark for one in same if (mark := _inode(fd, one))}
    if len(set(there.values())) > 1:
        raise Conflict(f"“{path}” {TWICE}.", code="two_spellings", path=path)
    return next(iter(there), name)


def _inode(fd: int, name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _entry(fd: int, name: str, spelled: str, is_twice: bool) -> Entry | None:
    try:
        stat = stat_of(os.stat(name, dir_fd=fd, follow_symlinks=False))
        target = os.readlink(name, dir_fd=fd) if stat.kind == "link" else ""
    except OSError:
        return None
    odd = "" if paths.is_clean_name(spelled) else paths.why_refused(spelled) or "is not written in NFC"
    return Entry(_printable(spelled), stat, _printable(target), odd or (TWICE if is_twice else ""))


def _printable(name: str) -> str:
    """A name with its control characters, and the bytes of it that are no UTF-8, written as escapes."""
    name = CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), name)
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _leftover(fd: int, folder: str, name: str, target: str) -> Leftover:
    kind = SWAP if name.startswith(SWAP) else NEW
    found = atomic.lstat(fd, name)
    age = time.time() - found.st_ctime if found else 0.0
    content = None
    if kind == SWAP:
        with contextlib.suppress(HubError, OSError):
            content = atomic.read(fd, name, folder + name, MAX_BYTES).content
    return Leftover(folder + _one_spelling(target), name, age, content)
