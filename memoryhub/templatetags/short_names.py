"""Short names that the domain says in English: roles, kinds of findings, reasons of rejections."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext_lazy as _

register = template.Library()
NAMES = {
    "viewer": _("viewer"), "editor": _("editor"), "reviewer": _("reviewer"), "owner": _("owner"),
    "secret, removed": _("secret, removed"), "hidden characters": _("hidden characters"), "injection": _("injection"),
    "incoherent": _("incoherent"), "needs attention": _("needs attention"), "duplicate": _("duplicate"),
    "from memory": _("from memory"), "retrieval output": _("retrieval output"), "transient": _("transient"), "vague": _("vague"),
    "too costly to check": _("too costly to check"), "waits for the judge": _("waits for the judge"),
    "wrong": _("wrong"), "secret": _("secret"), "belongs elsewhere": _("belongs elsewhere"), "too vague": _("too vague"),
    "hidden": _("hidden"), "secrets": _("secrets"), "risky advice": _("risky advice"),
    "held": _("held"), "admitted": _("admitted"), "promoted": _("promoted"), "discarded": _("discarded"),
}  # fmt: skip


@register.filter
def short_name(name: str) -> str:
    """A short name in the language of the page; what is none comes back as it is."""
    return str(NAMES.get(name, name))
