"""Tags for connecting an agent."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.defaultfilters import truncatechars
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def delivery_words(delivered: Any) -> str:
    """Thread and dialect of a delivered prompt."""
    if not delivered.thread_id:
        return _("It got this prompt, wrapped as %(dialect)s") % {"dialect": delivered.dialect}
    said = {"thread": truncatechars(delivered.thread_id, 40), "dialect": delivered.dialect}
    return _("It got this prompt on thread %(thread)s, wrapped as %(dialect)s") % said
