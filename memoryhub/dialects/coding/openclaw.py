"""OpenClaw: the files of its workspace, each with a limit in characters and all together with another."""

from __future__ import annotations

import os

from .plain_files import files_in, head_and_tail, text_at
from .settings import at, read_json
from .shapes import CodingAgent, Context, Start, Writer

NAMES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md")
REQUIRED = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md")
FILE_LIMIT, TOTAL_LIMIT, USER_LIMIT = 20_000, 60_000, 4_000


def read(start: Start) -> Context:
    """The injected files of the main session. Its own order of AGENTS.md's parts when that is too long is not known here."""
    writer = Writer()
    settings = read_json(start.tree, start.at(".openclaw", "openclaw.json"))
    workspace = at(settings, "agents", "defaults", "workspace") or start.at(".openclaw", "workspace")
    workspace = os.path.join(start.home, str(workspace).removeprefix("~/"))
    limit = at(settings, "agents", "defaults", "bootstrapMaxChars") or FILE_LIMIT
    left = at(settings, "agents", "defaults", "bootstrapTotalMaxChars") or TOTAL_LIMIT
    for name in NAMES:
        path = os.path.join(workspace, name)
        text = text_at(start, path)
        if not text.strip():
            if name in REQUIRED and start.tree.kind(workspace):
                writer.ignore(path, "Missing; the agent is told so")
            continue
        own = min(USER_LIMIT if name == "USER.md" else limit, left)
        shown, cut_at = head_and_tail(text, own, 0.75, 0.25, f"\n[...truncated, read {name} for full content...]\n")
        if own <= 0:
            writer.ignore(path, "The limit for all files is used up")
            continue
        left -= len(shown)
        writer.add(("\n\n" if writer.blocks else "") + f"## {path}\n")
        writer.block(path, "memory" if name == "MEMORY.md" else "user", "A file of its workspace", shown, cut_at)
    for path in files_in(start, os.path.join(workspace, "memory"), (".md",), deep=False):
        writer.load_later(path, "when the model searches its memory")
    return writer.context()


AGENT = CodingAgent("openclaw", "OpenClaw", "2026.9.6", False, read, NAMES, "openclaw")
