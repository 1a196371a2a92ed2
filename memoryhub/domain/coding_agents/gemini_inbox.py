"""Changes of memory that Gemini CLI drafted and keeps in its inbox until somebody decides (`experimental.autoMemory`).

Unified diffs below `tmp/<project>/memory/.inbox/private` and `…/global` in its home; deciding removes them. A private one may change
Markdown files of that project's memory, a global one `GEMINI.md` of the home, and nothing else. A model wrote them, so everything
in them is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from memoryhub.domain.coding_agents.hermes_pending import digest_of, read_plain, remove_if_same
from memoryhub.errors import Conflict, Invalid
from memoryhub.text.lines import places_of

KINDS = ("private", "global")
MAX_PROJECTS, MAX_PATCHES, MAX_HUNKS = 200, 100, 200
HUNK = re.compile(r"@@ -(\d{1,7})(?:,\d{1,7})? \+\d{1,7}(?:,\d{1,7})? @@")


@dataclass(frozen=True)
class Hunk:
    """Lines in place of others: where they are looked for first (counted from 0), the lines before and after."""

    at: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class InboxPatch:
    """A change that waits; `file` is the one that it changes, inside of the agent's home. Names are used again: `digest` is of
    the content."""

    id: str
    digest: str
    file: str
    hunks: tuple[Hunk, ...]
    is_new: bool


def inbox_patches(home: str) -> tuple[list[InboxPatch], list[str]]:
    """The changes that wait in a home (`~/.gemini`), by name, and the names of those that cannot be taken in."""
    found, odd = [], []
    for known_id in _ids(home):
        try:
            found.append(parse_patch(home, known_id, read_plain(_path(home, known_id))))
        except (Invalid, OSError, ValueError):
            odd.append(known_id)
    return found, odd


def _path(home: str, known_id: str) -> str:
    project, kind, name = known_id.split("/", 2)
    return os.path.join(home, "tmp", project, "memory", ".inbox", kind, name)


def _ids(home: str) -> list[str]:
    found: list[str] = []
    for project in _names(os.path.join(home, "tmp"))[:MAX_PROJECTS]:
        for kind in KINDS:
            top = os.path.join(home, "tmp", project, "memory", ".inbox", kind)
            found += [f"{project}/{kind}/{name}" for name in _names(top) if name.endswith(".patch")]
    return found[:MAX_PATCHES]


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.isprintable())
    except OSError:
        return []


def parse_patch(home: str, known_id: str, content: bytes) -> InboxPatch:
    """A change as its file has it; refused where it is no diff of one allowed file."""
    project, kind, _ = known_id.split("/", 2)
    lines = content.decode().splitlines()
    heads = [at for at, line in enumerate(lines[:-1]) if line.startswith("--- ") and lines[at + 1].startswith("+++ ")]
    if len(heads) != 1:
        raise Invalid("It changes no file, or several. Decide on it in Gemini CLI.")
    before, after = (_name_in(lines[heads[0] + step]) for step in (0, 1))
    if before not in ("/dev/null", after):
        raise Invalid("It moves a file.")
    hunks = tuple(_hunks(lines[heads[0] + 2 :]))
    if not 1 <= len(hunks) <= MAX_HUNKS:
        raise Invalid("It has no changes.")
    return InboxPatch(known_id, digest_of(content), _allowed(home, project, kind, after), hunks, before == "/dev/null")


def _name_in(line: str) -> str:
    """The path in a head of a diff, without the letters that git puts before it."""
    name = line[4:].split("\t")[0].strip()
    return name[1:] if re.match(r"[ab]//?", name) and name[1:].startswith("/") else name


def _allowed(home: str, project: str, kind: str, target: str) -> str:
    """The path inside of the home that a change may go to; refused for every other."""
    if not os.path.isabs(target) or "\x00" in target:
        raise Invalid("Its path is not absolute.")
    folder, name = os.path.split(target)
    real = os.path.realpath(folder)
    if kind == "global" and (real, name) == (os.path.realpath(home), "GEMINI.md"):
        return "GEMINI.md"
    inside = f"tmp/{project}/memory"
    is_document = name.lower().endswith(".md") and not name.startswith(".")
    if kind == "private" and is_document and real == os.path.realpath(os.path.join(home, inside)):
        return f"{inside}/{name}"
    raise Invalid("It changes a file that is no memory of this agent.")


def _hunks(lines: list[str]) -> Iterator[Hunk]:
    at: int | None = None
    before: list[str] = []
    after: list[str] = []
    for line in [*lines, "@@"]:
        match = HUNK.match(line)
        if match or line == "@@":
            if at is not None:
                yield Hunk(at, tuple(before), tuple(after))
            at, before, after = (max(0, int(match[1]) - 1) if match else None), [], []
        elif at is not None and line[:1] in (" ", "-", "+", ""):
            before += [line[1:]] if line[:1] != "+" else []
            after += [line[1:]] if line[:1] != "-" else []
        elif not line.startswith("\\"):  # “\ No newline at end of file”
            raise Invalid("It is no unified diff.")


def text_after_patch(patch: InboxPatch, text: str | None) -> str:
    """The file after a change; None is no file. Refused where its lines are not there, or there twice."""
    if patch.is_new and text:
        raise Conflict("The file that it makes is there already.", code="no_entry")
    ends = "\r\n" if text and "\r\n" in text else "\n"
    lines, shift = (text or "").replace("\r\n", "\n").split("\n"), 0
    if lines[-1] == "":
        lines.pop()
    for hunk in patch.hunks:
        at = _place(lines, hunk, hunk.at + shift)
        lines[at : at + len(hunk.before)] = hunk.after
        shift += len(hunk.after) - len(hunk.before)
    return "".join(f"{line}{ends}" for line in lines)


def _place(lines: list[str], hunk: Hunk, wanted: int) -> int:
    """Where the lines of a hunk stand: where it says, else at the one place that has them."""
    size, before = len(hunk.before), list(hunk.before)
    if lines[wanted : wanted + size] == before and wanted <= len(lines):
        return wanted
    found = list(islice(places_of(before, lines), 2)) if size else []
    if len(found) != 1:
        raise Conflict("The lines that it changes are no longer there.", code="no_entry")
    return found[0]


def discard_patch(home: str, patch: InboxPatch) -> None:
    """Takes a change out of the inbox."""
    remove_if_same(_path(home, patch.id), patch.digest)
