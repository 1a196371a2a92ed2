"""Hermes: who it is, the first kind of context file that it finds, then its two memory files."""

from __future__ import annotations

import os
import re

from .hermes_words import findings_in
from .plain_files import HERE, files_in, folders_from_root, head_and_tail
from .shapes import CodingAgent, Context, Start, Writer

LINE = "═" * 46
CONTEXT_LIMIT = 20_000
LIMITS = {"MEMORY.md": (2_200, "memory_char_limit"), "USER.md": (1_375, "user_char_limit")}
# A context file may take this share of the model's window, at four characters for a token, where it is more than the limit.
WINDOW, SHARE, MAX_WINDOW = 256_000, 4 * 0.06, 500_000
TITLES = {"MEMORY.md": "MEMORY (your personal notes)", "USER.md": "USER PROFILE (who the user is)"}
HEADING = "# Project Context\n\nThe following project context files have been loaded and should be followed:\n\n"
OWN = (".hermes.md", "HERMES.md")
NAMES = (*OWN, "AGENTS.md", "agents.md", "CLAUDE.md", "claude.md", ".cursorrules")
NOT_UTF8 = "It is no UTF-8 text, so it is not read"
BLOCKED = "[BLOCKED: {name} contained potential prompt injection ({found}). Content not loaded.]"
BLOCKED_ENTRY = (
    "[BLOCKED: {name} entry contained threat pattern(s): {found}. Removed from system prompt; use memory(action=remove) to delete "
    "the original.]"
)
Piece = tuple[str, str]  # the path of a file, and its text with the label above it


def read(start: Start) -> Context:
    """What its system prompt has from files, without its own words between them."""
    writer = Writer()
    home = start.env.get("HERMES_HOME") or start.at(".hermes")
    limit = _context_limit(start, home)
    _add(writer, start, os.path.join(home, "SOUL.md"), "user", "Who it is", limit)
    _add_project(writer, start, limit)
    for name, text in _memory_files(start, writer, home).items():
        most = _setting(start, home, LIMITS[name][1]) or LIMITS[name][0]
        _add_memory(writer, os.path.join(home, "memories", name), text, most)
    for path in files_in(start, os.path.join(home, "pending", "memory"), (".json",), deep=False):
        writer.ignore(path, "A write that waits for approval")
    return writer.context()


def _setting(start: Start, home: str, key: str) -> int:
    """A figure of its settings; 0 where it is not set."""
    text = (start.tree.read_settings(os.path.join(home, "config.yaml")) or b"").decode("utf-8", "replace")
    found = re.search(rf"^[ \t]*{key}[ \t]*:[ \t]*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _context_limit(start: Start, home: str) -> int:
    if chosen := _setting(start, home, "context_file_max_chars"):
        return chosen
    window = _setting(start, home, "context_length") or WINDOW
    return max(CONTEXT_LIMIT, min(int(window * SHARE), MAX_WINDOW))


def _text_at(start: Start, path: str) -> str | None:
    """The text as Python reads it, with line feeds alone; None where there is none, or no UTF-8."""
    data = start.tree.read(path) if start.tree.kind(path) == "file" else None
    try:
        return None if data is None else re.sub(r"\r\n?", "\n", data.decode())
    except UnicodeDecodeError:
        return None


def _looked_at(text: str, name: str) -> str:
    """A context file's text without a byte order mark; a sentence in its place where it is blocked."""
    text = text.removeprefix("\ufeff")
    found = findings_in(text)
    return BLOCKED.format(name=name, found=", ".join(found)) if found else text


def _add(writer: Writer, start: Start, path: str, kind: str, why: str, limit: int) -> None:
    name, text = os.path.basename(path), (_text_at(start, path) or "").strip()
    if text:
        text, cut_at = _cut(_looked_at(text, name), name, path, limit)
        writer.block(path, kind, why, text, cut_at)


def _cut(text: str, name: str, path: str, limit: int) -> tuple[str, int | None]:
    kept = f"kept {int(limit * 0.7)}+{int(limit * 0.2)} of {len(text)} chars"
    advice = "The middle is omitted — if you need the full instructions, read the complete file with the read_file tool"
    return head_and_tail(text, limit, 0.7, 0.2, f"\n\n[...truncated {name}: {kept}. {advice}: {path}]\n\n")


# ---- context files


def _add_project(writer: Writer, start: Start, limit: int) -> None:
    """The files of the first kind that says something; those of later kinds are noted."""
    chosen = ""
    for name, pieces in _kinds(start):
        if chosen:
            for path, _ in pieces:
                writer.ignore(path, f"{chosen} exists, and is read instead")
        elif pieces:
            chosen = pieces[0][0]
            writer.add(("\n\n" if writer.blocks else "") + HEADING)
            _add_pieces(writer, pieces, name, chosen, limit)
    for folder in folders_from_root(start)[:-1]:
        for name in NAMES[2:]:
            if start.tree.kind(path := os.path.join(folder, name)) == "file":
                writer.ignore(path, "Only the folder that it is started in is looked at for this name")
    for name in NAMES:
        path = os.path.join(start.directory, name)
        if start.tree.kind(path) == "file" and _text_at(start, path) is None:
            writer.ignore(path, NOT_UTF8)


def _add_pieces(writer: Writer, pieces: list[Piece], name: str, first: str, limit: int) -> None:
    """Several files as one text that is cut as a whole; the cut is noted at the first."""
    whole = "".join(text for _, text in pieces)
    shown, cut_at = _cut(whole, name, first if name != ".cursorrules" else _beside(first), limit)
    if cut_at:
        label = pieces[0][1].partition("\n\n")[0] + "\n\n"
        writer.add(label)
        path = pieces[0][0]
        writer.block(path, _kind(path), HERE, shown.removeprefix(label).rstrip("\n"), max(1, cut_at - 2))
        return
    for number, (path, text) in enumerate(pieces, 1):
        label, _, body = text.partition("\n\n")
        writer.add(f"{label}\n\n")
        writer.block(path, _kind(path), HERE, body.rstrip("\n"))
        writer.add("\n\n" if number < len(pieces) else "")


def _beside(path: str) -> str:
    """Where the file of old rules lies, by which the program names a cut of them all."""
    return path if path.endswith(".cursorrules") else path.partition("/.cursor/rules/")[0] + "/.cursorrules"


def _kind(path: str) -> str:
    return "project" if path.endswith("AGENTS.md") else "fallback"


def _kinds(start: Start) -> list[tuple[str, list[Piece]]]:
    """Each kind of context file by the name that a cut gives it, with what of it is there."""
    found = [(OWN[0], _own_file(start))]
    for names in (NAMES[2:4], NAMES[4:6]):
        texts = [
            (path, _labelled(start, path, name)) for name in names if (path := os.path.join(start.directory, name))
        ]
        found.append((names[0], [one for one in texts if one[1]][:1]))
    rules = files_in(start, os.path.join(start.directory, ".cursor", "rules"), (".mdc",), deep=False)
    paths = [os.path.join(start.directory, NAMES[6]), *rules]
    pieces = [(path, _labelled(start, path, os.path.relpath(path, start.directory))) for path in paths]
    return [*found, (".cursorrules", [(path, f"{text}\n\n") for path, text in pieces if text])]


def _own_file(start: Start) -> list[Piece]:
    """The nearest file of its own name, without front matter. A blank one counts as none, and hides those above it."""
    for folder in folders_from_root(start)[::-1]:
        for name in OWN:
            path = os.path.join(folder, name)
            if start.tree.kind(path) == "file":
                inside = folder == start.directory
                text = _labelled(start, path, name if inside else os.path.basename(path), front_matter=False)
                return [(path, text)] if text else []
    return []


def _labelled(start: Start, path: str, name: str, *, front_matter: bool = True) -> str:
    text = (_text_at(start, path) or "").strip()
    if not text:
        return ""
    text = text if front_matter else _without_front_matter(text)
    return f"## {name}\n\n{_looked_at(text, name)}"


def _without_front_matter(text: str) -> str:
    text = text.lstrip("\ufeff")
    end = text.find("\n---", 3) if text.startswith("---") else -1
    return (text[end + 4 :].lstrip("\n") or text) if end >= 0 else text


# ---- memory


def _memory_files(start: Start, writer: Writer, home: str) -> dict[str, str]:
    """The texts of its memory files by name. One that is no UTF-8 keeps it from reading any."""
    found = {}
    for name in TITLES:
        path = os.path.join(home, "memories", name)
        text = _text_at(start, path)
        if text is None and start.tree.kind(path) == "file":
            writer.ignore(path, f"{NOT_UTF8}, nor is any other memory of it")
            return {}
        found[name] = text or ""
    return found


def _add_memory(writer: Writer, path: str, content: str, limit: int) -> None:
    entries = list(dict.fromkeys(one for part in content.split("\n§\n") if (one := part.strip())))
    if not entries:
        return
    name = os.path.basename(path)
    shown = [_entry(one, name) for one in entries]
    text = "\n§\n".join(shown)
    share = min(100, int(len(text) / limit * 100))
    gap = "\n\n" if writer.blocks else ""
    writer.add(f"{gap}{LINE}\n{TITLES[name]} [{share}% — {len(text):,}/{limit:,} chars]\n{LINE}\n")
    writer.block(path, "memory", "Its own memory", text)


def _entry(text: str, name: str) -> str:
    """An entry of memory; a sentence in its place where it is blocked."""
    found = [] if text.startswith("[BLOCKED:") else findings_in(text, is_strict=True)
    return BLOCKED_ENTRY.format(name=name, found=", ".join(found)) if found else text


AGENT = CodingAgent("hermes", "Hermes", "0.19.0", True, read, NAMES, "hermes")
