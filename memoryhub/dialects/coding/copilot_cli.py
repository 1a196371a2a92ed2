"""Copilot CLI: this person's instructions, those of .github, then AGENTS.md, CLAUDE.md and GEMINI.md of every folder from the root down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from . import front_matter
from .plain_files import USER, outside_code, why_read
from .shapes import CodingAgent, Context, Start, Writer
from .tree import from_to, is_below, nearest_with

GITHUB = os.path.join(".github", "copilot-instructions.md")
NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
WITHOUT_IMPORTS = "GEMINI.md"
MENTION = re.compile(r"(?:^|(?<=[\s(]))@(?P<path>\S*[^\s.,;:!?)\]}'\"])")
TABLE = "| Pattern | File Path | Description |\n| ------- | --------- | ----------- |\n"


def read(start: Start) -> Context:
    """What the system message says of instructions."""
    writer = Writer()
    taken: dict[str, str] = {}
    for path, kind, why in _whole_files(start):
        text = _read(start, path)
        if kind == "user" and "\ufffd" in text:
            writer.ignore(path, "Not UTF-8")
            continue
        if text in taken:
            writer.ignore(path, f"Says what {taken[text]} says")
            continue
        taken[text] = path
        writer.add(("\n\n" if writer.blocks else "") + "<custom_instruction>\n")
        _add_text(start, writer, path, kind, why, text)
        writer.add("\n</custom_instruction>")
    rows = list(_instruction_files(start, writer))
    if rows:
        writer.add(("\n\n" if writer.blocks else "") + TABLE + "\n".join(rows))
    return writer.context()


def _root(start: Start) -> str:
    return nearest_with(start.tree, start.directory, (".git",))


def _whole_files(start: Start) -> Iterator[tuple[str, str, str]]:
    folders = from_to(_root(start), start.directory)
    places = [(start.at(".copilot", "copilot-instructions.md"), "user", USER)]
    # The root and the folder itself come first, then those between.
    ends = list(dict.fromkeys((folders[0], folders[-1])))
    places += [(os.path.join(folder, GITHUB), "project", why_read(start, folder)) for folder in ends]
    places += [(os.path.join(folder, name), "project", why_read(start, folder)) for folder in ends for name in NAMES]
    places += [
        (os.path.join(one, name), "project", why_read(start, one)) for one in folders[1:-1] for name in (GITHUB, *NAMES)
    ]
    for path, kind, why in places:
        found = _in_any_case(start, path)
        if found:
            yield found, kind, why


def _in_any_case(start: Start, path: str) -> str:
    """The file of this name, else one that differs in case alone; empty where there is none."""
    if start.tree.kind(path) == "file":
        return path
    folder, name = os.path.split(path)
    alike = sorted(one for one in start.tree.names(folder) if len(one) == len(name) and one.lower() == name.lower())
    return next((one for one in (os.path.join(folder, one) for one in alike) if start.tree.kind(one) == "file"), "")


def _add_text(start: Start, writer: Writer, path: str, kind: str, why: str, text: str) -> None:
    """The text of a file, with what it imports behind each mention."""
    if os.path.basename(path).lower() == WITHOUT_IMPORTS.lower():
        writer.block(path, kind, why, text)
        return
    writer.block(path, kind, why, _with_imports(start, writer, path, text, {start.tree.real(path)}))


def _read(start: Start, path: str) -> str:
    return (start.tree.read(path) or b"").decode("utf-8", "replace").removeprefix("\ufeff")


def _with_imports(start: Start, writer: Writer, path: str, text: str, done: set[str]) -> str:
    """The text with each file that it mentions behind the mention, whole at the first time."""
    out, end = [], 0
    for match in outside_code(MENTION, text) if "@" in text else ():
        target = _target(start, path, match["path"])
        if not target:
            continue
        head = f'\n\n<imported_custom_instruction source="{target}"'
        if start.tree.real(target) in done:
            piece = f'{head} skipped="already-loaded" />'
        else:
            done.add(start.tree.real(target))
            writer.inline(target, path)
            piece = f"{head}>\n{_with_imports(start, writer, target, _read(start, target), done).strip()}\n</imported_custom_instruction>"
        out += [text[end : match.end("path")], piece]
        end = match.end("path")
    return "".join(out) + text[end:]


def _target(start: Start, path: str, name: str) -> str:
    """The file that a mention means; empty for one outside of the repository and for none."""
    target = os.path.normpath(os.path.join(os.path.dirname(path), name))
    inside = not name.startswith(("~", "/")) and is_below(start.tree.real(target), _root(start) or start.directory)
    return target if inside and start.tree.kind(target) == "file" else ""


def _instruction_files(start: Start, writer: Writer) -> Iterator[str]:
    """Adds the instruction files that count always; answers a row of the table for each that counts for some files."""
    root = _root(start) or start.directory
    for folder, why in (
        (start.at(".copilot", "instructions"), "This person's instructions"),
        (os.path.join(root, ".github", "instructions"), "Instructions of the project"),
    ):
        for path in _below(start, folder):
            text = _read(start, path)
            keys, _ = front_matter.split(text)
            pattern = keys.get("applyTo")
            if pattern in (None, "", "**"):
                writer.add("\n\n" if writer.blocks else "")
                writer.block(path, "rule", why, text)
                continue
            shown = ", ".join(pattern if isinstance(pattern, list) else [one.strip() for one in pattern.split(",")])
            writer.load_later(path, f"when the model works on files that fit {shown}")
            where = os.path.relpath(path, root) if is_below(path, root) else path
            yield f"| {shown} | '{where}' | {keys.get('description') or ''} |"


def _below(start: Start, folder: str) -> Iterator[str]:
    for name in sorted(start.tree.names(folder)):
        path = os.path.join(folder, name)
        if start.tree.kind(path) == "folder" and not start.tree.is_link(path):
            yield from _below(start, path)
        elif name.endswith(".instructions.md") and start.tree.kind(path) == "file":
            yield path


AGENT = CodingAgent(
    "copilot-cli", "Copilot CLI", "1.0.102", True, read, (*NAMES, ".github/copilot-instructions.md"), "copilot"
)
