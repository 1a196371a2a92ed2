"""What a directory holds for a mount: the files that are taken in, and a count of what is left out and why.

A walk enters no folder that is left out. Only a survey counts what lies in those, up to a limit, without opening a file.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from memoryhub.errors import HubError
from memoryhub.stores.disk import Stat
from memoryhub.stores.filesystem import Entry, FilesystemStore
from memoryhub.stores.ignore_files import Folder, IgnoreFiles
from memoryhub.stores.known_names import is_project
from memoryhub.stores.selection import ALL, DOCUMENTS, MAX_FILES, LeftOut, Selection, selection, steps, why_entry_out
from memoryhub.text.counted import counted

MAX_FOLDERS = 50_000
MAX_COUNTED = 20_000  # names below folders that are left out, over all of them
MAX_IN_ONE = 10_000
MAX_LOOKED_AT = 500  # entries of a folder that may hold nothing for the hub
KINDS_OF_FILES = {"no_document", "not_included", "links", "odd_names", "too_many"}  # their groups have no file's name
LINKS = LeftOut("links", "Links are not followed", "links", fixed=True)
ODD = LeftOut("unusable names", "No path can have such a name", "odd_names", fixed=True)


class Intake:
    """What one mounted directory takes in. `own` are folders of the hub inside of it, as paths relative to the root."""

    def __init__(self, root: str, chosen: Selection, own: tuple[str, ...] = ()) -> None:
        self.root, self.selection, self.own = root, chosen, own
        self.in_projects = chosen.in_projects()
        self.ignored = IgnoreFiles(root)

    def why_named_out(self, path: str) -> LeftOut | None:
        """Why a path inside the mount is left out, as far as its name tells: no look at the disk."""
        path = path.strip("/")
        return self._own(path) or self.selection.why_file_out(path)

    def why_out(self, path: str, stat: Stat | None = None) -> LeftOut | None:
        """Why a path is left out, asking `.gitignore` files and, where it is given, what lies there."""
        path = path.strip("/")
        chosen = self._selection_for(path)
        why = self._own(path) or chosen.why_file_out(path) or self._why_ignored(path)
        return why or why_entry_out(path.rsplit("/", 1)[-1], stat)

    def _selection_for(self, path: str) -> Selection:
        """What counts for a path: below a folder that is a project of its own, memory and documents alone."""
        if self.selection.takes != ALL:
            return self.selection
        above = (at for at, is_folder in steps(path) if is_folder)
        return self.in_projects if any(map(self.ignored.is_project, above)) else self.selection

    def _why_ignored(self, path: str) -> LeftOut | None:
        for at, is_folder in steps(path):
            why = self.ignored.why_name_out(at, is_folder=is_folder)
            if why and not self.selection.is_lifted(why, path):
                return why
        return None

    def _why_entry_out(
        self, chosen: Selection, above: list[tuple[str, Folder]], path: str, stat: Stat
    ) -> LeftOut | None:
        """`why_out` for an entry of a folder that is taken in, whose selection and patterns are known."""
        ignored = self.ignored.why_matched(above, path, is_folder=False) if above else None
        if ignored and self.selection.is_lifted(ignored, path):
            ignored = None
        return self._own(path) or chosen.why_name_in(path) or ignored or why_entry_out(path, stat)

    def why_folder_out(self, path: str) -> LeftOut | None:
        """Why nothing below a folder can be taken in, so that no walk enters it. Folders above are in."""
        path = path.strip("/")
        if not path:
            return None
        chosen = self._selection_for(path)
        why = self._own(path) or chosen.why_name_out(path, is_folder=True)
        why = why or self.ignored.why_name_out(path, is_folder=True)
        return None if why is None or chosen.may_be_lifted(why) else why

    def leads_out(self, path: str) -> bool:
        """Whether a folder lies in a folder that is left out, or is one."""
        return any(self.why_folder_out(at) for at, _ in steps(path) if at)

    def _own(self, path: str) -> LeftOut | None:
        for folder in self.own:
            if path == folder or path.startswith(folder + "/"):
                return LeftOut(folder.rsplit("/", 1)[-1], "The hub's own files, always", "hub", folder, fixed=True)
        return None

    # ---- walking

    def folders(self, path: str = "/") -> Iterator[tuple[str, list[Entry]]]:
        """The folders that are taken in at or below a path, nearest first, each with the entries that are taken in."""
        for folder, entries, _ in self._walk(path):
            yield folder, entries

    def files(self, path: str = "/") -> Iterator[tuple[str, Entry]]:
        """Every file that is taken in at or below a folder, at most MAX_FILES and one."""
        count = 0
        for folder, entries in self.folders(path):
            for entry in entries:
                if entry.is_folder:
                    continue
                yield folder + entry.name, entry
                count += entry.stat.kind == "file" and not entry.odd
                if count > MAX_FILES:
                    return

    def _walk(self, path: str) -> Iterator[tuple[str, list[Entry], list[tuple[Entry, LeftOut]]]]:
        store = FilesystemStore(self.root)
        todo = deque([path if path.endswith("/") else path + "/"])
        if self.leads_out(path.strip("/")):
            return
        for _ in range(MAX_FOLDERS):
            if not todo:
                return
            folder = todo.popleft()
            try:
                entries = store.entries(folder)
            except HubError:
                entries = []
            taken, out = self._sorted(folder, entries)
            todo += [f"{folder}{entry.name}/" for entry in taken if entry.is_folder]
            yield folder, taken, out

    def _sorted(self, folder: str, entries: list[Entry]) -> tuple[list[Entry], list[tuple[Entry, LeftOut]]]:
        taken, out = [], []
        above, chosen = self.ignored.above(folder.strip("/")), self._selection_for(folder.strip("/") + "/.")
        for entry in entries:
            inside = (folder + entry.name).strip("/")
            why = (
                self.why_folder_out(inside)
                if entry.is_folder
                else self._why_entry_out(chosen, above, inside, entry.stat)
            )
            if why and not (entry.stat.kind == "link" and why.code in ("no_document", "not_included")):
                out.append((entry, why))
            else:
                taken.append(entry)
        return taken, out

    def hides_all_of(self, folder: str) -> bool:
        """Whether something lies in a folder, and nothing of it is taken in, as far as its first entries tell."""
        left_out = looked = 0
        for _, taken, out in self._walk(folder):
            if any(not entry.is_folder for entry in taken):
                return False
            left_out += len(out)
            looked += len(taken) + len(out)
            if looked > MAX_LOOKED_AT:
                break
        return left_out > 0

    def entries(self, folder: str, prefix: str = "/") -> list[Entry]:
        """What one folder holds that is taken in; `prefix` is where refusals say that it is mounted."""
        if self.leads_out(folder):
            return []
        return self._sorted(folder, FilesystemStore(self.root, prefix).entries(folder))[0]


@dataclass
class Group:
    """What is left out for one reason."""

    name: str
    why: str
    code: str
    fixed: bool
    count: int = 0
    is_more: bool = False  # the count stopped at its limit

    @property
    def can_be_taken(self) -> bool:
        """Whether an include pattern of its name takes it in."""
        return not self.fixed and self.code not in ("no_document", "not_included")

    @property
    def says(self) -> str:
        """Its name, and how many files it is; of one file that has this name itself the name alone."""
        return (
            self.name
            if self.count == 1 and self.code not in KINDS_OF_FILES
            else f"{self.name} {self.count}{'+' if self.is_more else ''}"
        )


@dataclass
class Survey:
    """How many files a mount takes in, and what it leaves out, most first."""

    files: int = 0
    is_full: bool = False  # there are more than the hub takes
    groups: list[Group] = field(default_factory=list)

    @property
    def left_out(self) -> int:
        return sum(group.count for group in self.groups)

    @property
    def is_more(self) -> bool:
        return any(group.is_more for group in self.groups)

    def listed(self, most: int = 8) -> str:
        """What is left out in one line: `.git 31, node_modules 5, .env`."""
        named = [group.says for group in self.groups]
        return ", ".join([*named[:most], *([f"{len(named) - most} more"] if len(named) > most else [])])

    def sentence(self, directory: str) -> str:
        """What a mount of this directory shows: `memoryhub shows 8 files of DIR, 37 left out: .git 31, node_modules 5, .env`."""
        shown = f"{counted(self.files, 'file')} of {directory}"
        out = f"{self.left_out}{'+' if self.is_more else ''} left out{': ' + self.listed() if self.groups else ''}"
        full = f". It has more than {MAX_FILES} files: leave some out, or mount a folder of it" if self.is_full else ""
        return f"memoryhub shows {shown}, {out}{full}"

    def as_json(self) -> list[dict[str, Any]]:
        """What is left out, for machines."""
        return [{"name": g.name, "files": g.count, "why": g.why, "code": g.code} for g in self.groups]


def survey(intake: Intake) -> Survey:
    """Counts what a directory holds. Files beyond MAX_FILES are not counted: then the survey `is_full`."""
    found = Survey()
    groups: dict[tuple[str, str], Group] = {}
    budget = MAX_COUNTED
    for folder, taken, out in intake._walk("/"):
        for entry in taken:
            if entry.stat.kind == "file" and not entry.odd:
                found.files += 1
            elif not entry.is_folder:
                _count(groups, LINKS if entry.stat.kind == "link" else ODD, 1)
        for entry, why in out:
            count, is_more = (1, False)
            if entry.is_folder:
                count, is_more = count_files(
                    os.path.join(intake.root, (folder + entry.name).strip("/")), min(budget, MAX_IN_ONE)
                )
                budget -= count
            _count(groups, why, count, is_more)
        if found.files > MAX_FILES:
            found.files, found.is_full = MAX_FILES, True
            break
    found.groups = sorted(
        (group for group in groups.values() if group.count), key=lambda group: (-group.count, group.name)
    )
    return found


def _count(groups: dict[tuple[str, str], Group], why: LeftOut, count: int, is_more: bool = False) -> None:
    group = groups.setdefault((why.name, why.code), Group(why.name, why.why, why.code, why.fixed))
    group.count += count
    group.is_more = group.is_more or is_more


def count_files(folder: str, limit: int) -> tuple[int, bool]:
    """How many names that are no folders lie below a folder, and whether counting stopped at the limit. Links are not followed."""
    count, todo, looked = 0, [folder], 0
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    looked += 1
                    if count >= limit or looked > 2 * limit + 100:
                        return count, True
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    else:
                        count += 1
        except OSError:
            continue
    return count, False


def kind_of(directory: str) -> str:
    """What a mount of this directory takes in by default: documents of a project, all of a folder that is made for memory."""
    try:
        return DOCUMENTS if is_project(os.listdir(directory)) else ALL
    except OSError:
        return ALL


@lru_cache(maxsize=128)
def intake(root: str, chosen: str, own: tuple[str, ...] = ()) -> Intake:
    """The intake of a directory; one for each process, so that its `.gitignore` files are read once."""
    return Intake(root, selection(chosen), own)
