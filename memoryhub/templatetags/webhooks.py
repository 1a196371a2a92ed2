"""What the log of a webhook says about each notice."""

from __future__ import annotations

from typing import Any

from django import template

register = template.Library()


@register.filter
def notice_words(notice: Any) -> str:
    """What became of a notice, and after how many tries."""
    said = f"answered {notice.status}" if notice.delivered_at else notice.error or "waiting to be sent"
    return f"{said}, {notice.tries} tries" if notice.tries > 1 else said
