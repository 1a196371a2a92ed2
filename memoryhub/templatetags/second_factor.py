"""The QR code that an app reads its key from, as SVG of one path."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

register = template.Library()
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
