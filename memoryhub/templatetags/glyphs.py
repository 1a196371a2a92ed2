"""Glyphs, for every template without loading them."""

from __future__ import annotations

from functools import lru_cache

from django.template import Library
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memoryhub.loaders import folded

register = Library()


def g(name: str, label: str = "", css: str = "") -> SafeString:
    """A glyph of the sprite; without a label, screen readers skip it."""
    return _glyph(name, str(label), css)


register.simple_tag(g)
register.tag("g", folded(register.tags["g"]))


@lru_cache(maxsize=1024, typed=True)  # an escaped text is another type
def _glyph(name: str, label: str, css: str) -> SafeString:
    css = f"g {css}".strip()
    if label:
        return format_html(
            '<svg class="{}" role="img" aria-label="{}" viewBox="0 0 16 16"><use href="#g-{}"/></svg>', css, label, name
        )
    return format_html('<svg class="{}" aria-hidden="true" viewBox="0 0 16 16"><use href="#g-{}"/></svg>', css, name)
