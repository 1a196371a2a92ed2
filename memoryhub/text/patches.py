"""The patches with which Codex and Copilot CLI change files (pure): which files one names, and the text of each afterwards.

A place is looked for as these programs do: the lines as they are, else without blanks at their ends, else without blanks around them,
else with plain quotation marks and dashes. Lines that stay keep their bytes; new ones end as the first line of the file does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memoryhub.errors import Invalid
from memoryhub.text.edits import string_not_found
from memoryhub.text.lines import places_of

# Names of the format, no sentences: spelled so that the catalogue of what people read does not list them.
BEGIN, END = "*** begin patch".title(), "*** end patch".title()
_MOVE, _AT_END = f"*** {'move'.title()} to: ", f"*** {'end'.title()} of {'file'.title()}"
ADD, DELETE, UPDATE = "add", "delete", "update"
_FILE = re.compile(r"\*\*\* (Add|Delete|Update) File: (.+)")
_NAMED = re.compile(r"^\*\*\* (?:(?:Add|Delete|Update) File|Move to): (.+)", re.MULTILINE)
MAX_FILES, MAX_HUNKS = 1_000, 200  # of a patch, and of one file in it
_PLAIN = {
    "‐‑‒–—―−": "-",
    "‘’‚‛": "'",
    "“”„‟": '"',
    "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000": " ",
}
_AS_PLAIN = str.maketrans({letter: plain for letters, plain in _PLAIN.items() for letter in letters})


@dataclass
class Hunk:
    """Lines in place of others, behind a line that names the place."""

    heading: str = ""
    lines: list[tuple[str, str]] = field(default_factory=list)  # a blank, a minus or a plus sign, and the text
    at_end: bool = False

    @property
    def before(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "+"]


@dataclass
class FilePatch:
    """What a patch does with one file: `kind` is add, delete or update."""

    kind: str
    path: str
    moves_to: str = ""
    added: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)

    def text_after(self, before: str | None) -> str:
        """The text of the file after the patch; refused where the program would not find its lines."""
        if self.kind == ADD:
            return "".join(f"{line}\n" for line in self.added)
        if self.kind == DELETE or self.moves_to:
            raise Invalid("A person deletes and moves held files.", code="unknown_result")
        return _with_hunks(before or "", self.hunks)


def paths_in_patch(text: str) -> list[str]:
    """Every path that a text names as patches do, also where the rest of it is no patch."""
    return list(dict.fromkeys(named for found in _NAMED.findall(text) if (named := found.strip())))


def parse_patch(text: str) -> list[FilePatch]:
    """The files of a patch, in its order; refused where it is none."""
    lines = text.strip().split("\n")
    if len(lines) < 2 or lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise Invalid("This is no patch.", code="invalid_call")
    found: list[FilePatch] = []
    for line in lines[1:-1]:
        if named := _FILE.fullmatch(line.strip()):
            found.append(FilePatch(named[1].lower(), named[2].strip()))
            if len(found) > MAX_FILES:
                raise Invalid(f"A patch has at most {MAX_FILES} files.", code="invalid_call")
        elif found:
            _take_line(found[-1], line)
        elif not line.startswith("*** ") and line.strip():
            raise Invalid("A line of this patch belongs to no file.", code="invalid_call")
    return found


def _take_line(patch: FilePatch, line: str) -> None:
    if patch.kind == ADD:
        if not line.startswith("+"):
            raise Invalid("A line of a new file begins with a plus sign.", code="invalid_call")
        patch.added.append(line[1:])
    elif line.startswith(_MOVE):
        patch.moves_to = line[len(_MOVE) :].strip()
    elif line.startswith("@@"):
        patch.hunks.append(Hunk(line[2:].removeprefix(" ")))
        if len(patch.hunks) > MAX_HUNKS:
            raise Invalid(f"A patch changes at most {MAX_HUNKS} places of a file.", code="invalid_call")
    elif patch.kind == UPDATE:
        _take_change(patch, line)


def _take_change(patch: FilePatch, line: str) -> None:
    if not patch.hunks:
        patch.hunks.append(Hunk())
    hunk, sign = patch.hunks[-1], line[:1] or " "
    if line.strip() == _AT_END:
        hunk.at_end = True
    elif sign in " -+":
        hunk.lines.append((sign, line[1:]))
    else:
        raise Invalid("A line of a change begins with a blank, a plus or a minus sign.", code="invalid_call")


def _with_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    lines = [f"{line}\n" for line in text.split("\n")]
    if lines[-1] == "\n":
        lines.pop()
    elif lines:
        lines[-1] = lines[-1][:-1]
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += end
    looks = [[look(line.rstrip("\r\n")) for line in lines] for look in _LOOKS]
    made: list[str] = []
    done = 0  # lines of the text that are in `made`
    for hunk in hunks:
        start, changed = _place(looks, done, hunk)
        made += lines[done:start]
        done = start
        for sign, said in changed:
            made += [said + end] if sign == "+" else lines[done : done + 1] if sign == " " else []
            done += sign != "+"
    return "".join([*made, *lines[done:]])


def _place(looks: list[list[str]], start: int, hunk: Hunk) -> tuple[int, list[tuple[str, str]]]:
    """Where the lines of a hunk begin, and its lines."""
    if hunk.heading:
        start = _require(_find(looks, [hunk.heading], start, at_end=False), looks, hunk.heading) + 1
    before, changed = hunk.before, hunk.lines
    if not before:
        return len(looks[0]), changed
    found = _find(looks, before, start, at_end=hunk.at_end)
    if found is None and before[-1] == "":  # the blank line behind the last one, which the text does not have
        last = max(at for at, (sign, _) in enumerate(changed) if sign != "+")
        before, changed = before[:-1], [*changed[:last], *changed[last + 1 :]]
        found = _find(looks, before, start, at_end=hunk.at_end) if before else None
    return _require(found, looks, "\n".join(before)), changed


def _require(found: int | None, looks: list[list[str]], wanted: str) -> int:
    if found is None:
        raise string_not_found("\n".join(looks[0]), wanted)
    return found


_LOOKS: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_AS_PLAIN),
)


def _find(looks: list[list[str]], wanted: list[str], start: int, *, at_end: bool) -> int | None:
    last = len(looks[0]) - len(wanted)
    if last < start:
        return None
    places = [last] if at_end else []
    for seen, look in zip(looks, _LOOKS, strict=True):
        sought = [look(line) for line in wanted]
        found = next((at for at in places if seen[at:] == sought), None)
        found = next(places_of(sought, seen, start), None) if found is None else found
        if found is not None:
            return found
    return None
