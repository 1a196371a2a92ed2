"""What Markdown's blocks look like on the code hosts people know: a block, the signs that begin one, table rows (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


@dataclass(eq=False)
class Block:
    """A block with its first and last line that is not empty, from which `is_loose` sees whether lists have empty lines."""

    kind: str
    first: int = 0
    last: int = 0
    children: list[Block] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


# What anybody may write is read with these. Where a part could be taken in two ways, it is possessive (`*+`): a line of a
# quarter of a million blanks else takes minutes.
INDENT = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*[ \t>]*")
HEADING = re.compile(r"(#{1,6})(?:[ \t]+|$)")
RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$")
UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
FENCE = re.compile(r"(`{3,})([^`]*)$|(~{3,})(.*)$")
LIST_ITEM = re.compile(r"([-+*]|(\d{1,9})([.)]))( +|$)")
TABLE_DIVIDER = re.compile(r"\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
LINK_DEFINITION = re.compile(
    r"[ ]{0,3}\[((?:[^\[\]\\]|\\.)+)\]:[ \t]*+(?:\n[ \t]*+)?+(<[^<>\n]*>|[^\s<]\S*)"
    r"(?:[ \t]*(?:\n[ \t]*)?(?<=[ \t\n])(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?[ \t]*(?:\n|$)"
)

_RAW_TAGS = "script|pre|style|textarea"
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)
_ATTRIBUTE = r"[ \t]+[a-zA-Z_:][\w.:-]*(?:[ \t]*=[ \t]*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?"
# How raw HTML begins, and how it ends (None: at the next empty line).
RAW_HTML = [
    (re.compile(rf"<(?:{_RAW_TAGS})(?:\s|>|$)", re.I), re.compile(rf"</(?:{_RAW_TAGS})>", re.I)),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|$)", re.I), None),
    (re.compile(rf"(?:<[a-zA-Z][\w-]*(?:{_ATTRIBUTE})*[ \t]*/?>|</[a-zA-Z][\w-]*[ \t]*>)[ \t]*$"), None),
]


def without_closing_marks(heading: str) -> str:
    """The text of a heading without the signs `#` that may close it."""
    bare = heading.rstrip(" \t")
    text = bare.rstrip("#")
    return text.rstrip(" \t") if not text or text[-1] in " \t" else bare


_PIPE = re.compile(r"(?<!\\)\|")


def cells(row: str) -> list[str]:
    """The cells of a table row; a pipe with a backslash belongs to its cell."""
    row = row.strip()
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(row)]


def alignment(cell: str) -> str:
    """Which way a cell of the divider row aligns its column; empty if it says nothing."""
    left, right = cell.startswith(":"), cell.endswith(":")
    return "center" if left and right else "right" if right else "left" if left else ""


def is_loose(items: Block) -> bool:
    """Whether a list has empty lines between its items, or between the blocks of one: its texts become paragraphs."""
    rows = [items.children, *(item.children for item in items.children)]
    return any(b.first > a.last + 1 for row in rows for a, b in pairwise(row))
