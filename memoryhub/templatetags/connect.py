"""Tags for connecting an agent."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.defaultfilters import truncatechars

register = template.Library()


@register.filter
def delivery_words(delivered: Any) -> str:
    """Thread and dialect of a delivered prompt."""
    thread = f" on thread {truncatechars(delivered.thread_id, 40)}" if delivered.thread_id else ""
    return f"It got this prompt{thread}, wrapped as {delivered.dialect}"
