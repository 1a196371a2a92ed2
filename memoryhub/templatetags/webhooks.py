"""Tags for the log of a webhook."""

from __future__ import annotations

from typing import Any

from django import template

register = template.Library()


@register.filter
def notice_words(notice: Any) -> str:
    """The outcome of a notice and the number of tries."""
    said = f"answered {notice.status}" if notice.delivered_at else notice.error or "waiting to be sent"
    return f"{said}, {notice.tries} tries" if notice.tries > 1 else said
