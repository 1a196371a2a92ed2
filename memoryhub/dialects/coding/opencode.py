"""OpenCode: every file of the first name that is found from the folder up to the worktree's root, nearest first; one global file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from memoryhub.text import path_patterns

from .plain_files import USER, why_read
from .settings import at, read_json
from .shapes import CodingAgent, Context, Start, Writer
from .tree import from_to, nearest_with

MAX_FILES = 20_000
NAMES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")


def read(start: Start) -> Context:
    """What the system prompt says behind the description of the machine."""
    writer = Writer()
    found = [*_global_file(start, writer), *_project_files(start, writer), *_named_in_settings(start, writer)]
    taken: set[str] = set()
    for path, kind, why in found:
        data = start.tree.read(path)
        if data is None or path in taken:
            continue
        taken.add(path)
        if not data:
            writer.ignore(path, "Empty")
            continue
        writer.add(f"{chr(10) if writer.blocks else ''}Instructions from: {path}\n")
        writer.block(path, kind, why, data.decode("utf-8", "replace").removeprefix("\ufeff"))
    for path in start.touched:
        _add_nested(start, writer, path, taken)
    return writer.context()


def _folders(start: Start) -> list[str]:
    """From the folder up to the root of the worktree; outside of one, up to the root of the file system."""
    return from_to(nearest_with(start.tree, start.directory, (".git",)) or "/", start.directory)[::-1]


def _project_files(start: Start, writer: Writer) -> Iterator[tuple[str, str, str]]:
    if start.env.get("OPENCODE_DISABLE_PROJECT_CONFIG"):
        return
    first = ""
    for name in NAMES:
        for folder in _folders(start):
            path = os.path.join(folder, name)
            if start.tree.kind(path) != "file":
                continue
            if first and first != name:
                writer.ignore(path, f"{first} exists here or above, so {name} is not read")
                continue
            first = name
            yield path, "project" if name == NAMES[0] else "fallback", why_read(start, folder)


def _global_file(start: Start, writer: Writer) -> Iterator[tuple[str, str, str]]:
    config = start.env.get("XDG_CONFIG_HOME") or start.at(".config")
    there = [
        path
        for path in (os.path.join(config, "opencode", "AGENTS.md"), start.at(".claude", "CLAUDE.md"))
        if start.tree.kind(path) == "file"
    ]
    for path in there[1:]:
        writer.ignore(path, f"{there[0]} exists, so it alone is read")
    for path in there[:1]:
        yield path, "user", USER


def _named_in_settings(start: Start, writer: Writer) -> Iterator[tuple[str, str, str]]:
    """The files that `instructions` in opencode.json names, by relative patterns upwards or absolute ones."""
    for entry in _instructions(start):
        if entry.startswith(("http://", "https://")):
            writer.load_later(entry, "fetched at the start; its text is not known here")
            continue
        if entry.startswith("~/"):
            entry = start.at(entry[2:])
        folders = [""] if entry.startswith("/") else _folders(start)
        for folder in folders:
            for path in _matching(start, os.path.join(folder, entry) if folder else entry):
                yield path, "project", f"Named by instructions in opencode.json: {entry}"


def _instructions(start: Start) -> list[str]:
    config = start.env.get("XDG_CONFIG_HOME") or start.at(".config")
    places = [os.path.join(config, "opencode"), *_folders(start)[::-1]]
    found: list[Any] = []
    for folder in places:
        for name in ("opencode.json", "opencode.jsonc"):
            found += at(read_json(start.tree, os.path.join(folder, name)), "instructions") or []
    return list(dict.fromkeys(one for one in found if isinstance(one, str)))


def _matching(start: Start, pattern: str) -> Iterator[str]:
    """The files that fit an absolute pattern, looked for below its part without wildcards."""
    if not any(sign in pattern for sign in "*?[{"):
        path = os.path.normpath(pattern)
        if start.tree.kind(path) == "file":
            yield path
        return
    head = pattern[: min(pattern.find(sign) for sign in "*?[{" if sign in pattern)].rpartition("/")[0]
    deep = pattern.count("/") - head.count("/") if "**" not in pattern else 8
    for number, path in enumerate(_files_below(start, head or "/", deep)):
        if number >= MAX_FILES:  # a pattern such as `**/x.md` outside of a repository means the whole disk
            return
        if path_patterns.matches(os.path.normpath(pattern), path):
            yield path


def _files_below(start: Start, folder: str, deep: int) -> Iterator[str]:
    for name in sorted(start.tree.names(folder)):
        path = os.path.join(folder, name)
        kind = start.tree.kind(path)
        if kind == "file":
            yield path
        elif kind == "folder" and deep > 1 and name not in (".git", "node_modules") and not start.tree.is_link(path):
            yield from _files_below(start, path, deep - 1)


def _add_nested(start: Start, writer: Writer, touched: str, taken: set[str]) -> None:
    """What reading a file adds: the first name in each folder from the file up to the session's folder."""
    touched = os.path.normpath(os.path.join(start.directory, touched))
    folders = from_to(start.directory, os.path.dirname(touched))[1:]
    for folder in folders[::-1]:
        path = next((p for name in NAMES if start.tree.kind(p := os.path.join(folder, name)) == "file"), "")
        data = start.tree.read(path) if path and path not in taken else None
        if data:
            taken.add(path)
            writer.add(f"{chr(10) if writer.blocks else ''}Instructions from: {path}\n")
            writer.block(
                path, "nested", f"Loaded when {touched} is read", data.decode("utf-8", "replace").removeprefix("\ufeff")
            )


AGENT = CodingAgent("opencode", "OpenCode", "1.18.33", True, read, NAMES, "opencode")
