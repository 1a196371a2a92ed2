"""Glyphs, and Django's tags `include`, `static` and `csrf_token` with less to do for each: a list has them in each row."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import Any

from django.template import Library, Node, Template
from django.template.base import Parser, TextNode, Token
from django.template.loader_tags import IncludeNode, do_include
from django.templatetags.static import StaticNode
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memoryhub.loaders import folded, is_known

register = Library()


class Include(Node):
    """A template that is named here, drawn with the values of this one. Django looks for it each time, and gives it a state of
    its own, which only blocks need."""

    def __init__(self, made: IncludeNode, name: str) -> None:
        self.made, self.name, self.values = made, name, made.extra_context
        self.found: Template | None = None  # from the first time on, since a template may include itself

    def render(self, context: Any) -> str:
        found = self.found = self.found or context.template.engine.get_template(self.name)
        values = {name: value.resolve(context) for name, value in self.values.items()}
        if self.made.isolated_context:
            return found.nodelist.render(context.new(values))
        with context.push(**values):
            return found.nodelist.render(context)


@register.tag
def include(parser: Parser, token: Token) -> Node:
    made = do_include(parser, token)
    return Include(made, str(made.template.var)) if is_known(made.template) else made


@register.tag
def static(parser: Parser, token: Token) -> Node:
    """The address of a static file; a name that stands in the template becomes text with it."""
    made = StaticNode.handle_token(parser, token)
    return TextNode(escape(made.url({}))) if is_known(made.path) and made.varname is None else made


class FormToken(Node):
    """The field with which a form shows that it is from a page of ours; nothing outside any request."""

    def render(self, context: Any) -> SafeString:
        sent = escape(str(context.get("csrf_token", "")))
        return SafeString(f'<input type="hidden" name="csrfmiddlewaretoken" value="{sent}">' if sent else "")


@register.tag
def csrf_token(parser: Parser, token: Token) -> Node:
    return FormToken()


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
