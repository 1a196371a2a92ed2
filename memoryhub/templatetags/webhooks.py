"""Tags for the log of a webhook."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

register = template.Library()


@register.filter
def notice_words(notice: Any) -> str:
    """The outcome of a notice and the number of tries."""
    if notice.delivered_at:
        said = _("answered %(status)s") % {"status": notice.status}
    else:
        said = notice.error or _("waiting to be sent")
    if notice.tries < 2:
        return said
    words = ngettext("%(outcome)s, %(n)s try", "%(outcome)s, %(n)s tries", notice.tries)
    return words % {"outcome": said, "n": notice.tries}
