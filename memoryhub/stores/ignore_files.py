"""What `.gitignore` files and the markers of caches and environments leave out, read from the disk and kept for a moment.

Nested files count as in git: the last pattern that matches decides, deeper files before those above, and nothing below an ignored
folder comes back. Only files at or below the root are read.
"""

from __future__ import annotations

import os
import re
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from pathspec import GitIgnoreSpec

from memoryhub.stores.known_names import is_project
from memoryhub.stores.selection import MAX_PATTERN, LeftOut, compiled, is_pattern, steps
from memoryhub.text import engine

NAME = ".gitignore"
MARKERS = {"pyvenv.cfg": ("Dependencies", "dependencies"), "CACHEDIR.TAG": ("Cache", "cache")}
MAX_BYTES, MAX_LINES = 256 * 1024, 5000 if engine.IS_LINEAR else 1000  # hyperscan takes 2 ms to compile one
AT_ONCE = 250  # patterns that are compiled together; all of a long file are more than RE2 takes
TOO_LONG = f"more than {MAX_LINES:,} lines or {MAX_BYTES // 1024:,} kB"
RECHECK_SECONDS = 1.0
MAX_FOLDERS = 4096

Mark = tuple[int, int, int] | None


@dataclass(slots=True)
class Folder:
    """What one folder says about what lies below it."""

    specs: list[tuple[int, GitIgnoreSpec]]
    """Patterns that were compiled together, and the place of the first of them; the last ones first."""
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
        return [(path, known) for path in chain if (known := self._folder(path)).specs]

    def why_matched(self, above: list[tuple[str, Folder]], at: str, *, is_folder: bool) -> LeftOut | None:
        """Why the patterns of these folders leave a path out."""
        for folder, known in above:
            inside = (at[len(folder) + 1 :] if folder else at) + ("/" if is_folder else "")
            for first, spec in known.specs:
                found = spec.check_file(inside)
                if found.include is not None:
                    return self._ignored(folder, known.lines[first + (found.index or 0)], at) if found.include else None
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
            rules = self._read(folder) if mark else []
            known = Folder(_compiled([one for _, one in rules]), [line for line, _ in rules], mark, "")
        known.marker = self._marker(folder) if folder else ""
        self._look_for_project(folder, known)
        known.checked = now
        with self._lock:
            self._folders[folder] = known
            self._folders.move_to_end(folder)
            while len(self._folders) > MAX_FOLDERS:
                self._folders.popitem(last=False)
        return known

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

    def _read(self, folder: str) -> list[tuple[str, str]]:
        """The lines of the file, each with its pattern; none where it is a link, a pipe or cannot be read."""
        try:
            file = os.open(self._path(folder, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            content = os.read(file, MAX_BYTES + 1)
        except OSError:
            return []
        finally:
            os.close(file)
        lines = content.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
        found = [(line, pattern) for line in lines[:MAX_LINES] if (pattern := _pattern(line))]
        # Nobody knows what the rest would leave out.
        return [*found, (TOO_LONG, "*")] if len(content) > MAX_BYTES or len(lines) > MAX_LINES else found


_CLASS = re.compile(r"\[(?:[^\[\]]|\[:[a-z]+:\])++\]")  # `[a-z]`, `[[:digit:]_]`
_SIZES = (MAX_PATTERN - 1, 100, 15)


def _pattern(line: str) -> str:
    """What a line leaves out, or takes in again. In place of a pattern that no engine takes a broader one: what people left out
    must not be shown. Nothing for comments, and for what takes in again and cannot be read."""
    if is_pattern(line):
        return line
    if not line.strip() or line.startswith(("#", "!")) or "\0" in line:
        return ""
    bare = _CLASS.sub(lambda found: "?" if ":]" in found[0] else found[0], line)
    shorter = (bare[:size].rstrip("\\") + "*" for size in _SIZES if len(bare) > size)
    return next(filter(is_pattern, [bare, *shorter]), "")


def _compiled(patterns: list[str]) -> list[tuple[int, GitIgnoreSpec]]:
    """The patterns in pieces that the engine takes, the last ones first, since the last one that matches decides."""
    starts = range(0, len(patterns), AT_ONCE)
    return [piece for at in reversed(starts) for piece in _pieces(patterns[at : at + AT_ONCE], at)]


def _pieces(patterns: list[str], first: int) -> list[tuple[int, GitIgnoreSpec]]:
    try:
        return [(first, compiled(patterns))]
    except Exception:  # each engine has its own error
        if len(patterns) == 1:
            raise
        half = len(patterns) // 2
        return [*_pieces(patterns[half:], first + half), *_pieces(patterns[:half], first)]
