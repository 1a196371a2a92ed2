"""Tags for the overview."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.languages import translated

register = template.Library()


@register.simple_tag
def wait_words(wait: Any) -> SafeString:
    """Detail and path of something that waits for a person."""
    if not wait.mono:
        return format_html("{}", translated(wait.detail))
    return format_html(
        '<bdi>{}</bdi>{}<span class="mono">{}</span>', translated(wait.detail), ", " if wait.detail else "", wait.mono
    )


@register.filter
def leaving_words(count: int) -> str:
    """How many entries leave working memory soon."""
    if not count:
        return _("none expires within the hour")
    return ngettext("%(n)s expires within the hour", "%(n)s expire within the hour", count) % {"n": count}


@register.filter
def files_words(now: Any) -> str:
    """Current problems of files; "" without any."""
    if now.unwritten:
        words = ngettext("%(n)s not on disk yet", "%(n)s not on disk yet", now.unwritten)
        return words % {"n": f"{now.unwritten:,}"}
    if not now.missing:
        return ""
    return ngettext("%(n)s source is missing", "%(n)s sources are missing", now.missing) % {"n": now.missing}


@register.simple_tag
def glyph_at(name: str, x: float, y: float, css: str = "") -> SafeString:
    """A glyph at a place of the drawing."""
    return format_html(
        '<svg class="{}" x="{}" y="{}" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">'
        '<use href="#g-{}"/></svg>',
        f"g {css}".strip(), x, y, name,
    )  # fmt: skip
