"""Draws what a reader would not see: zero-width, bidi and tag characters, controls, a BOM, CR, trailing blanks.

`{% load hidden_characters %}` gives the filter `drawn` for a stretch of text and the tag `{% diff rows %}` for the rows of
`domain.diffs`. The one place where text of files and prompts becomes HTML with marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import unescape
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

# What no font draws, or what changes how the rest is drawn. An emoji's own joiner and selector stay as they are.
UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef\U0001d173-\U0001d17a\ud800-\udfff"
)
RUN = re.compile(f"[{UNSEEN}]|(?<![\u00a9-\u3299\U0001f000-\U0001faff])\ufe0f")
TRAILING = re.compile(r"[ \t\u00a0\u2000-\u200a\u3000]+(?=\r?$)")
NAMES = {
    0x0D: "carriage return", 0x00: "NUL", 0x1B: "escape", 0xFEFF: "byte order mark", 0x200B: "zero-width space",
    0x200C: "zero-width non-joiner", 0x200D: "zero-width joiner", 0xAD: "soft hyphen",
}  # fmt: skip
SHORT = {0x0D: "CR", 0x00: "NUL", 0x0C: "FF", 0x0B: "VT", 0x1B: "ESC"}
JOINED = re.compile("(?<=[\u2190-\u3299\U0001f000-\U0001faff\ufe0f])\u200d(?=[\u2190-\u3299\U0001f000-\U0001faff])")


def label(char: str) -> str:
    """The little sign that stands for one unseen character; it cannot be selected, so copies stay clean."""
    code = ord(char)
    name = NAMES.get(code) or unicodedata.name(char, "control character").lower()
    return f'<span class="inv" title="{escape(name)}">{SHORT.get(code, f"U+{code:04X}")}</span>'


def signs(text: str) -> str:
    """The text escaped, with a label for each unseen character."""
    if text.isascii() and text.isprintable():
        return escape(text)
    kept = {match.start() for match in JOINED.finditer(text)} if "\u200d" in text else set()
    out, at = [], 0
    for match in RUN.finditer(text):
        if match.start() in kept:
            continue
        out += [escape(text[at : match.start()]), label(match.group())]
        at = match.end()
    return "".join([*out, escape(text[at:])])


REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});")
TAG = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")


def signs_in_html(html: str) -> str:
    """Clean HTML with its hidden characters drawn: those between tags, also as references such as `&#8203;`; tags stay as they are."""
    if html.isascii() and "&" not in html:
        return html
    parts = TAG.split(html)  # every second one is a tag
    parts[::2] = [_labelled(part) for part in parts[::2]]
    return "".join(parts)


def _labelled(text: str) -> str:
    kept = {match.start() for match in JOINED.finditer(text)}
    text = RUN.sub(lambda match: match.group() if match.start() in kept else label(match.group()), text)
    return REFERENCE.sub(_referred, text)


def _referred(match: re.Match[str]) -> str:
    char = unescape(match.group())
    return label(char) if RUN.fullmatch(char) else match.group()


def line(text: str) -> str:
    """One line, its trailing blanks marked."""
    tail = TRAILING.search(text) if text[-1:] in " \t\r\u00a0\u3000" or text[-1:].isspace() else None
    if tail is None:
        return signs(text)
    blank = f'<span class="blank" title="trailing blanks">{escape(tail.group())}</span>'
    return signs(text[: tail.start()]) + blank + signs(text[tail.end() :])


@register.filter
def drawn(text: str) -> SafeString:
    """A text of any number of lines, with what is hidden in it drawn."""
    return mark_safe("\n".join(line(one) for one in (text or "").split("\n")))  # noqa: S308  escaped piece by piece


def marked(text: str, marks: Sequence[tuple[int, int]], tag: str) -> str:
    """One line with its changed words in `ins` or `del`."""
    if not marks:
        return line(text)
    out, at = [], 0
    for start, end in marks:
        out += [
            signs(text[at:start]),
            f"<{tag}>{line(text[start:end]) if end == len(text) else signs(text[start:end])}</{tag}>",
        ]
        at = end
    return "".join(out) + (line(text[at:]) if at < len(text) else "")


@register.filter
def breakable(path: str) -> SafeString:
    """A path that may be broken after its slashes."""
    return mark_safe(escape(path).replace("/", "/<wbr>"))  # noqa: S308  escaped first


@register.filter
def with_path(sentence: str, path: str | None) -> SafeString:
    """A sentence of the hub's in which a path speaks with the voice of files."""
    said = escape(sentence)
    shown = f'<span class="mono">{escape(path)}</span>' if path else ""
    return mark_safe(said.replace(escape(path), shown, 1) if path else said)  # noqa: S308  escaped first


@register.filter
def at(mapping: Any, key: Any) -> Any:
    """What a mapping holds for a key that only the template knows."""
    return mapping.get(key) if mapping else None


SIGNS = {"ctx": ("&nbsp;", "", ""), "add": ("+", "added ", "ins"), "del": ("−", "removed ", "del")}


# Rows are built here and not by a template, since a diff has thousands of them.
def diff_row(row: Any) -> str:
    """One row of a unified diff: numbers before and after, the sign and its hidden word, the line."""
    if row.kind == "fold":
        return f'<tr class="fold"><td colspan="4">{row.count:,} unchanged line{"s" if row.count != 1 else ""}</td></tr>'
    sign, word, tag = SIGNS[row.kind]
    said = f'<span class="sr">{word}</span>' if word else ""
    end = "" if row.ends else ' <span class="inv" title="no newline at the end">no LF</span>'
    return (
        f'<tr class="{row.kind}"><td class="no">{row.old or ""}</td><td class="no">{row.new or ""}</td>'
        f'<td class="sign">{sign}</td><td class="code">{said}{marked(row.text, row.marks, tag)}{end}</td></tr>'
    )


@register.simple_tag
def diff(rows: Iterable[Any], caption: str = "Change") -> SafeString:
    """The rows of `domain.diffs` as a table."""
    body = "".join(diff_row(row) for row in rows)
    return mark_safe(  # noqa: S308  every piece is escaped above
        f'<table class="diff"><caption class="sr">{escape(caption)}</caption>'
        '<colgroup><col class="c-no"><col class="c-no"><col class="c-sign"><col></colgroup>'
        f"<tbody>{body}</tbody></table>"
    )
