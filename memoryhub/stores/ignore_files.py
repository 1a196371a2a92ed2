"""What `.gitignore` files and the markers of caches and environments leave out, read from the disk and kept for a moment.

Nested files count as in git: the last pattern that matches decides, deeper files before those above, and nothing below an ignored
folder comes back. Only files at or below the root are read.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from pathspec import GitIgnoreSpec

from memoryhub.stores.known_names import is_project
from memoryhub.stores.selection import LeftOut, compiled, is_pattern, steps
from memoryhub.text import engine

NAME = ".gitignore"
MARKERS = {"pyvenv.cfg": ("Dependencies", "dependencies"), "CACHEDIR.TAG": ("Cache", "cache")}
MAX_BYTES, MAX_LINES = 256 * 1024, 5000 if engine.IS_LINEAR else 1000  # hyperscan takes 2 ms to compile one
RECHECK_SECONDS = 1.0
MAX_FOLDERS = 4096

Mark = tuple[int, int, int] | None


@dataclass(slots=True)
class Folder:
    """What one folder says about what lies below it."""

    spec: GitIgnoreSpec | None
    lines: list[str]
    mark: Mark
    marker: str  # the name of the file that makes the folder a cache or an environment
    is_project: bool = False
    changed: int = -1  # when its names changed last, as far as they are known
    checked: float = field(default_factory=time.monotonic)


class IgnoreFiles:
    """The `.gitignore` files of one directory. A folder is looked at again after RECHECK_SECONDS."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._folders: OrderedDict[str, Folder] = OrderedDict()
        self._lock = Lock()

    def forget(self) -> None:
        """Read everything anew at the next question."""
        with self._lock:
            self._folders.clear()

    def why_out(self, path: str) -> LeftOut | None:
        """Why a file is left out: the outermost folder on its way that is ignored, or the file itself."""
        for at, is_folder in steps(path):
            if why := self.why_name_out(at, is_folder=is_folder):
                return why
        return None

    def why_name_out(self, at: str, *, is_folder: bool) -> LeftOut | None:
        """Why a folder or file is left out, where nothing above it is."""
        if is_folder and (marker := self._folder(at).marker):
            why, code = MARKERS[marker]
            return LeftOut(at.rsplit("/", 1)[-1], why, code, at)
        return self.why_matched(self.above(at.rpartition("/")[0]), at, is_folder=is_folder)

    def above(self, folder: str) -> list[tuple[str, Folder]]:
        """The folders with patterns that count for what lies in a folder, deepest first."""
        chain = [folder]
        while chain[-1]:
            chain.append(chain[-1].rpartition("/")[0])
        return [(path, known) for path in chain if (known := self._folder(path)).spec is not None]

    def why_matched(self, above: list[tuple[str, Folder]], at: str, *, is_folder: bool) -> LeftOut | None:
        """Why the patterns of these folders leave a path out."""
        for folder, known in above:
            assert known.spec is not None
            inside = at[len(folder) + 1 :] if folder else at
            found = known.spec.check_file(inside + ("/" if is_folder else ""))
            if found.include is not None:
                return self._ignored(folder, known.lines[found.index or 0], at) if found.include else None
        return None

    def _ignored(self, folder: str, line: str, at: str) -> LeftOut:
        place = f"{folder}/{NAME}" if folder else NAME
        return LeftOut(line.strip().strip("/") or line, f"{place}: {line.strip()}", "ignored", at)

    def _folder(self, folder: str) -> Folder:
        now = time.monotonic()
        known = self._folders.get(folder)
        if known is not None and now - known.checked < RECHECK_SECONDS:
            return known
        mark = self._mark(folder)
        if known is None or known.mark != mark:
            lines = self._read(folder) if mark else []
            known = Folder(self._compiled(lines), lines, mark, "")
        known.marker = self._marker(folder) if folder else ""
        self._look_for_project(folder, known)
        known.checked = now
        with self._lock:
            self._folders[folder] = known
            self._folders.move_to_end(folder)
            while len(self._folders) > MAX_FOLDERS:
                self._folders.popitem(last=False)
        return known

    @staticmethod
    def _compiled(lines: list[str]) -> GitIgnoreSpec | None:
        """The patterns as one; None where they are more than the engine takes."""
        with contextlib.suppress(Exception):  # each engine has its own error
            return compiled(lines) if lines else None
        return None

    def is_project(self, folder: str) -> bool:
        """Whether a folder below the root is a project of its own: it has a `.git`, a `package.json` or the like."""
        return bool(folder) and self._folder(folder).is_project

    def _look_for_project(self, folder: str, known: Folder) -> None:
        """Names are read again only where some came or went."""
        path = os.path.join(self.root, folder)
        try:
            changed = os.lstat(path).st_mtime_ns if folder else -1
            if changed != known.changed:
                known.is_project, known.changed = is_project(os.listdir(path)), changed
        except (OSError, ValueError):
            known.is_project, known.changed = False, -1

    def _path(self, folder: str, name: str) -> str:
        return os.path.join(self.root, folder, name)

    def _mark(self, folder: str) -> Mark:
        try:
            found = os.lstat(self._path(folder, NAME))
        except (OSError, ValueError):
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _marker(self, folder: str) -> str:
        return next((name for name in MARKERS if os.path.lexists(self._path(folder, name))), "")

    def _read(self, folder: str) -> list[str]:
        """The patterns of the file, as far as its limits go; none where it is a link, a pipe or cannot be read."""
        try:
            file = os.open(self._path(folder, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            content = os.read(file, MAX_BYTES)
        except OSError:
            return []
        finally:
            os.close(file)
        lines = content.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()[:MAX_LINES]
        return [line for line in lines if is_pattern(line)]
