"""Gemini CLI: GEMINI.md of this person in the system instruction, the project's files, sorted by path, before the first message."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .plain_files import USER, outside_code, why_read
from .settings import at, read_json
from .shapes import CodingAgent, Context, Start, Writer
from .tree import from_to, is_below, nearest_with

DEFAULT_NAME = "GEMINI.md"
MAX_DEPTH = 5
MAX_IMPORTS = 200  # the program follows all; files that name each other many times would never end
FIRST_OF_MENTION = re.compile(r"[./A-Za-z]")
MENTION = re.compile(r"(?:^|(?<=\s))@(\S+)")
PRIVATE_BEGINS = "--- Private Project Memory Index (private, not committed to repo) ---"
PRIVATE_ENDS = "--- End Private Project Memory Index ---"
NESTED_BEGINS = "--- Newly Discovered Project Context ---"
NESTED_ENDS = "--- End Project Context ---"


@dataclass(frozen=True)
class Found:
    """A file of a group with the text that stands in the context."""

    path: str
    kind: str
    why: str
    text: str


def read(start: Start) -> Context:
    """What the system instruction says of memory, and behind it what stands before the first message of the user."""
    writer = Writer()
    settings = _settings(start)
    names = _names(settings)
    own = [_found(start, writer, start.at(".gemini", name), "user", USER) for name in names]
    private = _private_memory(start)
    globals_ = [one for one in own if one]
    if globals_ or private:
        writer.add("<loaded_context>\n")
        _add_group(writer, "global_context" if private else "", globals_)
        if private:
            writer.add(("\n" if globals_ else "") + f"<user_project_memory>\n{PRIVATE_BEGINS}\n")
            writer.block(private.path, private.kind, private.why, private.text)
            writer.add(f"\n{PRIVATE_ENDS}\n</user_project_memory>")
        writer.add("\n</loaded_context>")
    project = [
        one
        for path, reason in _project_files(start, writer, settings, names)
        if (one := _found(start, writer, path, "project", reason))
    ]
    if project:
        writer.add(("\n" if writer.blocks else "") + "<loaded_context>\n")
        _add_group(writer, "project_context", project)
        writer.add("\n</loaded_context>")
    _add_nested(start, writer, settings, names)
    return writer.context()


def _add_nested(start: Start, writer: Writer, settings: list[dict[str, Any]], names: list[str]) -> None:
    """What touched files add behind the answer of the tool: the files of the folders from the project's root down to them."""
    taken = {one.path for one in writer.blocks}
    for path in start.touched:
        path = os.path.normpath(os.path.join(start.directory, path))
        folders = from_to(_root(start, settings) or start.directory, os.path.dirname(path))
        there = [os.path.join(folder, name) for folder in folders for name in names]
        found = [
            one
            for name in there
            if name not in taken
            and start.tree.kind(name) == "file"
            and (one := _found(start, writer, name, "nested", f"Loaded when {path} is read"))
        ]
        taken |= {one.path for one in found}
        if found:
            writer.add(("\n" if writer.blocks else "") + f"{NESTED_BEGINS}\n")
            _add_group(writer, "", found)
            writer.add(f"\n{NESTED_ENDS}")


def _add_group(writer: Writer, tag: str, found: list[Found]) -> None:
    if not found:
        return
    writer.add(f"<{tag}>\n" if tag else "")
    for number, one in enumerate(found):
        writer.add(("\n\n" if number else "") + f"--- Context from: {one.path} ---\n")
        writer.block(one.path, one.kind, one.why, one.text)
        writer.add(f"\n--- End of Context from: {one.path} ---")
    writer.add(f"\n</{tag}>" if tag else "")


# ---- which files


def _settings(start: Start) -> list[dict[str, Any]]:
    """The project's settings before this person's."""
    return [
        read_json(start.tree, os.path.join(folder, ".gemini", "settings.json"))
        for folder in (start.directory, start.home)
    ]


def _setting(settings: list[dict[str, Any]], *keys: str) -> Any:
    return next((found for one in settings if (found := at(one, *keys)) is not None), None)


def _names(settings: list[dict[str, Any]]) -> list[str]:
    chosen = _setting(settings, "context", "fileName")
    # One name comes beside the usual one; a list takes its place.
    names = [chosen, DEFAULT_NAME] if isinstance(chosen, str) else chosen if isinstance(chosen, list) else []
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name)) or [DEFAULT_NAME]


def _private_memory(start: Start) -> Found | None:
    """Notes on this project that lie in this person's home, under the name that the program gave to the project."""
    known = read_json(start.tree, start.at(".gemini", "projects.json"))
    name = at(known, "projects", start.directory)
    path = start.at(".gemini", "tmp", name, "memory", "MEMORY.md") if isinstance(name, str) and name else ""
    text = (start.tree.read(path) or b"").decode("utf-8", "replace").strip() if path else ""
    return Found(path, "memory", "Its private notes on this project", text) if text else None


def _root(start: Start, settings: list[dict[str, Any]]) -> str:
    """The folder that holds one of the markers; empty where none does, or none counts."""
    markers = _setting(settings, "context", "memoryBoundaryMarkers")
    markers = tuple(one for one in markers if isinstance(one, str)) if isinstance(markers, list) else (".git",)
    return nearest_with(start.tree, start.directory, markers) if markers else ""


def _project_files(
    start: Start, writer: Writer, settings: list[dict[str, Any]], names: list[str]
) -> Iterator[tuple[str, str]]:
    folders = from_to(_root(start, settings), start.directory)
    seen = {start.tree.real(start.at(".gemini", name)) for name in names}
    for path in sorted(os.path.join(folder, name) for folder in folders for name in names):
        if start.tree.kind(path) != "file":
            continue
        real = start.tree.real(path)
        if real in seen:
            writer.ignore(path, f"A link to {real}, which is loaded already")
            continue
        seen.add(real)
        yield path, why_read(start, os.path.dirname(path))


# ---- texts and imports


def _found(start: Start, writer: Writer, path: str, kind: str, why: str) -> Found | None:
    data = start.tree.read(path)
    if data is None:
        return None
    root = nearest_with(start.tree, os.path.dirname(path), (".git",)) or os.path.dirname(path)
    text = (
        _with_imports(start, writer, data.decode("utf-8", "replace"), path, root, {path}, [None] * MAX_IMPORTS)
        .strip()
        .removeprefix("\ufeff")
    )
    if not text:
        writer.ignore(path, "Empty")
    return Found(path, kind, why, text) if text else None


def _with_imports(
    start: Start, writer: Writer, text: str, path: str, root: str, done: set[str], left: list[None]
) -> str:
    """The text with what it imports in place of each mention; `done` are the files above, `left` the imports that may still follow."""
    if len(done) > MAX_DEPTH:
        return text
    out, end = [], 0
    for match in _mentions(text):
        out += [text[end : match.start()], _imported(start, writer, match[1], path, root, done, left)]
        end = match.end()
    return "".join(out) + text[end:]


def _mentions(text: str) -> Iterator[re.Match[str]]:
    return (match for match in outside_code(MENTION, text) if FIRST_OF_MENTION.match(match[1]))


def _imported(start: Start, writer: Writer, name: str, path: str, root: str, done: set[str], left: list[None]) -> str:
    target = os.path.normpath(os.path.join(os.path.dirname(path), name))
    if not is_below(start.tree.real(target), start.tree.real(root)):
        return f"<!-- Import failed: {name} - Path traversal attempt -->"
    if target in done or not left:
        return f"<!-- File already processed: {name} -->"
    data = start.tree.read(target)
    if data is None:
        reason = "EISDIR: illegal operation on a directory, read" if start.tree.kind(target) == "folder" else (
            f"ENOENT: no such file or directory, access '{target}'"
        )  # fmt: skip
        return f"<!-- Import failed: {name} - {reason} -->"
    left.pop()
    writer.inline(target, path)
    inner = _with_imports(start, writer, data.decode("utf-8", "replace"), target, root, done | {target}, left)
    return f"<!-- Imported from: {name} -->\n{inner}\n<!-- End of import from: {name} -->"


AGENT = CodingAgent("gemini-cli", "Gemini CLI", "0.61.0", True, read, (DEFAULT_NAME,), "gemini")
