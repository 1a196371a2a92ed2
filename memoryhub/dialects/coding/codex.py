"""Codex CLI: one instructions file a folder from the project's root down, 32 KiB in all, so that the deepest file is cut first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .plain_files import USER, why_read
from .settings import at, read_toml
from .shapes import CodingAgent, Context, Start, Writer
from .tree import from_to, nearest_with

OVERRIDE, NAME = "AGENTS.override.md", "AGENTS.md"
MAX_BYTES = 32_768
SEPARATOR = "\n\n--- project-doc ---\n\n"


def read(start: Start) -> Context:
    """The message with instructions that stands before the first of the user."""
    writer = Writer()
    home = start.env.get("CODEX_HOME") or start.at(".codex")
    settings = read_toml(start.tree, os.path.join(home, "config.toml"))
    user = _user_file(start, writer, home)
    project = list(_project_files(start, writer, settings))
    if user or project:
        writer.add(f"# AGENTS.md instructions{f' for {start.directory}' if project else ''}\n\n<INSTRUCTIONS>\n")
        if user:
            writer.block(user[0], "user", USER, user[1])
        for number, (path, text, cut_at, why) in enumerate(project):
            writer.add("\n\n" if number else SEPARATOR if user else "")
            writer.block(path, "project", why, text, cut_at)
        writer.add("\n</INSTRUCTIONS>")
    _note_memories(start, writer, home)
    return writer.context()


def _user_file(start: Start, writer: Writer, home: str) -> tuple[str, str] | None:
    """The first of the two names that says something; the other one is not read then."""
    found = None
    for name in (OVERRIDE, NAME):
        path = os.path.join(home, name)
        text = (start.tree.read(path) or b"").decode("utf-8", "replace").strip()
        if not text:
            continue
        if found:
            writer.ignore(path, f"{found[0]} exists, so it alone is read")
        else:
            found = (path, text)
    return found


def _project_files(
    start: Start, writer: Writer, settings: dict[str, Any]
) -> Iterator[tuple[str, bytes, int | None, str]]:
    """Each folder's file with its text as far as the limit allows, the first line that is lost, and why it is read."""
    limit = at(settings, "project_doc_max_bytes")
    limit = limit if isinstance(limit, int) and limit >= 0 else MAX_BYTES
    names = [OVERRIDE, NAME, *(at(settings, "project_doc_fallback_filenames") or [])]
    left = limit
    for folder in _folders(start, settings):
        path = _chosen(start, writer, folder, names)
        data = start.tree.read(path) if path else None
        if data is None:
            continue
        refusal = _refusal(start, settings, limit, left)
        if refusal:
            writer.ignore(path, refusal)
        elif not data.strip():
            writer.ignore(path, "Empty")
        else:
            cut = data[:left]
            cut_at = cut.count(b"\n") + 1 if len(cut) < len(data) else None
            left -= len(cut)
            yield path, cut.decode("utf-8", "replace").encode(), cut_at, why_read(start, folder)


def _refusal(start: Start, settings: dict[str, Any], limit: int, left: int) -> str:
    if _trust(start, settings) == "untrusted":
        return "The project is not trusted in config.toml"
    if not limit:
        return "Switched off: project_doc_max_bytes is 0"
    return "" if left else f"The limit of {limit:,} bytes for all files of the project is used up"


def _trust(start: Start, settings: dict[str, Any]) -> str:
    """The trust level that config.toml gives to this folder or its repository."""
    root = nearest_with(start.tree, start.directory, (".git",))
    for folder in (start.directory, root):
        level = at(settings, "projects", folder, "trust_level") if folder else None
        if level:
            return str(level)
    return ""


def _folders(start: Start, settings: dict[str, Any]) -> list[str]:
    markers = at(settings, "project_root_markers")
    markers = tuple(markers) if isinstance(markers, list) else (".git",)
    return from_to(nearest_with(start.tree, start.directory, markers) if markers else "", start.directory)


def _chosen(start: Start, writer: Writer, folder: str, names: list[str]) -> str:
    """The first of the names that is a file in this folder; each later one is noted as hidden by it."""
    there = [path for name in names if start.tree.kind(path := os.path.join(folder, name)) == "file"]
    for path in there[1:]:
        writer.ignore(path, f"{os.path.basename(there[0])} lies beside it, so it alone is read")
    for name in start.tree.names(folder):
        if name.lower() == "agents.md" and name != NAME:
            writer.ignore(os.path.join(folder, name), "The name must be AGENTS.md, in capitals")
    return there[0] if there else ""


def _note_memories(start: Start, writer: Writer, home: str) -> None:
    """Its own memory, which stands in another message and only where the feature is switched on."""
    for name in ("memory_summary.md", "MEMORY.md"):
        path = os.path.join(home, "memories", name)
        if start.tree.kind(path) == "file":
            writer.load_later(path, "in a message of its own, where the feature `memories` is on")


AGENT = CodingAgent("codex", "Codex", "0.169.0", True, read, (NAME, OVERRIDE), "codex")
