"""What Claude Code reads in Markdown: comments that stand as blocks, and mentions of files (`@path`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from memoryhub.text import comments, gfm
from memoryhub.text.gfm_syntax import Block

MENTION = re.compile(r"(?:^|\s)@((?:[^\s\\]|\\ )+)")
FIRST_OF_MENTION = re.compile(r"[A-Za-z0-9._-]")
# Pieces of inline text that hold no mention. Each ends the text before it, so that a mention may begin right behind it.
NOT_TEXT = re.compile(
    r"""\\[!-/:-@\[-`{-~]|(?<!`)(?P<ticks>`+)(?!`)(?:(?!(?P=ticks)).)+?(?<!`)(?P=ticks)(?!`)"""
    r"""|<!--.*?-->|</?[A-Za-z][^<>]*>|<[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*>""",
    re.DOTALL,
)
EMPHASIS = re.compile(
    r"(?<![\w*_])(?P<mark>\*{1,3}|_{1,3})(?=[^\s*_])(?P<inner>.+?)(?<=[^\s*_])(?P=mark)(?![\w*_])", re.DOTALL
)


def without_block_comments(text: str) -> str:
    """The text without comments that are blocks of their own at the top level; unchanged bytes where it has no comment.

    Such a block goes to the end of its last line and takes the empty lines behind it along. Line ends become LF.
    """
    if "<!--" not in text:
        return text
    lines = _unix(text).split("\n")
    out, at = [], 0
    children = gfm.Reader().read("\n".join(lines)).children
    for before, block in pairwise([None, *children]):
        if block is None or not _is_comment(block) or _continues_paragraph(block, before, lines):
            continue
        first, last = block.first - 1, _end_of_comment(block, lines)
        raw = "\n".join(lines[first:last]) + ("\n" if last < len(lines) else "")
        while last < len(lines) - 1 and not lines[last]:
            last, raw = last + 1, raw + "\n"
        out += [line + "\n" for line in lines[at:first]]
        rest = comments.without(raw)
        out.append(rest if rest.strip() else "")
        at = last
    return "".join(out) + "\n".join(lines[at:])


def _continues_paragraph(block: Block, before: Block | None, lines: list[str]) -> bool:
    """Whether an indented comment follows a paragraph directly: it is read as part of that."""
    is_adjacent = before is not None and before.kind in ("para", "table") and before.last == block.first - 1
    return is_adjacent and lines[block.first - 1].startswith(" ")


def _end_of_comment(block: Block, lines: list[str]) -> int:
    return min(block.first - 1 + len(block.lines), len(lines))


def _is_comment(block: Block) -> bool:
    return block.kind == "html" and block.text.lstrip().startswith("<!--") and "-->" in block.text


def mentions(text: str) -> list[str]:
    """The paths after `@` outside of code and comments, in order, each once, as they are written."""
    if "@" not in text:
        return []
    found = (path for piece in _pieces(gfm.Reader().read(_unix(text))) for path in _mentions_in(piece))
    return list(dict.fromkeys(found))


def _mentions_in(piece: str) -> Iterator[str]:
    for match in MENTION.finditer(piece):
        path = match[1].split("#", 1)[0].replace("\\ ", " ")
        if path.startswith(("./", "~/")) or (path.startswith("/") and path != "/") or FIRST_OF_MENTION.match(path):
            yield path


def _pieces(block: Block, in_item: bool = False) -> Iterator[str]:
    """The pieces of text in which a mention counts. The text of a list's item counts once more as a whole, code included."""
    if block.kind in ("para", "heading", "table"):
        if in_item and block.kind == "para":
            yield block.text
        yield from _inline(block.text)
    elif _is_comment(block):
        rest = comments.without(block.text)
        if rest.strip():
            yield rest
    for child in block.children:
        yield from _pieces(child, in_item=(in_item or block.kind == "item") and block.kind != "quote")


def _inline(text: str) -> Iterator[str]:
    at = 0
    for match in NOT_TEXT.finditer(text):
        yield from _emphasised(text[at : match.start()])
        at = match.end()
    yield from _emphasised(text[at:])


def _emphasised(text: str) -> Iterator[str]:
    """The text around emphasis, and that inside of it."""
    at = 0
    for match in EMPHASIS.finditer(text):
        yield text[at : match.start()]
        yield from _emphasised(match["inner"])
        at = match.end()
    yield text[at:]


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
