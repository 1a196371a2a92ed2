"""Context processor for the layout of every page: the person's spaces, the counts of the layers, the settings tabs."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest
from django.urls import get_resolver, resolve, reverse
from django.utils.functional import SimpleLazyObject

from memoryhub.domain import proposals, spaces
from memoryhub.domain.accounts import may
from memoryhub.domain.activity import counts_of_space
from memoryhub.models import Actor, Space
from memoryhub.web.access import second_factor_missing

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


# Pages outside any space that keep the sidebar of the space one was in last.
KEEP_SIDEBAR = ("account.", "shortcuts.", "second_factor.")


def space_of_sidebar(request: HttpRequest) -> tuple[Space | None, str]:
    """The space of the page and the role in it; on pages about oneself, the space one was in last, if it may be shown."""
    if (space := getattr(request, "space", None)) is not None:
        return space, getattr(request, "role", "")
    match = request.resolver_match
    if match is None or not str(match.url_name).startswith(KEEP_SIDEBAR):
        return None, ""
    last, role = spaces.last_of_person(request.user)
    return (last, role) if last and not second_factor_missing(request, last) else (None, "")


def count_to_decide(request: HttpRequest, space: Space, role: str, waiting: int) -> int:
    """How many of the waiting proposals this person may decide on."""
    if not waiting or not may(role, "decide"):
        return 0
    return proposals.count_to_decide(space, Actor.of_person(request.user, role), waiting)


def page(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"space": None, "role": "", "theme": ""}
    space, role = space_of_sidebar(request)
    context: dict[str, Any] = {
        "space": space,
        "role": role,
        "theme": user.preferences.get("theme", ""),
        "my_spaces": SimpleLazyObject(lambda: list(spaces.spaces_of_person(user))),
    }
    if space is not None:
        # A view that counted already leaves its counts at the request.
        counts: Any = getattr(request, "counts", None) or SimpleLazyObject(lambda: counts_of_space(space))
        context["counts"] = counts
        context["to_decide"] = SimpleLazyObject(lambda: count_to_decide(request, space, role, counts.proposals))
        context["settings_tabs"] = SimpleLazyObject(lambda: settings_tabs(space.slug, role))
    return context
