"""Cursor, by its documentation: rules of `.cursor/rules`, AGENTS.md and the old `.cursorrules`. Its user rules lie in no file."""

from __future__ import annotations

import os

from . import front_matter
from .plain_files import HERE, files_in, matches_like_gitignore, text_at
from .shapes import CodingAgent, Context, Start, Writer
from .tree import is_below


def read(start: Start) -> Context:
    """The rules that always count and those of touched files, in no order that is known."""
    writer = Writer()
    root = start.directory
    for path in files_in(start, os.path.join(root, ".cursor", "rules"), (".mdc", ".md")):
        keys, body = front_matter.split(text_at(start, path))
        patterns = keys.get("globs") or ""
        patterns = (
            patterns if isinstance(patterns, list) else [one.strip() for one in patterns.split(",") if one.strip()]
        )
        fits = [one for one in start.touched if any(_fits(root, pattern, one) for pattern in patterns)]
        if path.endswith(".md"):
            writer.ignore(path, "Rules must end in .mdc")
        elif keys.get("alwaysApply") == "true" or fits:
            _add(writer, path, "rule", f"Fits {fits[0]}" if fits else "A rule that always counts", body.strip())
        elif patterns:
            writer.load_later(path, "when a file is in context that fits " + ", ".join(patterns))
        else:
            writer.load_later(
                path,
                "when the model decides by its description" if keys.get("description") else "when it is named with @",
            )
    for name, kind in (("AGENTS.md", "project"), (".cursorrules", "fallback")):
        text = text_at(start, os.path.join(root, name)).strip()
        if text:
            _add(writer, os.path.join(root, name), kind, HERE, text)
    return writer.context()


def _add(writer: Writer, path: str, kind: str, why: str, text: str) -> None:
    if text:
        writer.add("\n\n" if writer.blocks else "")
        writer.block(path, kind, why, text)


def _fits(root: str, pattern: str, path: str) -> bool:
    path = os.path.normpath(os.path.join(root, path))
    return is_below(path, root) and matches_like_gitignore(pattern, os.path.relpath(path, root))


AGENT = CodingAgent(
    "cursor", "Cursor", "by its documentation", False, read, ("AGENTS.md", ".cursor/rules", ".cursorrules"), "cursor"
)
