"""Context processor for the layout of every page: the person's spaces, the counts of the layers, the settings tabs."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest
from django.urls import get_resolver, resolve, reverse
from django.utils.functional import SimpleLazyObject

from memoryhub.domain import spaces
from memoryhub.domain.accounts import may
from memoryhub.domain.activity import counts_of_space

# Key, label and URL name of each tab.
SETTINGS_TABS = [
    ("mounts", "Mounts", "mounts.page"),
    ("sources", "Sources", "sources.page"),
    ("policies", "Rules", "policies.page"),
    ("gate", "Gate", "gate.page"),
    ("retrieval", "Retrieval", "retrieval_settings.page"),
    ("webhooks", "Notices", "webhooks.page"),
    ("imports", "Import", "imports.page"),
    ("quotas", "Usage", "quotas.page"),
    ("erasure", "Erasure", "erasure.page"),
]


def settings_tabs(slug: str, role: str) -> list[dict[str, str]]:
    """The tabs whose pages this role may open."""
    known_tabs = [
        (key, label, reverse(name, args=[slug])) for key, label, name in SETTINGS_TABS if address_exists(name)
    ]
    return [
        {"key": key, "label": label, "url": url}
        for key, label, url in known_tabs
        if may(role, getattr(resolve(url).func, "needs", "read"))
    ]


@cache
def address_exists(name: str) -> bool:
    return bool(get_resolver().reverse_dict.getlist(name))


def page(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    space = getattr(request, "space", None)
    if user is None or not user.is_authenticated:
        return {"space": None, "role": "", "theme": ""}
    context: dict[str, Any] = {
        "space": space,
        "role": getattr(request, "role", ""),
        "theme": user.preferences.get("theme", ""),
        "my_spaces": SimpleLazyObject(lambda: list(spaces.spaces_of_person(user))),
    }
    if space is not None:
        context["counts"] = SimpleLazyObject(lambda: counts_of_space(space))
        context["settings_tabs"] = SimpleLazyObject(lambda: settings_tabs(space.slug, request.role))
    return context
