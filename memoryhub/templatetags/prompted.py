"""Draws the lines of a prompt: their numbers, what is hidden in them, and what a warning speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django import template
from django.utils.safestring import SafeString, mark_safe

from memoryhub.templatetags.drawn import line
from memoryhub.templatetags.reviewing import words

register = template.Library()
Marks = Mapping[int, Sequence[tuple[int, int, str]]]


@register.simple_tag
def numbered(lines: Iterable[str], first: int, marks: Marks) -> SafeString:
    """One block per line with its number, what is hidden drawn; the number is no part of what is copied."""
    return mark_safe(  # noqa: S308  every line is escaped where it is drawn
        "".join(
            f'<span id="L{n}" data-n="{n}">{one_line(text, marks.get(n))}</span>' for n, text in enumerate(lines, first)
        )
    )


def one_line(text: str, found: Sequence[tuple[int, int, str]] | None) -> str:
    return words(text, (), "", found, whole=True) if found else line(text)
