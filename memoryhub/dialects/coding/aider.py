"""Aider: nothing is read by its name; only what `read:` in .aider.conf.yml lists."""

from __future__ import annotations

import os

from . import front_matter
from .plain_files import repository, text_at
from .shapes import CodingAgent, Context, Start, Writer


def read(start: Start) -> Context:
    writer = Writer()
    for folder in dict.fromkeys((start.home, repository(start) or start.directory, start.directory)):
        config = os.path.join(folder, ".aider.conf.yml")
        listed = front_matter.split(f"---\n{_settings(start, config)}\n---\n")[0].get("read") or []
        for name in [listed] if isinstance(listed, str) else listed:
            path = os.path.normpath(
                os.path.join(start.directory, name.replace("~", start.home, 1) if name.startswith("~/") else name)
            )
            text = text_at(start, path)
            if text:
                writer.add("\n\n" if writer.blocks else "")
                writer.block(path, "project", f"Listed by read: in {config}", text)
    for name in ("AGENTS.md", "CLAUDE.md", "CONVENTIONS.md"):
        path = os.path.join(start.directory, name)
        if start.tree.kind(path) == "file":
            writer.ignore(path, "Aider reads no file by its name; list it under read: in .aider.conf.yml")
    return writer.context()


def _settings(start: Start, path: str) -> str:
    return (start.tree.read_settings(path) or b"").decode("utf-8-sig", "replace")


AGENT = CodingAgent("aider", "Aider", "0.86.2", False, read, (".aider.conf.yml",), "aider")
