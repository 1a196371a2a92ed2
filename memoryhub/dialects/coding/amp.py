"""Amp, second-hand: the first of seven names in each folder from the project's root down, and this person's file."""

from __future__ import annotations

import os

from .plain_files import USER, first_of, folders_from_root, text_at, why_read
from .shapes import CodingAgent, Context, Start, Writer

NAMES = ("AGENTS.md", "Agents.md", "agents.md", "AGENT.md", "Agent.md", "agent.md", "CLAUDE.md")


def read(start: Start) -> Context:
    writer = Writer()
    config = start.env.get("XDG_CONFIG_HOME") or start.at(".config")
    own = first_of(start, writer, [os.path.join(config, "amp", "AGENTS.md"), os.path.join(config, "AGENTS.md")])
    found = [(own, "user", USER)] if own else []
    for folder in folders_from_root(start):
        path = first_of(start, writer, [os.path.join(folder, name) for name in NAMES])
        found += [(path, "project", why_read(start, folder))] if path else []
    for path, kind, reason in found:
        text = text_at(start, path).strip()
        if text:
            writer.add("\n\n" if writer.blocks else "")
            writer.block(path, kind, reason, text)
    return writer.context()


AGENT = CodingAgent("amp", "Amp", "by reports, not its documentation", False, read, NAMES, "amp")
