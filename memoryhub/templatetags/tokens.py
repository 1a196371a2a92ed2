"""Tags for tokens."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub.domain import accounts
from memoryhub.templatetags.hub import ago, until

register = template.Library()
ENDED = {"revoked": gettext_lazy("revoked"), "expired": gettext_lazy("expired")}


@register.filter
def why_ended(token: Any) -> str:
    """Why a token works no longer; empty while it does."""
    why = accounts.why_ended(token)
    return str(ENDED.get(why, why))


@register.simple_tag
def token_facts(token: Any, with_maker: bool = False) -> SafeString:
    """When a token was last used and from where, who made it, and when it ends if it does."""
    words = _("used {when} from {address}") if token.used_from else _("used {when}")
    used = format_html(words, when=ago(token.used_at), address=token.used_from)
    made = ""
    if with_maker:
        made = format_html(_("created by {person} {when}"), person=token.made_by, when=ago(token.created_at))
    ends = format_html(_("expires {when}"), when=until(token.expires_at)) if token.expires_at else ""
    return format_html_join(_("; "), "{}", ((fact,) for fact in (used, made, ends) if fact))
