"""Names of roles."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext_lazy

register = template.Library()
ROLES = {
    "viewer": gettext_lazy("viewer"), "editor": gettext_lazy("editor"), "reviewer": gettext_lazy("reviewer"),
    "owner": gettext_lazy("owner"),
}  # fmt: skip


@register.filter
def role_name(role: str) -> str:
    """A role as it stands in a sentence."""
    return str(ROLES.get(role, role))
