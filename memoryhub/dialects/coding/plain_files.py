"""What several agents share: files in order, each behind a label, and notes of those that lose against another."""

from __future__ import annotations

import os
from collections.abc import Iterable

from .shapes import Start, Writer
from .tree import from_to, nearest_with

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


def why(start: Start, folder: str) -> str:
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
