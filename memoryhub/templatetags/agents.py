"""Tags for agents: tokens of prompts, deliveries."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.defaultfilters import truncatechars
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memoryhub.dialects import AUTO
from memoryhub.templatetags.hub import ago

register = template.Library()


@register.simple_tag
def of_budget(tokens: int, budget: int | None) -> str:
    """1,204 of 4,000, or only the number without a budget."""
    return f"{tokens:,} of {budget:,}" if budget else f"{tokens:,}"


@register.simple_tag
def dialect_note(agent: Any, has_called: bool) -> str:
    """Where the dialect of an agent's prompt comes from."""
    if agent.dialect != AUTO:
        set_to = f"set to {agent.dialect}" if agent.asks_for_another else "fixed"
        return set_to if has_called else f"{set_to}; no call yet"
    if agent.asked_dialect:
        return "auto: as its last call asked"
    shown = agent.own_dialect
    if has_called:
        return "auto: its calls name none"
    reported = ", which its client reported" if (agent.reported or {}).get("version") and shown.family != "hub" else ""
    return f"no call yet; shown as {shown.label}{reported}"


@register.simple_tag
def last_fetched(delivery: Any) -> SafeString | str:
    """When an agent fetched its prompt last, and for which thread."""
    return _fetched(delivery, delivery.thread_id) if delivery else "never"


@register.simple_tag
def fetched_words(delivery: Any) -> SafeString | str:
    """The last delivery in a few words, or that there was none."""
    if not delivery:
        return "not connected yet"
    return format_html("fetched {}", _fetched(delivery, truncatechars(delivery.thread_id, 24)))


def _fetched(delivery: Any, thread: str) -> SafeString:
    return format_html("{}{}", ago(delivery.last_at), f", {thread}" if thread else "")
