"""Memory that agents write themselves, as entries: index lines of Claude Code, sections of Hermes, lines and paragraphs of others
(pure).

Every change gives a whole text in the agent's own format; what is not changed stays byte for byte.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from memoryhub.errors import Invalid, TooLarge
from memoryhub.text import engine

INDEX, SECTIONS, LINES, BLOCKS = "index", "sections", "lines", "blocks"
SEPARATOR = "\n§\n"
BULLET = re.compile(r"[-*+] ")
# Not of `re`, which a line of a million brackets keeps busy for hours.
TARGET = engine.compile(r"\[([^\]\n]*)\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Limit:
    """How much of a file its agent takes: `name` is lines, characters or UTF-16 units."""

    name: str
    used: int
    most: int

    @property
    def is_over(self) -> bool:
        return self.used > self.most


@dataclass(frozen=True)
class Entry:
    """One thing that an agent remembers; `start` and `end` count characters of the file."""

    number: int
    text: str
    start: int
    end: int
    target: str = ""  # the file that an index line leads to


@dataclass(frozen=True)
class Format:
    """The format of a memory file that an agent writes: its shape, the agent, and the limits of the program."""

    agent: str
    shape: str
    limits: tuple[tuple[str, int], ...] = ()
    refuses: bool = False  # the agent's own tool refuses a text over the limit


CLAUDE = Format("claude-code", INDEX, (("lines", 200), ("units", 25_000)))
FORMATS = (
    (re.compile(r"/projects/[^/]+/memory/MEMORY\.md$"), CLAUDE),
    (re.compile(r"/agent-memory(?:-local)?/[^/]+/MEMORY\.md$"), CLAUDE),
    (re.compile(r"/\.hermes/memories/MEMORY\.md$"), Format("hermes", SECTIONS, (("characters", 2_200),), True)),
    (re.compile(r"/\.hermes/memories/USER\.md$"), Format("hermes", SECTIONS, (("characters", 1_375),), True)),
    (re.compile(r"/\.gemini/tmp/[^/]+/memory/MEMORY\.md$"), Format("gemini-cli", LINES)),
    (re.compile(r"/\.codex/memories/memory_summary\.md$"), Format("codex", BLOCKS, (("characters", 10_000),))),
    (re.compile(r"/\.codex/memories/(?:MEMORY|raw_memories)\.md$"), Format("codex", BLOCKS)),
    (re.compile(r"/\.codex/memories/extensions/ad_hoc/notes/[^/]+\.md$"), Format("codex", BLOCKS)),
    (re.compile(r"/\.openclaw/workspace/(?:MEMORY|SOUL|IDENTITY)\.md$"), Format("openclaw", BLOCKS, (("characters", 20_000),))),
    (re.compile(r"/\.openclaw/workspace/USER\.md$"), Format("openclaw", BLOCKS, (("characters", 4_000),))),
    (re.compile(r"/\.openclaw/workspace/memory/[^/]+\.md$"), Format("openclaw", BLOCKS)),
)  # fmt: skip


def format_of(path: str) -> Format | None:
    """The format of a memory file by its real path; None for files that are no agent's own memory."""
    return next((known for pattern, known in FORMATS if pattern.search(path)), None)


def limits_of(known: Format, text: str) -> list[Limit]:
    counted: dict[str, Callable[[str], int]] = {
        "lines": lambda one: one.strip().count("\n") + 1 if one.strip() else 0,
        "units": lambda one: len(one.strip().encode("utf-16-le", "surrogatepass")) // 2,
        "characters": lambda one: len(one.strip()),
    }
    return [Limit(name, counted[name](text), most) for name, most in known.limits]


def entries_of(known: Format, text: str) -> list[Entry]:
    """The entries of a file in their order. What stands around them, such as headings, is no entry."""
    shapes = {SECTIONS: _sections, BLOCKS: _blocks}
    spans = shapes.get(known.shape, _lines)(text)
    return [_entry(number, text, *span) for number, span in enumerate(spans, 1)]


def _entry(number: int, text: str, start: int, end: int) -> Entry:
    text_of_entry = text[start:end]
    link = TARGET.search(text_of_entry)
    target = link[2] if link and "://" not in link[2] else ""
    return Entry(number, text_of_entry, start, end, target)


def _sections(text: str) -> list[tuple[int, int]]:
    found, start = [], 0
    for piece in text.split(SEPARATOR):
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            found.append((start + lead, start + lead + len(piece.strip())))
        start += len(piece) + len(SEPARATOR)
    return found


def _lines(text: str) -> list[tuple[int, int]]:
    """Bullets with the indented lines below them; nothing in code fences or front matter."""
    found: list[tuple[int, int]] = []
    at, fenced, goes_on = _front_matter_end(text), False, False
    for line in text[at:].splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if bare.lstrip().startswith(("```", "~~~")):
            fenced, goes_on = not fenced, False
        elif not fenced and BULLET.match(bare):
            found.append((at, at + len(bare)))
            goes_on = True
        elif goes_on and bare[:1] in (" ", "\t") and bare.strip():
            found[-1] = (found[-1][0], at + len(bare))
        elif bare.strip():
            goes_on = False
        at += len(line)
    return found


HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)|[-=*_]{3,}\s*$|\s*<!--")


def _blocks(text: str) -> list[tuple[int, int]]:
    """Bullets as in `_lines`, and paragraphs: lines that follow each other and are no heading, rule or comment."""
    bullets = _lines(text)
    starts = [start for start, _ in bullets]
    found, open_since = list(bullets), None
    at, end, fenced = _front_matter_end(text), 0, False
    for line in [*text[at:].splitlines(keepends=True), ""]:
        bare = line.rstrip("\r\n")
        fences = bare.lstrip().startswith(("```", "~~~"))
        is_text = (
            bool(bare.strip())
            and not (fenced or fences or HEADING.match(bare))
            and not ((before := bisect_right(starts, at)) and at <= bullets[before - 1][1])
        )
        fenced = fenced != fences
        if is_text:
            open_since = at if open_since is None else open_since
            end = at + len(bare)
        elif open_since is not None:
            found.append((open_since, end))
            open_since = None
        at += len(line)
    return sorted(found)


def _front_matter_end(text: str) -> int:
    match = re.match(r"\ufeff?---\r?\n.*?\n---\r?\n", text, re.DOTALL)
    return match.end() if match else 0


# ---- changing


def with_entry(known: Format, text: str, number: int, new: str) -> str:
    """The text with another entry in place of one."""
    one = entry_of(known, text, number)
    is_paragraph = known.shape == BLOCKS and not BULLET.match(one.text)
    written = _paragraph(text, new) if is_paragraph else _written(known, new)
    return _checked(known, text[: one.start] + written + text[one.end :])


def _paragraph(text: str, new: str) -> str:
    """A paragraph with the line ends of its file."""
    new = new.replace("\r\n", "\n").strip()
    if not new:
        raise Invalid("Write a text, or remove the entry.", code="invalid_content", field="text")
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def without_entry(known: Format, text: str, number: int) -> str:
    """The text without an entry, and without the line or separator that it leaves."""
    one = entry_of(known, text, number)
    if known.shape == SECTIONS:
        kept = [entry.text for entry in entries_of(known, text) if entry.number != number]
        return SEPARATOR.join(kept)
    end = one.end
    if text.startswith("\r\n", end):
        end += 2
    elif text.startswith("\n", end):
        end += 1
    return text[: one.start] + text[end:]


def and_entry(known: Format, text: str, new: str) -> str:
    """The text with a further entry at its end."""
    written = _written(known, new)
    if known.shape == SECTIONS:
        return _checked(known, SEPARATOR.join([*(one.text for one in entries_of(known, text)), written]))
    line_end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else line_end
    return _checked(known, f"{text}{gap}{written}{line_end}")


def entry_of(known: Format, text: str, number: int) -> Entry:
    """One entry by its number; refused where there is none."""
    found = entries_of(known, text)
    if not 1 <= number <= len(found):
        raise Invalid(f"There is no entry {number} in this file. Look at it again.", code="no_entry")
    return found[number - 1]


def as_line(entry: Entry) -> str:
    """An entry as a bullet of an instruction file: a link to a topic file of its agent is its title alone, as it leads nowhere there."""
    text = TARGET.sub(lambda match: match[0] if "://" in match[2] else match[1], entry.text)
    lines = [line.strip() for line in BULLET.sub("", text.strip(), count=1).split("\n") if line.strip()]
    return "- " + "\n  ".join(lines)


def _written(known: Format, new: str) -> str:
    """An entry as it is written: sections may have lines, an index line is one."""
    new = new.replace("\r\n", "\n").strip()
    if not new:
        raise Invalid("Write a text, or remove the entry.", code="invalid_content", field="text")
    if known.shape == SECTIONS:
        if "§" in (line.strip() for line in new.split("\n")):
            raise Invalid(
                "A line of nothing but § ends an entry. Add another entry instead.",
                code="invalid_content",
                field="text",
            )
        return new
    one_line = " ".join(new.split("\n")) if known.shape == INDEX else new.replace("\n", "\n  ")
    return one_line if BULLET.match(one_line) else f"- {one_line}"


def _checked(known: Format, text: str) -> str:
    over = next((one for one in limits_of(known, text) if one.is_over), None) if known.refuses else None
    if over:
        raise TooLarge(
            f"The file would have {over.used:,} {over.name}; its agent takes {over.most:,} at most. Shorten or remove an entry.",
            code="over_limit",
        )
    return text
