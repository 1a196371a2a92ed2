"""Blocks as on the code hosts people know, for Python-Markdown (pure).

Python-Markdown reads blocks in its own way: half of the real AGENTS.md files come out with other lists and paragraphs
than on a code host. This parser replaces that half of it; inline text stays with Python-Markdown.
The text is read line by line: each line first continues the blocks that are open, then may open new ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

MAX_DEPTH = 32  # of quotes and lists inside each other; deeper signs are plain text


@dataclass(eq=False)
class Block:
    """A block and, for the looseness of lists, the first and last line with something on it."""

    kind: str
    first: int = 0
    last: int = 0
    children: list[Block] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    at: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


_PREFIX = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*[ \t>]*")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_HEADING_END = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
_FENCE = re.compile(r"(`{3,})([^`]*)$|(~{3,})(.*)$")
_ITEM = re.compile(r"([-+*]|(\d{1,9})([.)]))( +|$)")
_DIVIDER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_DEFINITION = re.compile(
    r"[ ]{0,3}\[((?:[^\[\]\\]|\\.)+)\]:[ \t]*\n?[ \t]*(<[^<>\n]*>|[^\s<]\S*)"
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
# How raw HTML begins, and how it ends (nothing: at the next empty line).
_HTML = [
    (re.compile(rf"<(?:{_RAW_TAGS})(?:\s|>|$)", re.I), re.compile(rf"</(?:{_RAW_TAGS})>", re.I)),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|$)", re.I), None),
    (re.compile(rf"(?:<[a-zA-Z][\w-]*(?:{_ATTRIBUTE})*[ \t]*/?>|</[a-zA-Z][\w-]*[ \t]*>)[ \t]*$"), None),
]


class Reader:
    """Reads lines into blocks; `references` takes the link definitions it finds."""

    def __init__(self) -> None:
        self.root = Block("root")
        self.open: list[Block] = [self.root]
        self.references: dict[str, tuple[str, str | None]] = {}
        self.number = 0

    def read(self, text: str) -> Block:
        for self.number, line in enumerate(text.split("\n"), 1):
            self._line(_PREFIX.sub(lambda m: m[0].expandtabs(4), line, count=1) if "\t" in line else line)
        self._close(0)
        return self.root

    # ---- one line

    def _line(self, line: str) -> None:
        depth, rest = self._continue(line)
        leaf = self.open[-1]
        if depth == len(self.open) and leaf.kind in ("fence", "html", "code"):
            self._extend(leaf, rest)
            return
        opened, rest = self._open_new(depth, rest)
        if not opened and depth < len(self.open) and leaf.kind == "para" and rest.strip():
            self._extend(leaf, rest)  # a lazy line: the paragraph goes on although its signs are missing
            return
        if not opened:
            self._close(depth)
        self._add_text(rest)

    def _continue(self, line: str) -> tuple[int, str]:
        """How many open blocks this line belongs to, and what of it is left for the innermost."""
        depth, rest = 1, line
        while depth < len(self.open):
            goes_on = getattr(self, f"_goes_on_{self.open[depth].kind}")(self.open[depth], rest)
            if goes_on is None:
                break
            rest = goes_on
            depth += 1
            if self.open[depth - 1].kind == "quote":
                self._touch(depth)  # its sign alone is something on the line
        return depth, rest

    def _goes_on_quote(self, block: Block, rest: str) -> str | None:
        bare = rest.lstrip(" ")
        if len(rest) - len(bare) > 3 or not bare.startswith(">"):
            return None
        return bare[2:] if bare.startswith("> ") else bare[1:]

    def _goes_on_list(self, block: Block, rest: str) -> str | None:
        return rest

    def _goes_on_item(self, block: Block, rest: str) -> str | None:
        if not rest.strip():
            # An item that begins with an empty line ends at the next one.
            return "" if block.children or block.first == self.number else None
        width = block.at["width"]
        return rest[width:] if len(rest) - len(rest.lstrip(" ")) >= width else None

    def _goes_on_para(self, block: Block, rest: str) -> str | None:
        return rest if rest.strip() else None

    def _goes_on_table(self, block: Block, rest: str) -> str | None:
        bare = rest.lstrip(" ")
        return rest if bare and len(rest) - len(bare) < 4 and not self._starts_block(rest) else None

    def _goes_on_code(self, block: Block, rest: str) -> str | None:
        if not rest.strip():
            return rest[4:]
        return rest[4:] if rest.startswith("    ") else None

    def _goes_on_fence(self, block: Block, rest: str) -> str | None:
        return None if block.at.get("closed") else rest

    def _goes_on_html(self, block: Block, rest: str) -> str | None:
        if block.at.get("closed") or (block.at["end"] is None and not rest.strip()):
            return None
        return rest

    def _goes_on_leaf(self, block: Block, rest: str) -> str | None:
        return None

    _goes_on_heading = _goes_on_rule = _goes_on_leaf

    # ---- new blocks

    def _open_new(self, depth: int, rest: str) -> tuple[bool, str]:
        """Open every block that begins here; answer whether any did, and the rest of the line."""
        opened = False
        while True:
            # A paragraph or table that goes on can still be broken off by what begins here.
            at_para = depth == len(self.open) and self.open[-1].kind in ("para", "table")
            step = self._begin(depth - at_para, rest, at_para)
            if step is None:
                return opened, rest
            opened, rest = True, step
            depth = len(self.open)
            if self.open[-1].kind in ("fence", "html", "heading", "rule", "code", "table"):
                return True, rest

    def _begin(self, depth: int, rest: str, at_para: bool) -> str | None:
        bare = rest.lstrip(" ")
        if not bare:
            return None
        if len(rest) - len(bare) > 3:
            # A paragraph goes on at any depth, unless its list has ended and something else begins there.
            inner_list = any(block.kind == "list" for block in self.open[depth:])
            lazy = self.open[-1].kind == "para" and (at_para or not self._starts_block(rest, items=inner_list))
            return None if lazy else self._begin_code(depth, rest)
        for begin in (self._quote, self._heading, self._fence, self._html, self._underline, self._table, self._rule):
            done = begin(depth, rest, bare, at_para)
            if done is not None:
                return done
        return self._item(depth, rest, bare, at_para)

    def _starts_block(self, rest: str, *, items: bool = True) -> bool:
        """Whether a table or paragraph would be broken off by this line."""
        bare = rest.lstrip(" ")
        item = _ITEM.match(bare)
        return bool(
            bare.startswith(">")
            or _HEADING.match(bare)
            or _FENCE.match(bare)
            or _RULE.match(bare)
            or (items and item and item[4] and item[2] in (None, "1") and bare[item.end() :].strip())
            or any(start.match(bare) for start, _ in _HTML[:6])
        )

    def _push(self, depth: int, kind: str, **at: Any) -> Block:
        self._close(depth)
        block = Block(kind, self.number, self.number, at=at)
        self.open[-1].children.append(block)
        self.open.append(block)
        return block

    def _quote(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not bare.startswith(">") or depth > MAX_DEPTH:
            return None
        self._push(self._out_of_list(depth), "quote")
        return bare[2:] if bare.startswith("> ") else bare[1:]

    def _heading(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not (match := _HEADING.match(bare)):
            return None
        text = _HEADING_END.sub("", bare[match.end() :]).strip()
        self._push(self._out_of_list(depth), "heading", level=len(match[1])).lines = [text]
        return ""

    def _fence(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not (match := _FENCE.match(bare)):
            return None
        mark, info = (match[1], match[2]) if match[1] else (match[3], match[4])
        self._push(self._out_of_list(depth), "fence", mark=mark, info=info.strip(), indent=len(rest) - len(bare))
        return ""

    def _html(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not bare.startswith("<"):
            return None
        lazy = self.open[-1].kind == "para"
        for start, end in _HTML[: 6 if lazy or at_para else 7]:
            if start.match(bare):
                block = self._push(self._out_of_list(depth), "html", end=end)
                self._extend(block, rest)
                return ""
        return None

    def _underline(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        para = self.open[-1]
        if not at_para or para.kind != "para" or not (match := _UNDERLINE.match(bare)):
            return None
        self._define(para)
        if not para.lines:
            return None
        para.kind, para.at = "heading", {"level": 1 if match[1][0] == "=" else 2}
        para.lines = [para.text.strip()]
        para.last = self.number
        return ""

    def _table(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        para = self.open[-1]
        if not at_para or para.kind != "para" or not _DIVIDER.match(bare) or bare.startswith("- "):
            return None
        header = para.lines[-1]
        if "|" not in header or len(cells(header)) != len(cells(bare)):
            return None
        para.lines.pop()
        self._close(len(self.open) - 1)
        table = self._push(len(self.open), "table", align=[_side(cell) for cell in cells(bare)])
        table.first, table.lines = self.number - 1, [header]
        return ""

    def _rule(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not _RULE.match(bare):
            return None
        self._push(self._out_of_list(depth), "rule")
        return ""

    def _item(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        match = _ITEM.match(bare)
        if not match or depth > MAX_DEPTH:
            return None
        content = bare[match.end() :]
        in_list = self.open[depth - 1].kind == "list"
        # Only "1." and a bullet with text break off a paragraph; inside a list any item does.
        if at_para and not in_list and (not content.strip() or match[2] not in (None, "1")):
            return None
        blanks = len(match[4])
        if not content.strip():
            blanks, content = 1, ""
        elif blanks > 4:
            content, blanks = " " * (blanks - 1) + content, 1
        mark = match[3] or match[1]
        if not in_list or self.open[depth - 1].at["mark"] != mark:
            self._push(self._out_of_list(depth), "list", mark=mark, start=match[2])
            depth = len(self.open)
        indent = len(rest) - len(bare)
        self._push(depth, "item", width=indent + len(match[1]) + blanks)
        return content

    def _begin_code(self, depth: int, rest: str) -> str | None:
        self._push(self._out_of_list(depth), "code").lines = [rest[4:]]
        return ""

    def _out_of_list(self, depth: int) -> int:
        """Only items live in a list: anything else that begins there ends it."""
        return depth - 1 if self.open[depth - 1].kind == "list" else depth

    # ---- text

    def _add_text(self, rest: str) -> None:
        tip = self.open[-1]
        if not rest.strip():
            return
        if tip.kind in ("para", "table"):
            self._extend(tip, rest)
        elif tip.kind not in ("fence", "html", "heading", "rule", "code"):
            self._extend(self._push(self._out_of_list(len(self.open)), "para"), rest)

    def _extend(self, block: Block, rest: str) -> None:
        if block.kind == "para":
            block.lines.append(rest.lstrip(" \t"))
        elif block.kind == "fence":
            bare = rest.strip(" ")
            mark = block.at["mark"]
            if len(bare) >= len(mark) and bare == mark[0] * len(bare) and len(rest) - len(rest.lstrip(" ")) < 4:
                block.at["closed"] = True
            else:
                block.lines.append(_outdent(rest, block.at["indent"]))
        else:
            block.lines.append(rest)
            end = block.at.get("end")
            if block.kind == "html" and end is not None and end.search(rest):
                block.at["closed"] = True
        if rest.strip():
            self._touch(len(self.open))

    def _touch(self, depth: int) -> None:
        for block in self.open[:depth]:
            block.last = self.number

    def _close(self, depth: int) -> None:
        while len(self.open) > max(depth, 1):
            block = self.open.pop()
            if block.kind == "para":
                self._define(block)
                if not block.lines:
                    self.open[-1].children.remove(block)
            for parent in self.open:
                parent.last = max(parent.last, block.last)

    def _define(self, para: Block) -> None:
        """Take link definitions off the start of a paragraph."""
        text = para.text
        while text.startswith("[") and (match := _DEFINITION.match(text)):
            name = " ".join(match[1].split()).lower()
            target = match[2].removeprefix("<").removesuffix(">") if match[2].startswith("<") else match[2]
            self.references.setdefault(name, (target, match[3][1:-1] if match[3] else None))
            text = text[match.end() :]
        if text != para.text:
            para.lines = text.split("\n") if text else []


def _outdent(line: str, most: int) -> str:
    return line[min(most, len(line) - len(line.lstrip(" "))) :]


_PIPE = re.compile(r"(?<!\\)\|")


def cells(row: str) -> list[str]:
    """The cells of a table row; a pipe with a backslash belongs to its cell."""
    row = row.strip()
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(row)]


def _side(cell: str) -> str:
    left, right = cell.startswith(":"), cell.endswith(":")
    return "center" if left and right else "right" if right else "left" if left else ""


def is_loose(items: Block) -> bool:
    """Whether a list has empty lines between its items, or between the blocks of one: its texts become paragraphs."""
    rows = [items.children, *(item.children for item in items.children)]
    return any(b.first > a.last + 1 for row in rows for a, b in pairwise(row))
