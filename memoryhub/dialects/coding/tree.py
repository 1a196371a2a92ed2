"""What coding agents read files through: a disk, or a disk with changes laid over it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

MAX_BYTES = 8 << 20  # no agent reads a larger file into its context


class Tree(Protocol):
    """Files by absolute path. Every method follows links, except `is_link`."""

    def kind(self, path: str) -> str:
        """ "file", "folder", "other" (a socket, a pipe, a device), or "" where there is nothing to read."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file; None where there is none, it cannot be read, or it is too large."""

    def read_settings(self, path: str) -> bytes | None:
        """The bytes of a file that decides what is read and is never text of a context: settings, a `.git` file."""

    def names(self, path: str) -> list[str]:
        """The names in a folder, in the order of the file system; empty where there is none."""

    def real(self, path: str) -> str:
        """The path without links."""

    def is_link(self, path: str) -> bool: ...


class DiskTree:
    """This machine's files. Nothing is written, and nothing but regular files is opened."""

    def kind(self, path: str) -> str:
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            return ""
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"

    def read(self, path: str) -> bytes | None:
        try:
            # A pipe that takes the place of the file after it was looked at must not block.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
                return None
            with os.fdopen(os.dup(handle), "rb") as opened:
                return opened.read(MAX_BYTES)
        except OSError:
            return None
        finally:
            os.close(handle)

    def read_settings(self, path: str) -> bytes | None:
        return self.read(path)

    def names(self, path: str) -> list[str]:
        try:
            return os.listdir(path)
        except (OSError, ValueError):
            return []

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def is_link(self, path: str) -> bool:
        return os.path.islink(path)


@dataclass(frozen=True)
class ChangedTree:
    """A tree in which some files have another text, or are gone (None): what an agent would see if a change were made."""

    below: Tree
    changes: Mapping[str, bytes | None] = field(default_factory=dict)

    def kind(self, path: str) -> str:
        if path in self.changes:
            return "" if self.changes[path] is None else "file"
        return "folder" if self._added(path) else self.below.kind(path)

    def read(self, path: str) -> bytes | None:
        return self.changes[path] if path in self.changes else self.below.read(path)

    def read_settings(self, path: str) -> bytes | None:
        return self.changes[path] if path in self.changes else self.below.read_settings(path)

    def names(self, path: str) -> list[str]:
        gone = {
            os.path.basename(name)
            for name, text in self.changes.items()
            if text is None and os.path.dirname(name) == path
        }
        there = [name for name in self.below.names(path) if name not in gone]
        return there + [name for name in self._added(path) if name not in there]

    def real(self, path: str) -> str:
        return path if path in self.changes else self.below.real(path)

    def is_link(self, path: str) -> bool:
        return path not in self.changes and self.below.is_link(path)

    def _added(self, path: str) -> list[str]:
        """The names that changes put into a folder, those of folders on the way included."""
        head = path.rstrip("/") + "/"
        found = (
            name.removeprefix(head).split("/")[0]
            for name, text in self.changes.items()
            if text is not None and name.startswith(head)
        )
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class CachedTree:
    """A tree of which everything is read once: for one look at many folders, during which files do not change."""

    below: Tree
    _cache: dict[tuple[str, str], Any] = field(default_factory=dict)

    def _once(self, ask: str, path: str) -> Any:
        key = (ask, path)
        if key not in self._cache:
            self._cache[key] = getattr(self.below, ask)(path)
        return self._cache[key]

    def kind(self, path: str) -> str:
        return self._once("kind", path)

    def read(self, path: str) -> bytes | None:
        return self._once("read", path)

    def read_settings(self, path: str) -> bytes | None:
        return self._once("read_settings", path)

    def names(self, path: str) -> list[str]:
        return self._once("names", path)

    def real(self, path: str) -> str:
        return self._once("real", path)

    def is_link(self, path: str) -> bool:
        return self._once("is_link", path)


# ---- paths


def parents_down_to(directory: str) -> list[str]:
    """The folders from the one below the root of the file system down to this one."""
    return list(_parents(directory))


@lru_cache(maxsize=4_096)  # every agent asks for the same folders again and again
def _parents(directory: str) -> tuple[str, ...]:
    found = []
    while directory != "/" and directory:
        found.append(directory)
        directory = os.path.dirname(directory)
    return tuple(found[::-1])


def is_below(path: str, folder: str) -> bool:
    """Whether a path is this folder or lies inside it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def nearest_with(tree: Tree, directory: str, names: tuple[str, ...]) -> str:
    """The nearest folder from this one upwards that holds one of the names; "" where none does."""
    for folder in reversed(["/", *parents_down_to(directory)]):
        if any(tree.kind(os.path.join(folder, name)) for name in names):
            return folder
    return ""


def from_to(top: str, directory: str) -> list[str]:
    """The folders from `top` down to `directory`; `directory` alone where `top` does not contain it."""
    return (
        [folder for folder in ["/", *parents_down_to(directory)] if is_below(folder, top)]
        if top and is_below(directory, top)
        else [directory]
    )


def main_repository(tree: Tree, worktree: str) -> str:
    """The root of the repository that a linked worktree belongs to; the folder itself where it is no linked worktree."""
    text = tree.read_settings(os.path.join(worktree, ".git"))
    if not text or not text.startswith(b"gitdir:"):
        return worktree
    pointed = os.path.normpath(os.path.join(worktree, os.fsdecode(text[7:].strip())))
    head, found, _ = pointed.rpartition("/.git/worktrees/")
    return head if found else worktree
