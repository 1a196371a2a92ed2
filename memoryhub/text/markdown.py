"""Markdown as people see it, in one function: read as on a code host, and nothing a browser would run or fetch.

Blocks are read by `gfm`, inline text by Python-Markdown, and the result passes `markdown_clean`.
"""

from __future__ import annotations

import html
import re
import string
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree as etree  # noqa: N813

import markdown
from markdown.blockparser import BlockParser
from markdown.inlinepatterns import InlineProcessor, SimpleTagInlineProcessor
from markdown.postprocessors import Postprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

from memoryhub.text import gfm, gfm_syntax, highlight
from memoryhub.text.gfm_syntax import Block
from memoryhub.text.markdown_clean import ANCHOR, HEADING_TAGS, cleaner, is_tangled

# A paragraph with more characters, unclosed brackets or brackets than this is shown as it stands: inline rules turn slow on it.
_MAX_PARAGRAPH, _MAX_UNCLOSED, _MAX_BRACKETS = 30_000, 40, 1_500
# A text with more marks than this after rendering is shown as it stands: cleaning takes a step for each, and long ones.
_MAX_MARKS = 60_000
_MAX_COLOURED = 40_000  # characters of code that get colours in one text
MAX_CHARACTERS = 250_000
MAX_SOURCE = 100_000
TOO_LARGE = "Shown as source: too large to render."
TANGLED = "Shown as source: too many HTML tags in it are not closed."
_RAW = "x-raw"  # holds a piece of raw HTML until the end


@dataclass(frozen=True)
class Heading:
    """A heading for the outline, with the id of its element."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True)
class Rendered:
    """Clean HTML, and the headings for an outline."""

    html: str
    headings: list[Heading] = field(default_factory=list)


def render(text: str) -> Rendered:
    """The clean HTML of a Markdown text, and its headings; the newest are cached. A very long text stays as it is written."""
    return _rendered(text) if len(text) <= MAX_CHARACTERS else _as_source(text)


def _as_source(text: str, why: str = TOO_LARGE) -> Rendered:
    more = f" These are the first {MAX_SOURCE:,} characters." if len(text) > MAX_SOURCE else ""
    return Rendered(f"<p><em>{why}{more}</em></p>\n<pre><code>{html.escape(text[:MAX_SOURCE])}</code></pre>")


@lru_cache(maxsize=128)
def _rendered(text: str) -> Rendered:
    front, body = _front_matter(text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff"))
    body = body.replace("\x00", "\ufffd").replace("\x02", "").replace("\x03", "")
    md = _markdown()
    md.reset()
    md.headings = []
    raw = md.convert(body) if body.strip() else ""
    if raw.count("<") + raw.count("&") > _MAX_MARKS:
        return _as_source(text)
    if is_tangled(raw):
        return _as_source(text, TANGLED)
    return Rendered(cleaner().clean(front + raw), md.headings)


# ---- front matter

_FRONT = re.compile(r"\A---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY = re.compile(r"([A-Za-z_][\w .-]*):(?:[ \t]+(.*)|[ \t]*)$")


def _front_matter(text: str) -> tuple[str, str]:
    """The front matter of a file as a small table, and the rest; empty and the whole text where there is none."""
    match = _FRONT.match(text)
    if not match or not match[1]:
        return "", text
    rows: list[list[str]] = []
    for line in match[1].rstrip("\n").split("\n"):
        if key := _KEY.match(line):
            rows.append([key[1], key[2] or ""])
        elif rows and (line[:1] in (" ", "\t", "-", "#", "") or not line.strip()):
            rows[-1][1] += "\n" + line
        elif line.startswith("#") or not line.strip():
            rows.append(["", line])  # a comment above the first key
        else:
            return "", text
    if not any(name for name, _ in rows):
        return "", text
    cells = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value.strip())}</td></tr>" for name, value in rows
    )
    return f'<table class="front-matter"><tbody>{cells}</tbody></table>\n', text[match.end() :]


# ---- blocks become elements


class _Blocks(BlockParser):
    """Replaces Python-Markdown's own parser of blocks by `gfm`."""

    def parseDocument(self, lines: Any) -> etree.ElementTree:  # noqa: N802
        self.coloured = 0
        reader = gfm.Reader()
        root = reader.read("\n".join(lines))
        self.md.references.update(reader.references)
        self.root = etree.Element(self.md.doc_tag)
        self._children(self.root, root.children, loose=True)
        return etree.ElementTree(self.root)

    def _children(self, parent: etree.Element, blocks: list[Block], *, loose: bool) -> None:
        for block in blocks:
            if block.kind == "para" and not loose:
                _append_text(parent, _inline(block.lines))
            else:
                getattr(self, f"_{block.kind}")(parent, block)

    def _para(self, parent: etree.Element, block: Block) -> None:
        etree.SubElement(parent, "p").text = _inline(block.lines)

    def _heading(self, parent: etree.Element, block: Block) -> None:
        etree.SubElement(parent, f"h{block.attributes['level']}").text = _inline(block.lines)

    def _rule(self, parent: etree.Element, block: Block) -> None:
        etree.SubElement(parent, "hr")

    def _quote(self, parent: etree.Element, block: Block) -> None:
        self._children(etree.SubElement(parent, "blockquote"), block.children, loose=True)

    def _list(self, parent: etree.Element, block: Block) -> None:
        start = block.attributes["start"]
        element = etree.SubElement(parent, "ul" if start is None else "ol")
        if start is not None and int(start) != 1:
            element.set("start", str(int(start)))
        loose = gfm_syntax.is_loose(block)
        for item in block.children:
            li = etree.SubElement(element, "li")
            _draw_checkbox(li, item)
            self._children(li, item.children, loose=loose)

    def _fence(self, parent: etree.Element, block: Block) -> None:
        language = re.match(r"[\w+#.-]+", block.attributes["info"])
        text = "\n".join([*block.lines, ""]) if block.lines else ""
        self.coloured += _code(parent, text, language[0] if language else "", _MAX_COLOURED - self.coloured)

    def _code(self, parent: etree.Element, block: Block) -> None:
        _code(parent, block.text.rstrip("\n ") + "\n")

    def _html(self, parent: etree.Element, block: Block) -> None:
        etree.SubElement(parent, _RAW).text = self.md.htmlStash.store(_with_comments(block.text))

    def _table(self, parent: etree.Element, block: Block) -> None:
        table = etree.SubElement(parent, "table")
        sides = block.attributes["align"]
        _row(etree.SubElement(etree.SubElement(table, "thead"), "tr"), "th", gfm_syntax.cells(block.lines[0]), sides)
        if len(block.lines) > 1:
            body = etree.SubElement(table, "tbody")
            for line in block.lines[1:]:
                _row(etree.SubElement(body, "tr"), "td", gfm_syntax.cells(line), sides)


def _inline(lines: list[str]) -> str:
    text = "\n".join(lines).rstrip()
    opened, closed = text.count("["), text.count("]")
    is_slow = len(text) > _MAX_PARAGRAPH or opened - closed > _MAX_UNCLOSED or opened > _MAX_BRACKETS
    return AtomicString(text) if is_slow else text


def _append_text(parent: etree.Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = text


def _code(parent: etree.Element, text: str, language: str = "", budget: int = 0) -> int:
    """A block of code, with colours while the page has room for them; how many characters it is."""
    code = etree.SubElement(etree.SubElement(parent, "pre"), "code")
    if language:
        code.set("class", f"language-{language}")
    last = None
    for piece, css in highlight.pieces(text, language) if budget > 0 else [(text, "")]:
        if css:
            last = etree.SubElement(code, "span", {"class": css})
            last.text = AtomicString(piece)
        elif last is None:
            code.text = AtomicString(piece)
        else:
            last.tail = AtomicString(piece)
    return len(text)


def _row(tr: etree.Element, tag: str, texts: list[str], sides: list[str]) -> None:
    for at, side in enumerate(sides):
        cell = etree.SubElement(tr, tag)
        cell.text = texts[at] if at < len(texts) else ""
        if side:
            cell.set("align", side)


_CHECKBOX = re.compile(r"\[([ xX])\][ \t]+(?=\S)")


def _draw_checkbox(li: etree.Element, item: Block) -> None:
    """Draw `[ ]` and `[x]` at the start of an item. They are no form fields, for nothing could be sent."""
    first = item.children[0] if item.children else None
    if first is None or first.kind != "para" or not (match := _CHECKBOX.match(first.lines[0])):
        return
    done = match[1] != " "
    first.lines[0] = first.lines[0][match.end() :]
    li.set("class", "task")
    box = etree.SubElement(li, "span", {"class": "box done" if done else "box"})
    box.text = AtomicString("☑" if done else "☐")
    box.tail = " "


# ---- raw HTML, comments

_COMMENT = re.compile(r"<!--(.*?)(-->|\Z)", re.DOTALL)


def _with_comments(raw: str) -> str:
    """Raw HTML with its comments drawn as notes for people. One that never ends says so, for the model sees it."""
    return _COMMENT.sub(lambda m: _comment(m[1], ended=bool(m[2])), raw)


def _comment(text: str, *, ended: bool) -> str:
    label = "Comment, people only: " if ended else "Comment that never ends, the model sees it: "
    shown = html.escape(text.strip("-") if ended else "<!--" + text, quote=False).strip()
    return f'<span class="comment"><span class="sr">{label}</span>{shown}</span>'


class _InlineHtml(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # noqa: N802
        return self.md.htmlStash.store(_with_comments(m[0])), m.start(0), m.end(0)


# ---- links

_ENTITY_END = re.compile(r"&[a-z]+;\Z")
_LONGEST_ENTITY = 40


class _BareLink(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Any, int | None, int | None]:  # noqa: N802
        url = _without_punctuation(m[0])
        if "\x02" in url or len(url) < 8:
            return None, None, None
        a = etree.Element("a", {"href": url if "://" in url else "https://" + url})
        a.text = AtomicString(url)
        return a, m.start(0), m.start(0) + len(url)


def _without_punctuation(url: str) -> str:
    """A bare link without the punctuation that ends the sentence and without a bracket that was opened before the link."""
    end, unopened = len(url), url.count(")") - url.count("(")
    while end:
        if url[end - 1] in "?!.,:*_~'\"":
            end -= 1
        elif url[end - 1] == ")" and unopened > 0:
            end, unopened = end - 1, unopened - 1
        elif url[end - 1] == ";" and (entity := _ENTITY_END.search(url[max(0, end - _LONGEST_ENTITY) : end])):
            end -= len(entity[0])
        else:
            break
    return url[:end]


class _Image(Treeprocessor):
    """Turns images into links: a browser would fetch them from wherever they lie, and so tell who reads."""

    def run(self, root: etree.Element) -> None:
        for img in list(root.iter("img")):
            label, target = img.get("alt") or "image", img.get("src") or ""
            tail = img.tail
            img.clear()
            img.tag, img.tail = "a", tail
            img.set("href", target)
            img.text = AtomicString(f"🖼 {label}")


class _Headings(Treeprocessor):
    """Gives headings ids that no other element of the page has, and collects the outline."""

    def run(self, root: etree.Element) -> None:
        used: dict[str, int] = {}
        for element in (e for e in root.iter() if e.tag in HEADING_TAGS):
            text = re.sub(r"\x02.*?\x03", "", "".join(element.itertext())).strip()
            slug = re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", text.lower())) or "part"
            used[slug] = used.get(slug, -1) + 1
            anchor = f"{ANCHOR}{slug}-{used[slug]}" if used[slug] else ANCHOR + slug
            element.set("id", anchor)
            self.md.headings.append(Heading(int(element.tag[1]), anchor, text or "…"))
        for a in root.iter("a"):
            if (a.get("href") or "").startswith("#"):
                a.set("href", "#" + ANCHOR + a.get("href", "")[1:])


class _Unwrap(Postprocessor):
    def run(self, text: str) -> str:
        return text.replace(f"<{_RAW}>", "").replace(f"</{_RAW}>", "")


class _Extension(markdown.Extension):
    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        md.parser = _Blocks(md)
        for name in ("html_block", "normalize_whitespace"):
            md.preprocessors.deregister(name)
        md.ESCAPED_CHARS = list(string.punctuation)
        md.inlinePatterns.register(
            _InlineHtml(r"<!--(?:>|->|.*?-->)|<(?:/?[a-zA-Z][^<>\n]*|!--.*?--)>", md), "html", 90
        )
        strike = SimpleTagInlineProcessor(r"(?<!~)(~{1,2})(?=[^\s~])(.+?)(?<=[^\s~])\1(?!~)", "del")
        md.inlinePatterns.register(strike, "strike", 65)
        md.inlinePatterns.register(_BareLink(r"(?<![\w/])(?:https?://|www\.)[^\s<>\x02\x03]+", md), "bare", 85)
        md.treeprocessors.register(_Image(md), "hub_images", -4)
        md.treeprocessors.register(_Headings(md), "hub_headings", -5)
        md.treeprocessors.deregister("prettify")
        md.postprocessors.register(_Unwrap(md), "hub_unwrap", 31)


@lru_cache(maxsize=1)
def _markdown() -> markdown.Markdown:
    # Python-Markdown's tab length is only for its own blocks; ours reads columns of four.
    return markdown.Markdown(extensions=[_Extension()], output_format="html")
