"""Django's library `i18n`, with a `translate` that does less: a row of a list has up to ten of them.

Django's makes a lazy string of each, and resolves it as a variable that may have filters. Of plain words, which is what
templates say, nothing of it is needed; whatever else `translate` can do is left to Django's.
"""

from __future__ import annotations

from typing import Any

from django.template import Library, Node
from django.template.base import Parser, Token
from django.templatetags import i18n
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

register = Library()
register.tags = dict(i18n.register.tags)
register.filters = dict(i18n.register.filters)


class Words(Node):
    """Words of the template in the language that is active. They are safe, as all that stands in a template."""

    def __init__(self, said: str, asvar: str | None) -> None:
        self.message = said.replace("%", "%%")  # as catalogues have it
        self.asvar = asvar

    def render(self, context: Any) -> SafeString:
        said = mark_safe(gettext(self.message).replace("%%", "%"))  # noqa: S308
        if not self.asvar:
            return said
        context[self.asvar] = said
        return SafeString()


@register.tag("translate")
def translate(parser: Parser, token: Token) -> Node:
    made = i18n.do_translate(parser, token)
    said = getattr(made.filter_expression.var, "literal", None)  # `_("…")` is a lazy string here, and no variable
    if not isinstance(said, str) or made.filter_expression.filters or made.noop or made.message_context is not None:
        return made
    return Words(said, made.asvar)
