"""Glyphs, and Django's tags `include`, `static`, `csrf_token`, `translate` and `blocktranslate` with less to do for each: a row of
a list has up to ten of them. Every template has these and all of Django's library `i18n` without loading them.

Templates are read once for each language (`memoryhub.languages`), so plain words are text by then, and of a sentence only its
values are left. Whatever else these tags can do is left to Django's.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import Any

from django.template import Library, Node, Template
from django.template.base import Parser, TextNode, Token, render_value_in_context
from django.template.loader_tags import IncludeNode, do_include
from django.templatetags import i18n
from django.templatetags.static import StaticNode
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from memoryhub.loaders import folded, is_known

register = Library()
register.tags = dict(i18n.register.tags)
register.filters = dict(i18n.register.filters)


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


# ---- words in the language of the page


class Words(Node):
    """Words under a name. They are safe, as all that stands in a template."""

    def __init__(self, text: str, asvar: str) -> None:
        self.said, self.asvar = SafeString(text), asvar

    def render(self, context: Any) -> str:
        context[self.asvar] = self.said
        return ""


@register.tag("translate")
def translate(parser: Parser, token: Token) -> Node:
    made = i18n.do_translate(parser, token)
    literal = getattr(made.filter_expression.var, "literal", None)  # `_("…")` is a lazy string here, and no variable
    if not isinstance(literal, str) or made.filter_expression.filters or made.noop or made.message_context is not None:
        return made
    return words(gettext(literal.replace("%", "%%")).replace("%%", "%"), made.asvar)  # catalogues have them doubled


def words(text: str, asvar: str | None) -> Node:
    return Words(text, asvar) if asvar else TextNode(text)


class Sentence(Node):
    """A sentence with values of the context, and with a plural if there is a count."""

    def __init__(self, made: i18n.BlockTranslateNode) -> None:
        self.asvar, self.given, self.counter, self.countervar = made.asvar, made.extra_context, None, ""
        self.singular, self.names = made.render_token_list(made.singular)
        if made.plural:
            self.counter, self.countervar = made.counter, made.countervar
            self.plural, names = made.render_token_list(made.plural)
            self.names = {*self.names, *names}
        else:
            self.singular = gettext(self.singular)

    def render(self, context: Any) -> str:
        with context.push(**{name: value.resolve(context) for name, value in self.given.items()}):
            sentence = self.counted(context) if self.counter else self.singular
            sentence %= {name: self.value(context, name) for name in self.names}
        if not self.asvar:
            return sentence
        context[self.asvar] = SafeString(sentence)
        return ""

    def counted(self, context: Any) -> str:
        context[self.countervar] = count = self.counter.resolve(context)
        return ngettext(self.singular, self.plural, count)

    def value(self, context: Any, name: str) -> str:
        value = context.get(name, "")
        return str(value) if type(value) is int else render_value_in_context(value, context)


@register.tag("blocktranslate")
def blocktranslate(parser: Parser, token: Token) -> Node:
    made = i18n.do_block_translate(parser, token)
    if made.message_context is not None:
        return made
    sentence = Sentence(made)
    return sentence if sentence.names or sentence.counter else words(sentence.singular.replace("%%", "%"), made.asvar)
