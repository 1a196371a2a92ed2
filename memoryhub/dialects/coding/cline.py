"""Cline: AGENTS.md of the workspace and rules of several folders, by name, each under its own heading."""

from __future__ import annotations

import os
from collections.abc import Iterator

from . import front_matter
from .plain_files import HERE, USER, files_in, text_at
from .shapes import CodingAgent, Context, Start, Writer

ENDINGS = (".md", ".markdown", ".txt")


def read(start: Start) -> Context:
    """The section of rules in the system prompt."""
    writer = Writer()
    found: dict[str, tuple[str, str, str, str, str]] = {}
    for path, kind, why in _files(start):
        keys, body = front_matter.split(text_at(start, path))
        name = keys.get("name") or os.path.splitext(os.path.basename(path))[0]
        name = name if isinstance(name, str) else " ".join(name)
        if keys.get("disabled") == "true":
            writer.ignore(path, "Switched off in its front matter")
        elif not body.strip():
            writer.ignore(path, "Empty")
        elif name.lower() in found:
            writer.ignore(path, f"A rule of this name was found before: {found[name.lower()][1]}")
        else:
            found[name.lower()] = (name, path, kind, why, body.strip())
    for number, (name, path, kind, why, body) in enumerate(found[key] for key in sorted(found)):
        writer.add(("\n\n" if number else "# Rules\n\n") + f"## {name}\n")
        writer.block(path, kind, why, body)
    return writer.context()


def _files(start: Start) -> Iterator[tuple[str, str, str]]:
    def inside(*parts: str) -> str:
        return os.path.join(start.directory, *parts)

    single = [(inside("AGENTS.md"), "project", HERE), (start.at(".agents", "AGENTS.md"), "user", USER)]
    if start.tree.kind(inside(".clinerules")) == "file":
        single.append((inside(".clinerules"), "rule", HERE))
    yield from (one for one in single if start.tree.kind(one[0]) == "file")
    for folder, why in (
        (inside(".clinerules"), HERE), (inside(".cline", "rules"), HERE),
        (start.at(".cline", "rules"), USER), (start.at("Documents", "Cline", "Rules"), USER),
    ):  # fmt: skip
        for path in files_in(start, folder, ENDINGS, deep=False):
            if not start.tree.is_link(path):
                yield path, "rule", why


AGENT = CodingAgent("cline", "Cline", "sdk 21cb8d2", False, read, ("AGENTS.md", ".clinerules"), "cline")
