"""Zed, by its documentation: the first of nine names in the worktree's root, and this person's AGENTS.md."""

from __future__ import annotations

import os

from .plain_files import HERE, USER, first_of, repository, text_at
from .shapes import CodingAgent, Context, Start, Writer

NAMES = (
    ".rules", ".cursorrules", ".windsurfrules", ".clinerules", ".github/copilot-instructions.md", "AGENT.md", "AGENTS.md",
    "CLAUDE.md", "GEMINI.md",
)  # fmt: skip


def read(start: Start) -> Context:
    writer = Writer()
    config = start.env.get("XDG_CONFIG_HOME") or start.at(".config")
    root = repository(start) or start.directory
    own = os.path.join(config, "zed", "AGENTS.md")
    chosen = first_of(start, writer, [os.path.join(root, name) for name in NAMES])
    for path, kind, why in ((own, "user", USER), (chosen, "project", HERE)):
        text = text_at(start, path).strip() if path else ""
        if text:
            writer.add("\n\n" if writer.blocks else "")
            writer.block(path, kind, why, text)
    return writer.context()


AGENT = CodingAgent("zed", "Zed", "by its documentation", False, read, NAMES, "zed")
