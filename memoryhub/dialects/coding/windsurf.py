"""Windsurf, by its documentation: global rules, rules of the workspace and of folders above, AGENTS.md of the root."""

from __future__ import annotations

import os

from . import front_matter
from .plain_files import HERE, USER, files_in, folders_from_root, text_at, why_read
from .shapes import CodingAgent, Context, Start, Writer

GLOBAL_LIMIT, RULE_LIMIT = 6_000, 12_000


def read(start: Start) -> Context:
    writer = Writer()
    path = start.at(".codeium", "windsurf", "memories", "global_rules.md")
    _add(writer, path, "user", USER, text_at(start, path), GLOBAL_LIMIT)
    for folder in folders_from_root(start):
        for path in files_in(start, os.path.join(folder, ".windsurf", "rules"), (".md",)):
            keys, body = front_matter.split(text_at(start, path))
            trigger = keys.get("trigger") or "always_on"
            if trigger == "always_on":
                _add(writer, path, "rule", why_read(start, folder), body, RULE_LIMIT)
            else:
                writer.load_later(path, f"by its trigger {trigger}")
    path = os.path.join(start.directory, "AGENTS.md")
    _add(writer, path, "project", HERE, text_at(start, path), RULE_LIMIT)
    return writer.context()


def _add(writer: Writer, path: str, kind: str, reason: str, text: str, limit: int) -> None:
    text = text.strip()
    if text:
        writer.add("\n\n" if writer.blocks else "")
        shown = text[:limit]
        writer.block(path, kind, reason, shown, shown.count("\n") + 1 if len(text) > limit else None)


AGENT = CodingAgent(
    "windsurf", "Windsurf", "by its documentation", False, read, ("AGENTS.md", ".windsurf/rules"), "windsurf"
)
