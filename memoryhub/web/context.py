"""What the frame around every page shows: the spaces to switch to, the layers' counts, what waits, who I am."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest
from django.urls import get_resolver, resolve, reverse
from django.utils.functional import SimpleLazyObject

from memoryhub.domain import spaces
from memoryhub.domain.accounts import may
from memoryhub.domain.activity import counts_of_space

# What a space sets, beside its own page and its people: key of the tab, word, name of its address.
SETTINGS_TABS = [
    ("mounts", "Mounts", "mounts.page"),
    ("sources", "Sources", "sources.page"),
    ("policies", "Rules", "policies.page"),
    ("gate", "Gate", "gate.page"),
    ("webhooks", "Notices", "webhooks.page"),
    ("imports", "Import", "imports.page"),
]


def settings_tabs(slug: str, role: str) -> list[dict[str, str]]:
    """The tabs whose door this role may pass."""
    known_tabs = [(key, label, reverse(name, args=[slug])) for key, label, name in SETTINGS_TABS if known(name)]
    return [
        {"key": key, "label": label, "url": url}
        for key, label, url in known_tabs
        if may(role, getattr(resolve(url).func, "needs", "read"))
    ]


@cache
def known(name: str) -> bool:
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
