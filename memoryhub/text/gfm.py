"""Blocks as on the code hosts people know, for Python-Markdown (pure).

Python-Markdown reads blocks in its own way: half of the real AGENTS.md files come out with other lists and paragraphs
than on a code host. This parser replaces that half of it; inline text stays with Python-Markdown.
The text is read line by line: each line first continues the blocks that are open, then may open new ones.
"""

from __future__ import annotations

from typing import Any

from memoryhub.text.gfm_syntax import (
    FENCE,
    HEADING,
    INDENT,
    LINK_DEFINITION,
    LIST_ITEM,
    RAW_HTML,
    RULE,
    TABLE_DIVIDER,
    UNDERLINE,
    Block,
    alignment,
    cells,
    without_closing_marks,
)

MAX_DEPTH = 32  # of quotes and lists inside each other; deeper signs are plain text


class Reader:
    """Reads lines into blocks; `references` collects the link definitions: name -> (address, title)."""

    def __init__(self) -> None:
        self.root = Block("root")
        self.open: list[Block] = [self.root]
        self.references: dict[str, tuple[str, str | None]] = {}
        self.number = 0

    def read(self, text: str) -> Block:
        """The root block, with all blocks of the text as its children."""
        for self.number, line in enumerate(text.split("\n"), 1):
            self._read_line(INDENT.sub(lambda m: m[0].expandtabs(4), line, count=1) if "\t" in line else line)
        self._close(0)
        return self.root

    # ---- one line

    def _read_line(self, line: str) -> None:
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
        """How many open blocks this line continues, and what of it is left for the innermost.

        Each `_continue_…` answers what is left of the line behind the signs of its block, or None where the block ends.
        """
        depth, rest = 1, line
        while depth < len(self.open):
            remainder = getattr(self, f"_continue_{self.open[depth].kind}")(self.open[depth], rest)
            if remainder is None:
                break
            rest = remainder
            depth += 1
            if self.open[depth - 1].kind == "quote":
                self._touch(depth)  # its sign alone is something on the line
        return depth, rest

    def _continue_quote(self, block: Block, rest: str) -> str | None:
        bare = rest.lstrip(" ")
        if len(rest) - len(bare) > 3 or not bare.startswith(">"):
            return None
        return bare[2:] if bare.startswith("> ") else bare[1:]

    def _continue_list(self, block: Block, rest: str) -> str | None:
        return rest

    def _continue_item(self, block: Block, rest: str) -> str | None:
        if not rest.strip():
            # An item that begins with an empty line ends at the next one.
            return "" if block.children or block.first == self.number else None
        width = block.attributes["width"]
        return rest[width:] if len(rest) - len(rest.lstrip(" ")) >= width else None

    def _continue_para(self, block: Block, rest: str) -> str | None:
        return rest if rest.strip() else None

    def _continue_table(self, block: Block, rest: str) -> str | None:
        bare = rest.lstrip(" ")
        return rest if bare and len(rest) - len(bare) < 4 and not self._starts_block(rest) else None

    def _continue_code(self, block: Block, rest: str) -> str | None:
        if not rest.strip():
            return rest[4:]
        return rest[4:] if rest.startswith("    ") else None

    def _continue_fence(self, block: Block, rest: str) -> str | None:
        return None if block.attributes.get("closed") else rest

    def _continue_html(self, block: Block, rest: str) -> str | None:
        if block.attributes.get("closed") or (block.attributes["end"] is None and not rest.strip()):
            return None
        return rest

    def _continue_single(self, block: Block, rest: str) -> str | None:
        return None

    _continue_heading = _continue_rule = _continue_single

    # ---- new blocks

    def _open_new(self, depth: int, rest: str) -> tuple[bool, str]:
        """Open every block that begins here; answer whether any did, and the rest of the line."""
        opened = False
        while True:
            # A paragraph or table that goes on can still be broken off by what begins here.
            at_para = depth == len(self.open) and self.open[-1].kind in ("para", "table")
            remainder = self._open_one(depth - at_para, rest, at_para)
            if remainder is None:
                return opened, rest
            opened, rest = True, remainder
            depth = len(self.open)
            if self.open[-1].kind in ("fence", "html", "heading", "rule", "code", "table"):
                return True, rest

    def _open_one(self, depth: int, rest: str, at_para: bool) -> str | None:
        """Open the block that begins here, if one does; answer what is left of the line behind its signs."""
        bare = rest.lstrip(" ")
        if not bare:
            return None
        if len(rest) - len(bare) > 3:
            # A paragraph goes on at any depth, unless its list has ended and something else begins there.
            inner_list = any(block.kind == "list" for block in self.open[depth:])
            lazy = self.open[-1].kind == "para" and (at_para or not self._starts_block(rest, items=inner_list))
            return None if lazy else self._open_code(depth, rest)
        for opener in (
            self._open_quote,
            self._open_heading,
            self._open_fence,
            self._open_html,
            self._open_underline,
            self._open_table,
            self._open_rule,
        ):
            opened = opener(depth, rest, bare, at_para)
            if opened is not None:
                return opened
        return self._open_item(depth, rest, bare, at_para)

    def _starts_block(self, rest: str, *, items: bool = True) -> bool:
        """Whether a table or paragraph would be broken off by this line."""
        bare = rest.lstrip(" ")
        item = LIST_ITEM.match(bare)
        return bool(
            bare.startswith(">")
            or HEADING.match(bare)
            or FENCE.match(bare)
            or RULE.match(bare)
            or (items and item and item[4] and item[2] in (None, "1") and bare[item.end() :].strip())
            or any(start.match(bare) for start, _ in RAW_HTML[:6])
        )

    def _push(self, depth: int, kind: str, **attributes: Any) -> Block:
        self._close(depth)
        block = Block(kind, self.number, self.number, attributes=attributes)
        self.open[-1].children.append(block)
        self.open.append(block)
        return block

    def _open_quote(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not bare.startswith(">") or depth > MAX_DEPTH:
            return None
        self._push(self._out_of_list(depth), "quote")
        return bare[2:] if bare.startswith("> ") else bare[1:]

    def _open_heading(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not (match := HEADING.match(bare)):
            return None
        text = without_closing_marks(bare[match.end() :]).strip()
        self._push(self._out_of_list(depth), "heading", level=len(match[1])).lines = [text]
        return ""

    def _open_fence(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not (match := FENCE.match(bare)):
            return None
        mark, info = (match[1], match[2]) if match[1] else (match[3], match[4])
        self._push(self._out_of_list(depth), "fence", mark=mark, info=info.strip(), indent=len(rest) - len(bare))
        return ""

    def _open_html(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not bare.startswith("<"):
            return None
        lazy = self.open[-1].kind == "para"
        for start, end in RAW_HTML[: 6 if lazy or at_para else 7]:
            if start.match(bare):
                block = self._push(self._out_of_list(depth), "html", end=end)
                self._extend(block, rest)
                return ""
        return None

    def _open_underline(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        para = self.open[-1]
        if not at_para or para.kind != "para" or not (match := UNDERLINE.match(bare)):
            return None
        self._take_definitions(para)
        if not para.lines:
            return None
        para.kind, para.attributes = "heading", {"level": 1 if match[1][0] == "=" else 2}
        para.lines = [para.text.strip()]
        para.last = self.number
        return ""

    def _open_table(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        para = self.open[-1]
        if not at_para or para.kind != "para" or not TABLE_DIVIDER.match(bare) or bare.startswith("- "):
            return None
        header = para.lines[-1]
        if "|" not in header or len(cells(header)) != len(cells(bare)):
            return None
        para.lines.pop()
        self._close(len(self.open) - 1)
        table = self._push(len(self.open), "table", align=[alignment(cell) for cell in cells(bare)])
        table.first, table.lines = self.number - 1, [header]
        return ""

    def _open_rule(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        if not RULE.match(bare):
            return None
        self._push(self._out_of_list(depth), "rule")
        return ""

    def _open_item(self, depth: int, rest: str, bare: str, at_para: bool) -> str | None:
        match = LIST_ITEM.match(bare)
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
        if not in_list or self.open[depth - 1].attributes["mark"] != mark:
            self._push(self._out_of_list(depth), "list", mark=mark, start=match[2])
            depth = len(self.open)
        indent = len(rest) - len(bare)
        self._push(depth, "item", width=indent + len(match[1]) + blanks)
        return content

    def _open_code(self, depth: int, rest: str) -> str | None:
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
            mark = block.attributes["mark"]
            if len(bare) >= len(mark) and bare == mark[0] * len(bare) and len(rest) - len(rest.lstrip(" ")) < 4:
                block.attributes["closed"] = True
            else:
                block.lines.append(_outdent(rest, block.attributes["indent"]))
        else:
            block.lines.append(rest)
            end = block.attributes.get("end")
            if block.kind == "html" and end is not None and end.search(rest):
                block.attributes["closed"] = True
        if rest.strip():
            self._touch(len(self.open))

    def _touch(self, depth: int) -> None:
        for block in self.open[:depth]:
            block.last = self.number

    def _close(self, depth: int) -> None:
        while len(self.open) > max(depth, 1):
            block = self.open.pop()
            if block.kind == "para":
                self._take_definitions(block)
                if not block.lines:
                    self.open[-1].children.remove(block)
            for parent in self.open:
                parent.last = max(parent.last, block.last)

    def _take_definitions(self, para: Block) -> None:
        """Take link definitions off the start of a paragraph."""
        text, at = para.text, 0
        while text.startswith("[", at) and (match := LINK_DEFINITION.match(text, at)):
            name = " ".join(match[1].split()).lower()
            target = match[2].removeprefix("<").removesuffix(">") if match[2].startswith("<") else match[2]
            self.references.setdefault(name, (target, match[3][1:-1] if match[3] else None))
            at = match.end()
        if at:
            para.lines = text[at:].split("\n") if text[at:] else []


def _outdent(line: str, width: int) -> str:
    return line[min(width, len(line) - len(line.lstrip(" "))) :]
