"""Tags for what coding agents see: badges, numbered lines of a context, lines that are lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from memoryhub.templatetags.agent_names import CODING_BADGES
from memoryhub.templatetags.findings import line_with_marks
from memoryhub.templatetags.hidden_characters import line_html

register = template.Library()
STATE_GLYPHS = {"in": "check", "cut": "cut", "later": "clock", "ignored": "x"}
STATE_CSS = {"in": "in is-source", "cut": "cut-c", "later": "later", "ignored": "ign"}


@register.simple_tag
def coding_badge(name: str) -> SafeString:
    """The square badge of a coding agent; its name stands beside it."""
    _title, initials, tint = CODING_BADGES.get(name, (name, name[:2].capitalize(), 0))
    return format_html('<span class="av a{}" aria-hidden="true">{}</span>', tint, initials)


@register.filter
def context_state_glyph(state: str) -> str:
    return STATE_GLYPHS.get(state, "dot")


@register.filter
def state_css(state: str) -> str:
    return STATE_CSS.get(state, "none")


@register.simple_tag
def context_lines(lines: Iterable[str], first: int, marks: Mapping[int, Sequence[tuple[int, int, str]]]) -> SafeString:
    """One element for each line of a context, with labels for unseen characters; numbers are CSS, so they are not copied."""
    drawn = []
    for number, text in enumerate(lines, first):
        found = [(start, min(end, len(text)), css) for start, end, css in marks.get(number, ()) if start < len(text)]
        inner = line_with_marks(text, (), "", found, whole=True) if found else line_html(text)
        drawn.append(f'<span id="L{number}" data-n="{number}">{inner}</span>')
    return mark_safe("".join(drawn))  # noqa: S308  every line is escaped where it is drawn


@register.simple_tag
def lost_lines(lines: Iterable[str], first: int) -> SafeString:
    """Lines of a file that are not in the context, with their numbers in the file."""
    drawn = [f'<span data-n="{number}">{line_html(text)}</span>' for number, text in enumerate(lines, first)]
    return mark_safe("".join(drawn))  # noqa: S308  every line is escaped where it is drawn


@register.simple_tag
def entry_lines(text: str) -> SafeString:
    """The lines of an entry, with labels for unseen characters."""
    return mark_safe("\n".join(line_html(line) for line in text.split("\n")))  # noqa: S308  escaped line by line


@register.filter
def breakable_path(path: str) -> SafeString:
    """A path that may break behind each slash."""
    pieces = path.split("/")
    ends = mark_safe("/<wbr>")
    return mark_safe(ends.join(format_html("{}", piece) for piece in pieces))  # noqa: S308  escaped piece by piece
