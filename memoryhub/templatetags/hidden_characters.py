"""Makes invisible characters visible: zero-width, bidi and tag characters, controls, BOM, CR, trailing blanks.

`{% load hidden_characters %}` gives the filter `drawn` for a text. All text of files and prompts becomes HTML here, and the rows of diffs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from itertools import groupby, islice
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from memoryhub.languages import translated
from memoryhub.text.unseen import EMOJI_JOINER, PILING, UNSEEN, UNSEEN_CHARACTER, spelled_out

register = template.Library()

_BLANKS = r"[ \t\u00a0\u2000-\u200a\u3000]"
UNSEEN_RUN = re.compile(f"(?:{UNSEEN_CHARACTER.pattern})+")
# Looked for where a run of blanks begins, and once: else a line that is full of them takes minutes.
TRAILING_BLANKS = re.compile(rf"(?<!{_BLANKS}){_BLANKS}++(?=\r?$)")
CHARACTER_NAMES = {
    0x0D: gettext_lazy("carriage return"), 0x00: "NUL", 0x1B: gettext_lazy("escape"), 0xFEFF: gettext_lazy("byte order mark"),
    0x200B: gettext_lazy("zero-width space"), 0x200C: gettext_lazy("zero-width non-joiner"),
    0x200D: gettext_lazy("zero-width joiner"), 0xAD: gettext_lazy("soft hyphen"),
}  # fmt: skip
SHORT_LABELS = {0x0D: "CR", 0x00: "NUL", 0x0C: "FF", 0x0B: "VT", 0x1B: "ESC"}


def character_label(char: str) -> str:
    """HTML of the label for one unseen character. It cannot be selected, so copied text does not contain it."""
    return _label(char, get_language() or "")


@lru_cache(maxsize=1024)  # a text may be nothing but such characters
def _label(char: str, language: str) -> str:
    code = ord(char)
    name = str(CHARACTER_NAMES.get(code) or unicodedata.name(char, _("control character")).lower())
    return f'<span class="inv" title="{escape(name)}">{_short_label(char)}</span>'


def _short_label(char: str) -> str:
    return SHORT_LABELS.get(ord(char), f"U+{ord(char):04X}")


MANY = 16
"""Unseen characters side by side that have a label each; of more, one label has them all: a megabyte must not become forty."""


def _labels(run: str, language: str) -> str:
    """HTML of the labels for unseen characters that stand side by side."""
    if len(run) <= MANY:
        return "".join([_label(char, language) for char in run])
    says = ngettext("%(n)s hidden character", "%(n)s hidden characters", len(run)) % {"n": f"{len(run):,}"}
    counts = ((char, sum(1 for _same in same)) for char, same in groupby(run))
    labels = [f"{_short_label(char)} ×{count:,}" if count > 1 else _short_label(char) for char, count in counts]
    return f'<span class="inv many" title="{escape(says)}">{" ".join(labels)}</span>'


MANY_RUNS = 500
"""Places with unseen characters that are labelled in one piece of a text: where they stand between all its letters, one label
says how many there are in the rest."""


def escape_with_labels(text: str) -> str:
    """The escaped text, with a label for each unseen character."""
    return escape(text) if text.isascii() and text.isprintable() else _with_labels(text, UNSEEN_RUN, escape)


def _with_labels(text: str, runs: re.Pattern[str], shown: Callable[[str], str]) -> str:
    """What is shown of a text, with labels in place of the runs of unseen characters."""
    kept = {match.start() for match in EMOJI_JOINER.finditer(text)} if "\u200d" in text else set()
    found = (match for match in runs.finditer(text) if match.start() not in kept)
    out, at, language = [], 0, get_language() or ""
    for match in islice(found, MANY_RUNS):
        out += [shown(text[at : match.start()]), _labels(match.group(), language)]
        at = match.end()
    return "".join([*out, *_rest(text, at, list(found), shown)])


def _rest(text: str, at: int, runs: list[re.Match[str]], shown: Callable[[str], str]) -> Iterator[str]:
    """What follows the labelled part of a text: one label for all these runs, and the text without them."""
    if runs:
        yield _label_of_rest(Counter("".join(match.group() for match in runs)))
    for match in runs:
        yield shown(text[at : match.start()])
        at = match.end()
    yield shown(text[at:])


def _label_of_rest(counts: Counter[str]) -> str:
    count = counts.total()
    says = ngettext("%(n)s hidden character in what follows", "%(n)s hidden characters in what follows", count)
    labels = " ".join(f"{_short_label(char)} ×{times:,}" for char, times in counts.most_common())
    return f'<span class="inv many">{escape(says % {"n": f"{count:,}"})}: {labels}</span>'


CHARACTER_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});")
HTML_TAG = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")


def label_hidden_in_html(html: str) -> str:
    """Clean HTML with labels for unseen characters in its text, also for references such as `&#8203;`. Tags stay unchanged."""
    if html.isascii() and "&" not in html:
        return html
    parts = HTML_TAG.split(html)  # every second one is a tag
    parts[::2] = [_label_in_text(part) for part in parts[::2]]
    return "".join(parts)


def _label_in_text(text: str) -> str:
    return CHARACTER_REFERENCE.sub(_label_reference, _draw_in_text(text))


def _label_reference(match: re.Match[str]) -> str:
    char = unescape(match.group())
    return character_label(char) if UNSEEN_CHARACTER.fullmatch(char) else match.group()


# Carriage returns are drawn where line ends matter (`line_html`); what a form sends is full of them.
UNSEEN_IN_PAGE = re.compile(f"(?:(?!\r)(?:{UNSEEN_CHARACTER.pattern}))+")
# Of most pages none is there, which one set of characters says 14 times quicker.
MAYBE_UNSEEN = re.compile("[" + UNSEEN.replace("\x0b-\x1f", "\x0b\x0c\x0e-\x1f") + PILING + "\ufe0f]")
# The insides of these hold no elements: a field must send back what it was given, and a title takes plain text alone.
PAGE_PART = re.compile(
    r"""(<(?:textarea|script|style)\b.*?</(?:textarea|script|style)>|<(?:title|option)\b.*?</(?:title|option)>"""
    r"""|<(?:[^<>"']|"[^"]*"|'[^']*')*>)""",
    re.DOTALL | re.IGNORECASE,
)


def label_hidden_in_page(html: str) -> str:
    """A whole page, or a part of one, with labels for unseen characters wherever the page shows text.

    Fields keep their text, since they send it back. Titles, options and attributes that are read out spell the characters
    out; other attributes are left alone.
    """
    if not MAYBE_UNSEEN.search(html) or not UNSEEN_IN_PAGE.search(html):
        return html
    parts = PAGE_PART.split(html)  # every second one is a tag, or an element without elements
    parts[::2] = [part if _is_plain(part) else _draw_in_text(part) for part in parts[::2]]
    parts[1::2] = [part if _is_plain(part) else _spell_in_tag(part) for part in parts[1::2]]
    return "".join(parts)


def _is_plain(part: str) -> bool:
    """Of most parts: quicker than to look for each unseen character, on pages with a million of them."""
    return part.isascii() and part.isprintable()


# A title in a drawing, and an option, hold elements: `<U+200B>` would be one, and never end.
SPELLED = re.compile(r"<(U\+[0-9A-F]{4,6})>")
# Of a field, what stands before its text is its tag.
READ_OUT = re.compile(r"""(?<=\s)(?:aria-label|title|alt)=(?:"[^"]*"|'[^']*')""")


def _spell_in_tag(part: str) -> str:
    if part[:6].lower() in ("<title", "<optio"):
        return SPELLED.sub(r"&lt;\1&gt;", spelled_out(part))
    if not UNSEEN_IN_PAGE.search(part):
        return part
    tag, end, rest = part.partition(">")
    return READ_OUT.sub(lambda match: escape_angles(spelled_out(match.group())), tag) + end + rest


def escape_angles(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _draw_in_text(text: str) -> str:
    return _with_labels(text, UNSEEN_IN_PAGE, str)


def line_html(text: str) -> str:
    """HTML of one line, with labels for unseen characters and its trailing blanks marked."""
    tail = TRAILING_BLANKS.search(text) if text[-1:] in " \t\r\u00a0\u3000" or text[-1:].isspace() else None
    if tail is None:
        return escape_with_labels(text)
    blank = f'<span class="blank" title="{escape(_("trailing blanks"))}">{escape(tail.group())}</span>'
    return escape_with_labels(text[: tail.start()]) + blank + escape_with_labels(text[tail.end() :])


def coloured_line_html(pieces: Sequence[tuple[str, str]]) -> str:
    """HTML of one line in pieces, each with a CSS class or none; a line that ends with blanks is drawn without colours."""
    text = "".join(piece for piece, _css in pieces)
    if text[-1:].isspace() or (len(pieces) < 2 and not any(css for _piece, css in pieces)):
        return line_html(text)
    return "".join(
        f'<span class="{css}">{escape_with_labels(piece)}</span>' if css else escape_with_labels(piece)
        for piece, css in pieces
    )


@register.filter
def drawn(text: str) -> SafeString:
    """HTML of a text of any number of lines, with labels for unseen characters and trailing blanks marked."""
    return mark_safe("\n".join(line_html(one) for one in (text or "").split("\n")))  # noqa: S308  escaped piece by piece


def marked_line_html(text: str, marks: Sequence[tuple[int, int]], tag: str) -> str:
    """HTML of one line with the ranges `marks` in `tag` (`ins` or `del`)."""
    if not marks:
        return line_html(text)
    out, at = [], 0
    for start, end in marks:
        out += [
            escape_with_labels(text[at:start]),
            f"<{tag}>{line_html(text[start:end]) if end == len(text) else escape_with_labels(text[start:end])}</{tag}>",
        ]
        at = end
    return "".join(out) + (line_html(text[at:]) if at < len(text) else "")


ADDED_TO_MARKDOWN = re.compile(r'(<span class="sr">|^<p><em>)([^<&]{1,200})(</)')


def _in_language(added: re.Match[str]) -> str:
    english = added[2].strip()
    label = translated(english)
    return added[0] if label == english else added[0].replace(english, escape(label))


@register.filter
def drawn_html(clean: str) -> SafeString:
    """Sanitized HTML, with labels for unseen characters in its text, and what was added to it in the language of the page: the
    text is rendered once for readers of every language."""
    drawn = ADDED_TO_MARKDOWN.sub(_in_language, clean)
    return mark_safe(label_hidden_in_html(drawn))  # noqa: S308  cleaned by bleach before


@register.filter
def breakable(path: str) -> SafeString:
    """A path in which browsers may break the line after a slash."""
    return mark_safe(escape(path).replace("/", "/<wbr>"))  # noqa: S308  escaped first


@register.filter
def with_path(sentence: str, path: str | None) -> SafeString:
    """A sentence in which the path is set in the font for paths."""
    escaped = escape(sentence)
    shown = f'<span class="mono">{escape(path)}</span>' if path else ""
    return mark_safe(escaped.replace(escape(path), shown, 1) if path else escaped)  # noqa: S308  escaped first


@register.filter
def at(mapping: Any, key: Any) -> Any:
    """The value of a key that is a variable of the template; None without one."""
    return mapping.get(key) if mapping else None


ROW_WORDS = {"ctx": "", "add": gettext_lazy("added"), "del": gettext_lazy("removed")}
ROW_SIGNS = {"ctx": ("&nbsp;", "", ""), "add": ("+", ROW_WORDS["add"], "ins"), "del": ("−", ROW_WORDS["del"], "del")}


COARSE = gettext_lazy(
    "Too many lines changed to compare each: lines that stayed equal among them are shown as changed."
)


def coarse_row(change: Any, columns: int = 4) -> str:
    """A row that says that a diff is coarse; nothing where it is not."""
    return fold_row(str(COARSE), columns=columns) if change.is_coarse else ""


def unchanged_lines(count: int) -> str:
    return ngettext("%(n)s unchanged line", "%(n)s unchanged lines", count) % {"n": f"{count:,}"}


def fold_row(text: str, url: str = "", columns: int = 4) -> str:
    """A row in place of lines that are not shown, with a link to them where there is an address."""
    content = f'<a href="{escape(url)}">{text}</a>' if url else text
    return f'<tr class="fold"><td colspan="{columns}">{content}</td></tr>'


def only_first_rows(count: int) -> str:
    return fold_row(_("Only the first %(n)s rows are shown.") % {"n": f"{count:,}"})


def diff_table(body: Iterable[str], caption: str, columns: Sequence[str], css: str = "diff") -> SafeString:
    """The table around the rows of a diff; `columns` are the classes of its columns."""
    cols = "".join(f'<col class="{name}">' if name else "<col>" for name in columns)
    return mark_safe(  # noqa: S308  every piece is escaped where it is made
        f'<table class="{css}"><caption class="sr">{escape(caption)}</caption><colgroup>{cols}</colgroup><tbody>'
        + "".join(body)
        + "</tbody></table>"
    )


UNIFIED, SIDE_BY_SIDE = ("c-no", "c-no", "c-sign", ""), ("c-no", "", "c-no", "")


def no_newline_label() -> str:
    return f' <span class="inv" title="{escape(_("no newline at the end"))}">{_("no LF")}</span>'


# Rows are built here and not by a template, since a diff has thousands of them.
def diff_row(row: Any) -> str:
    """HTML of one row of a unified diff: numbers before and after, sign, word for screen readers, line."""
    if row.kind == "fold":
        return fold_row(unchanged_lines(row.count))
    sign, word, tag = ROW_SIGNS[row.kind]
    for_readers = f'<span class="sr">{word} </span>' if word else ""
    end = "" if row.ends else no_newline_label()
    return (
        f'<tr class="{row.kind}"><td class="no">{row.old or ""}</td><td class="no">{row.new or ""}</td>'
        f'<td class="sign">{sign}</td><td class="code">{for_readers}{marked_line_html(row.text, row.marks, tag)}{end}</td></tr>'
    )
