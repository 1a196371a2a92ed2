"""Tags for tokens."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memoryhub.templatetags.hub import ago, until

register = template.Library()


@register.simple_tag
def token_facts(token: Any, separator: str = "; ", with_maker: bool = False) -> SafeString:
    """When a token was last used and from where, who made it, and when it ends if it does."""
    used = format_html("used {}{}", ago(token.used_at), f" from {token.used_from}" if token.used_from else "")
    made = format_html("made by {} {}", token.made_by, ago(token.created_at)) if with_maker else ""
    ends = format_html("ends {}", until(token.expires_at)) if token.expires_at else ""
    return format_html_join(separator, "{}", ((fact,) for fact in (used, made, ends) if fact))
