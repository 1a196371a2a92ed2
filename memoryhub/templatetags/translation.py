"""Django's tags `translate` and `blocktranslate` with less to do for each: a row of a list has up to ten of them. Every template
has these and all of Django's library `i18n` without loading them.

Templates are read once for each language (`memoryhub.languages`), so plain words are text by then, and of a sentence only its
values are left. Whatever else these tags can do is left to Django's.
"""

from __future__ import annotations

from typing import Any

from django.template import Library, Node
from django.template.base import Parser, TextNode, Token, render_value_in_context
from django.templatetags import i18n
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

register = Library()
register.tags = dict(i18n.register.tags)
register.filters = dict(i18n.register.filters)


class Words(Node):
    """Words under a name. They are safe, as all that stands in a template."""

    def __init__(self, text: str, asvar: str) -> None:
        self.text, self.asvar = SafeString(text), asvar

    def render(self, context: Any) -> str:
        context[self.asvar] = self.text
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
