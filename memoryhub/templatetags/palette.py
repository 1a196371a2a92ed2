"""Tags of the palette."""

from __future__ import annotations

import re

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from memoryhub.templatetags.hidden_characters import escape_with_labels

register = template.Library()


@register.filter
def with_typed(text: str, words: list[str]) -> SafeString:
    """A text with the words that were typed marked."""
    if not words:
        return mark_safe(escape_with_labels(str(text)))  # noqa: S308 (escaped)
    parts = re.split(
        "(" + "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) + ")", str(text), flags=re.I
    )
    drawn = [mark_safe(escape_with_labels(part)) for part in parts]  # noqa: S308 (escaped)
    return mark_safe(  # noqa: S308 (pieces were escaped)
        "".join(format_html("<mark>{}</mark>", part) if at % 2 else part for at, part in enumerate(drawn))
    )
