"""Which files of a mounted directory are taken in, by their names (pure).

`Selection.why_out` says why a path is left out, or nothing. What only the disk can tell is asked elsewhere: `.gitignore` files in
`ignore_files`, sizes and kinds of files in `why_entry_out`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pathspec import GitIgnoreSpec

from memoryhub.errors import Invalid
from memoryhub.stores.disk import MAX_BYTES, Stat
from memoryhub.stores.known_names import (
    BUILD_PATTERNS,
    BUILDS,
    CACHES,
    DEPENDENCIES,
    OF_PROJECTS,
    SECRET_FILES,
    SECRET_FOLDERS,
    VERSION_CONTROL,
    is_document_name,
    is_hidden_memory,
    plain,
)
from memoryhub.stores.programs import reasons
from memoryhub.text import engine
from memoryhub.text.path_patterns import matches

BACKEND = "re2" if engine.IS_LINEAR else "hyperscan"  # both take linear time, whatever a pattern says
MAX_WILDCARDS = 500 if engine.IS_LINEAR else 16  # of a pattern: hyperscan takes long to compile more
MAX_FILES = 10_000
MAX_PATTERNS, MAX_PATTERN = 200, 500
ALL, DOCUMENTS = "all", "documents"
SEPARATOR = "\x1f"  # between the parts of a selection as one text


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a file is left out. `name` is what it is counted under, `at` the path of the folder or file that is out;
    what is `fixed` cannot be taken in by a pattern."""

    name: str
    why: str
    code: str
    at: str = ""
    fixed: bool = False


FULL = LeftOut("more files", f"The directory has more than {MAX_FILES:,} files", "too_many", fixed=True)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of include patterns, compiled."""

    text: str
    spec: GitIgnoreSpec
    names: tuple[str, ...]  # its parts that say a name, and not only `*`


def compiled(lines: list[str]) -> GitIgnoreSpec:
    """Patterns as one matcher; each line is one (see `is_pattern`)."""
    return GitIgnoreSpec.from_lines(lines, backend=BACKEND)


@lru_cache(maxsize=4096)
def is_pattern(line: str) -> bool:
    """Whether a line of a .gitignore file is a pattern: no comment, not blank, and written as git understands it."""
    if not line.strip() or line.startswith("#") or len(line) > MAX_PATTERN or "\0" in line:
        return False
    if sum(map(line.count, "*?[")) > MAX_WILDCARDS:
        return False
    try:
        GitIgnoreSpec.from_lines([line], backend=BACKEND)
    except Exception:  # each engine has its own error
        return False
    return True


def checked_patterns(given: str | list[str]) -> str:
    """Patterns of a mount, one a line, without blanks; refused where one is no pattern."""
    lines = given.splitlines() if isinstance(given, str) else [line for text in given for line in text.splitlines()]
    lines = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if len(lines) > MAX_PATTERNS:
        raise Invalid(f"A mount has {MAX_PATTERNS} patterns at most.", code="too_many_patterns")
    for line in lines:
        shown = line[:80].encode("unicode_escape").decode() if not line.isprintable() else line[:80]
        if not line.isprintable() or not is_pattern(line):
            says = f"“{shown}” is no pattern. Write it as in a .gitignore file: drafts/, *.log, /notes/*.md"
            raise Invalid(says, code="invalid_pattern")
    return "\n".join(lines)


def columns_of(text: str) -> dict[str, Any]:
    """The columns of a mount that its selection as one text is made of."""
    takes, include, exclude, full = [*text.split(SEPARATOR), "", "", ""][:4]
    return {"takes": takes or ALL, "include": include, "exclude": exclude, "is_full": bool(full)}


@lru_cache(maxsize=256)
def selection(text: str) -> Selection:
    """The selection of a mount from its columns in one text, as `Mount.selection` and `fragments.SELECTION` give it."""
    takes, include, exclude = [*text.split(SEPARATOR), "", ""][:3]
    return Selection(takes or ALL, tuple(include.splitlines()), tuple(exclude.splitlines()))


class Selection:
    """What a mount takes in: `all` or `documents` alone, and patterns as in .gitignore files.

    What is always left out (version control, secrets, dependencies, builds, caches, hidden files) is taken in only by an include
    pattern that names it, and the first two never.
    """

    def __init__(self, takes: str, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> None:
        self.takes = takes
        self.include = tuple(
            Pattern(line, compiled([line]), tuple(part for part in line.lstrip("!").split("/") if re.search(r"\w", part)))
            for line in include
        )  # fmt: skip
        self.exclude, self._excluding = exclude, compiled(list(exclude)) if exclude else None
        self.why_file_out = lru_cache(maxsize=8192)(self._why_file_out)

    def in_projects(self) -> Selection:
        """What counts in a folder below that is a project of its own: memory and documents, and what an include pattern names."""
        if self.takes != ALL:
            return self
        return Selection(DOCUMENTS, tuple(one.text for one in self.include if one.names), self.exclude)

    def _why_file_out(self, path: str) -> LeftOut | None:
        """Why the file at this path inside the mount is left out, as far as names tell."""
        for at, is_folder in steps(path):
            if (why := self.why_name_out(at, is_folder=is_folder)) and not self.is_lifted(why, path):
                return why
        return self._why_not_chosen(path)

    def why_name_in(self, path: str) -> LeftOut | None:
        """Why a file is left out whose folder is taken in, as far as names tell. Walks ask it, once for each file."""
        if self.include or any(part.startswith(".") for part in path.split("/")):
            return self._why_file_out(path)
        return self.why_name_out(path, is_folder=False) or self._why_not_chosen(path)

    def why_name_out(self, at: str, *, is_folder: bool) -> LeftOut | None:
        """Why a folder or file is left out whatever lies above it, before include patterns are asked."""
        raw = at.rsplit("/", 1)[-1]
        why = _always_out(raw, at, is_folder=is_folder, of_project=self.takes == DOCUMENTS)
        if why is None and self._excluding is not None:
            found = self._excluding.check_file(at + ("/" if is_folder else ""))
            if found.include:
                pattern = self.exclude[found.index or 0]
                return LeftOut(pattern, "Excluded by a pattern of this mount", "excluded", at, fixed=True)
        return why

    def is_lifted(self, why: LeftOut, path: str) -> bool:
        """Whether an include pattern takes in this file although a part of its path is left out."""
        name = why.at.rsplit("/", 1)[-1]
        return not why.fixed and any(_names(one, name) and one.spec.check_file(path).include for one in self.include)

    def may_be_lifted(self, why: LeftOut) -> bool:
        """Whether an include pattern names this folder, so that a walk has to look into it."""
        name = why.at.rsplit("/", 1)[-1]
        return not why.fixed and any(_names(one, name) for one in self.include)

    def _why_not_chosen(self, path: str) -> LeftOut | None:
        if any(one.spec.check_file(path).include for one in self.include):
            return None
        name = path.rsplit("/", 1)[-1]
        if self.takes == ALL and not self.include:
            return None
        if is_document_name(name) and not reasons(path) and (self.takes == DOCUMENTS or _is_memory(path)):
            return None
        if self.takes == DOCUMENTS:
            return LeftOut("other files", "Neither memory nor a document", "no_document", path)
        return LeftOut("other files", "No include pattern of this mount matches", "not_included", path)


def steps(path: str) -> Iterator[tuple[str, bool]]:
    """The folders above a path inside a mount, outermost first, then the path itself; each with whether it is a folder."""
    path = path.strip("/")
    for at, sign in enumerate(path):
        if sign == "/":
            yield path[:at], True
    yield path, False


def _names(pattern: Pattern, name: str) -> bool:
    """Whether one of the pattern's parts says this name; a hidden name only by a part that begins with a dot."""
    return any(matches(part, name) for part in pattern.names if part.startswith(".") or not name.startswith("."))


MEMORY_NAMES = frozenset(
    ["agents.md", "agents.override.md", "agent.md", "claude.md", "claude.local.md", "gemini.md", "memory.md", "soul.md"]
)


def _is_memory(path: str) -> bool:
    """Whether agents load a file of this path by itself, so that include patterns of other files do not shut it out."""
    return plain(path.rsplit("/", 1)[-1]) in MEMORY_NAMES or any(part.startswith(".") for part in path.split("/"))


def _always_out(raw: str, at: str, *, is_folder: bool, of_project: bool) -> LeftOut | None:
    name = plain(raw)
    if name in VERSION_CONTROL:
        return LeftOut(raw, "Version control, always", "version_control", at, fixed=True)
    if name in SECRET_FOLDERS if is_folder else SECRET_FILES.match(name):
        return LeftOut(raw, "Secrets, always", "secrets", at, fixed=True)
    if is_folder and name in DEPENDENCIES:
        return LeftOut(raw, "Dependencies", "dependencies", at)
    if is_folder and (name in BUILDS or BUILD_PATTERNS.match(name)):
        return LeftOut(raw, "Build output", "build", at)
    if name in CACHES:
        return LeftOut(raw, "Cache", "cache", at)
    if is_folder and of_project and name in OF_PROJECTS:
        return LeftOut(raw, "Dependencies, build output or cache of a project", "build", at)
    return _hidden_out(at, is_folder=is_folder)


def _hidden_out(at: str, *, is_folder: bool) -> LeftOut | None:
    """Why a path is left out for a hidden name in it, unless that leads to known memory."""
    parts = tuple(at.split("/"))
    for end, name in enumerate(parts):
        if name.startswith(".") and not is_hidden_memory(parts[end:], is_folder=is_folder):
            return LeftOut(name, "Hidden", "hidden", "/".join(parts[: end + 1]))
    return None


def why_entry_out(name: str, stat: Stat | None) -> LeftOut | None:
    """Why a file is left out for what lies there: it is too large, or no file at all."""
    if stat is not None and stat.kind == "other":
        return LeftOut(name, "Neither a file nor a folder", "special", fixed=True)
    if stat is not None and stat.kind == "file" and stat.size > MAX_BYTES:
        return LeftOut(name, "Over 1 MiB", "too_large", fixed=True)
    return None
