"""Draws the lines of a prompt: their numbers, what is hidden in them, what a warning speaks of, and where one came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from memoryhub.templatetags.drawn import line
from memoryhub.templatetags.reviewing import words

register = template.Library()
Marks = Mapping[int, Sequence[tuple[int, int, str]]]


@register.simple_tag(takes_context=True)
def numbered(context: Any, lines: Iterable[str], first: int, marks: Marks) -> SafeString:
    """One block per line with its number, what is hidden drawn; the number is no part of what is copied.

    The line that somebody asks about has its origin below it.
    """
    asked = context["origin"].number if context.get("origin") else 0
    drawn = []
    for number, text in enumerate(lines, first):
        found = marks.get(number)
        drawn.append(f'<span id="L{number}" data-n="{number}">')
        drawn.append(words(text, (), "", found, whole=True) if found else line(text))
        drawn.append("</span>")
        if number == asked:
            drawn.append(render_to_string("prompts/_origin.html", context.flatten()))
    return mark_safe("".join(drawn))  # noqa: S308  every line is escaped where it is drawn
