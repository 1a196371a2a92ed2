"""What several agents share: files in order, each behind a label, and notes of those that lose against another."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from memoryhub.text import path_patterns

from .shapes import Start, Writer
from .tree import from_to, nearest_with

TICKS = re.compile(r"`+")
HERE, ABOVE, USER = (
    "Instructions of this folder",
    "Instructions of a folder above",
    "This person's instructions for every project",
)


def text_at(start: Start, path: str) -> str:
    """The text of a file without a byte order mark; empty where there is none."""
    return (start.tree.read(path) or b"").decode("utf-8", "replace").removeprefix("\ufeff")


def repository(start: Start) -> str:
    """The root of the repository around the folder; empty outside of one."""
    return nearest_with(start.tree, start.directory, (".git",))


def folders_from_root(start: Start) -> list[str]:
    """From the root of the repository down to the folder; the folder alone outside of one."""
    return from_to(repository(start), start.directory)


def why_read(start: Start, folder: str) -> str:
    return HERE if folder == start.directory else ABOVE


def first_of(start: Start, writer: Writer, paths: Iterable[str]) -> str:
    """The first path that is a file; the later ones are noted as hidden by it. Empty where none is."""
    there = [path for path in paths if start.tree.kind(path) == "file"]
    for path in there[1:]:
        writer.ignore(path, f"{there[0]} exists, so it alone is read")
    return there[0] if there else ""


def files_in(start: Start, folder: str, endings: tuple[str, ...], *, deep: bool = True) -> list[str]:
    """The files with one of the endings in a folder and below it, by name; links to folders are not entered."""
    found = []
    for name in sorted(start.tree.names(folder)):
        path = os.path.join(folder, name)
        if start.tree.kind(path) == "folder" and deep and not start.tree.is_link(path):
            found += files_in(start, path, endings)
        elif name.endswith(endings) and start.tree.kind(path) == "file":
            found.append(path)
    return found


def head_and_tail(text: str, limit: int, head: float, tail: float, marker: str) -> tuple[str, int | None]:
    """A text cut in its middle to a limit of characters, and the first line that is lost."""
    if len(text) <= limit:
        return text, None
    kept = text[: int(limit * head)]
    end = text[len(text) - int(limit * tail) :]
    return f"{kept}{marker}{end}", kept.count("\n") + 1


def matches_like_gitignore(pattern: str, path: str) -> bool:
    """As in a .gitignore: without a slash inside it fits a name at any depth, and a folder takes what is below it along."""
    anchored = "/" in pattern.rstrip("/")
    bare = pattern.strip("/")
    heads = [path]
    while "/" in heads[-1]:
        heads.append(heads[-1].rpartition("/")[0])
    return any(path_patterns.matches("/" + bare if anchored else "**/" + bare, head) for head in heads)


def outside_code(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches that do not begin inside of back-ticks."""
    matches = list(pattern.finditer(text))
    spans = list(_code_spans(text)) if matches else []
    starts = [start for start, _ in spans]
    for match in matches:
        at = bisect_right(starts, match.start()) - 1
        if at < 0 or match.start() >= spans[at][1]:
            yield match


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """From a run of back-ticks to where as many follow again. A run that never closes is text, and so is every longer one."""
    at, unclosed = 0, len(text) + 1
    while run := TICKS.search(text, at):
        at = run.end()
        if len(run[0]) >= unclosed:
            continue
        end = text.find(run[0], at)
        if end < 0:
            unclosed = len(run[0])
            continue
        at = end + len(run[0])
        yield run.start(), at
