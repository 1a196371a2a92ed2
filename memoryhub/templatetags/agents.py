"""Tags for agents: tokens of prompts, deliveries, and the light of one that is being connected."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.defaultfilters import truncatechars
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memoryhub.dialects import AUTO
from memoryhub.templatetags.hub import ago

register = template.Library()


@register.simple_tag
def of_budget(tokens: int, budget: int | None) -> str:
    """1,204 of 4,000, or only the number without a budget."""
    if not budget:
        return f"{tokens:,}"
    return _("%(tokens)s of %(budget)s") % {"tokens": f"{tokens:,}", "budget": f"{budget:,}"}


@register.simple_tag
def dialect_note(agent: Any, has_called: bool) -> str:
    """Where the dialect of an agent's prompt comes from."""
    if agent.dialect != AUTO:
        set_to = _("set to %(dialect)s") % {"dialect": agent.dialect} if agent.asks_for_another else _("fixed")
        return set_to if has_called else _("%(set_to)s; no call yet") % {"set_to": set_to}
    if agent.asked_dialect:
        return _("auto: as its last call asked")
    if has_called:
        return _("auto: its calls name none")
    shown = agent.own_dialect
    if (agent.reported or {}).get("version") and shown.family != "hub":
        return _("no call yet; shown as %(dialect)s, which its client reported") % {"dialect": shown.label}
    return _("no call yet; shown as %(dialect)s") % {"dialect": shown.label}


@register.simple_tag
def fetched_words(delivery: Any) -> SafeString | str:
    """The last delivery in a few words, or that there was none."""
    if not delivery:
        return _("not connected yet")
    thread = truncatechars(delivery.thread_id, 24)
    when = format_html(_("{when}, {thread}") if thread else "{when}", when=ago(delivery.last_at), thread=thread)
    return format_html(_("fetched {when}"), when=when)


@register.filter
def delivery_words(delivered: Any) -> str:
    """Thread and dialect of a delivered prompt."""
    if not delivered.thread_id:
        return _("It got this prompt, wrapped as %(dialect)s") % {"dialect": delivered.dialect}
    values = {"thread": truncatechars(delivered.thread_id, 40), "dialect": delivered.dialect}
    return _("It got this prompt on thread %(thread)s, wrapped as %(dialect)s") % values
