"""Hermes: its two memory files with a limit in characters, then the first kind of context file that it finds."""

from __future__ import annotations

import os

from .plain_files import HERE, files_in, folders_from_root, head_and_tail, text_at
from .shapes import CodingAgent, Context, Start, Writer

LINE = "═" * 46
MEMORY_LIMIT, USER_LIMIT, CONTEXT_LIMIT = 2_200, 1_375, 20_000
TITLES = {"MEMORY.md": "MEMORY (your personal notes)", "USER.md": "USER PROFILE (who the user is)"}
NAMES = (".hermes.md", "HERMES.md", "AGENTS.md", "CLAUDE.md", "claude.md", ".cursorrules")


def read(start: Start) -> Context:
    """The memory blocks, frozen at the start of a session, and the context files."""
    writer = Writer()
    home = start.env.get("HERMES_HOME") or start.at(".hermes")
    for name, limit in (("MEMORY.md", MEMORY_LIMIT), ("USER.md", USER_LIMIT)):
        _add_memory(start, writer, os.path.join(home, "memories", name), limit)
    for path, kind, why in [(os.path.join(home, "SOUL.md"), "user", "Who it is"), *_context_files(start, writer)]:
        text = text_at(start, path).strip()
        if not text:
            continue
        text, cut_at = head_and_tail(text, CONTEXT_LIMIT, 0.7, 0.2, f"\n\n[...truncated {os.path.basename(path)}]\n\n")
        writer.add(("\n\n" if writer.blocks else "") + f"## {os.path.basename(path)}\n\n")
        writer.block(path, kind, why, text, cut_at)
    for path in files_in(start, os.path.join(home, "pending", "memory"), (".json",), deep=False):
        writer.ignore(path, "A write that waits for approval")
    return writer.context()


def _add_memory(start: Start, writer: Writer, path: str, limit: int) -> None:
    entries = list(dict.fromkeys(one for part in text_at(start, path).split("\n§\n") if (one := part.strip())))
    if not entries:
        return
    text = "\n§\n".join(entries)
    shown, cut_at = head_and_tail(text, max(2 * limit, 4_000), 0.7, 0.2, "\n[...]\n")
    share = min(100, len(text) * 100 // limit)
    name = os.path.basename(path)
    writer.add(
        ("\n\n" if writer.blocks else "")
        + f"{LINE}\n{TITLES[name]} [{share}% — {len(text):,}/{limit:,} chars]\n{LINE}\n"
    )
    writer.block(path, "memory", "Its own memory", shown, cut_at)


def _context_files(start: Start, writer: Writer) -> list[tuple[str, str, str]]:
    """The files of the first kind that says something; those of later kinds are noted."""
    upwards = [os.path.join(folder, name) for folder in folders_from_root(start)[::-1] for name in NAMES[:2]]
    rules = files_in(start, os.path.join(start.directory, ".cursor", "rules"), (".mdc",))
    kinds = [
        upwards,
        *([os.path.join(start.directory, name)] for name in NAMES[2:5]),
        [os.path.join(start.directory, NAMES[5]), *rules],
    ]
    chosen: list[str] = []
    for number, paths in enumerate(kinds):
        there = [path for path in paths if text_at(start, path).strip()]
        if chosen:
            for path in there:
                writer.ignore(path, f"{chosen[0]} exists; only the first kind is read")
        elif there:
            chosen = there[:1] if number == 0 else there
    return [(path, "project" if path.endswith("AGENTS.md") else "fallback", HERE) for path in chosen]


AGENT = CodingAgent("hermes", "Hermes", "0.19.0", False, read, NAMES, "hermes")
