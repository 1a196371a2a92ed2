"""Tags for what people and agents sign in with: their tokens, and the QR code of a second factor, from which an app reads its key."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext as _

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


QUIET = 4  # modules of white around the code, which readers need


@register.simple_tag
def qr_code(text: str) -> SafeString:
    # Inside: Django imports every tag library at the start, and few people open the one page with a code.
    from qrcode import QRCode

    code = QRCode(border=QUIET)
    code.add_data(text)
    rows = code.get_matrix()
    path = "".join(f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, dark in enumerate(row) if dark)
    return format_html(
        '<svg class="qr" role="img" aria-label="{2}" width="232" height="232" viewBox="0 0 {0} {0}" '
        'shape-rendering="crispEdges"><rect width="{0}" height="{0}" fill="#fff"/><path d="{1}" fill="#000"/></svg>',
        len(rows),
        path,
        gettext("QR code of the key below"),
    )
