"""Context processor for the layout of every page: the person's spaces, the counts of the layers, the list of settings."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest
from django.urls import resolve, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from memoryhub.domain import proposals, spaces
from memoryhub.domain.accounts import may
from memoryhub.domain.activity import counts_of_waiting
from memoryhub.models import Actor, Space
from memoryhub.web.access import second_factor_missing

# Groups of the list beside the settings: label, URL name, and the nouns of addresses that belong to the page.
SETTINGS = (
    (_("Space"), (
        (_("General"), "spaces.settings", ("spaces",)),
        (_("Files and access"), "files_access.page", ("files_access", "mounts", "sources", "policies", "disk")),
        (_("Gate"), "gate.page", ("gate", "judge")),
        (_("Retrieval"), "retrieval_settings.page", ("retrieval_settings",)),
        (_("Usage and limits"), "quotas.page", ("quotas",)),
    )),
    (_("People"), (
        (_("Members"), "people.page", ("people",)),
    )),
    (_("Outside"), (
        (_("Notifications"), "webhooks.page", ("webhooks",)),
        (_("Import"), "imports.page", ("imports",)),
    )),
    (_("Other"), (
        (_("Erasure"), "erasure.page", ("erasure",)),
    )),
)  # fmt: skip


def settings_nav(request: HttpRequest, slug: str, role: str) -> list[dict[str, Any]]:
    """The groups of settings pages that this role may open, and which page this is."""
    match = request.resolver_match
    noun = str(match.url_name).partition(".")[0] if match else ""
    groups = []
    for label, pages in SETTINGS:
        listed = [
            {"label": name, "url": reverse(url_name, args=[slug]), "is_current": noun in nouns}
            for name, url_name, nouns in pages
            if may(role, needed_for(url_name))
        ]
        if listed:
            groups.append({"label": label, "pages": listed})
    return groups


@cache
def needed_for(url_name: str) -> str:
    """What a role must be allowed to open a page of a space."""
    return str(getattr(resolve(reverse(url_name, args=["x"])).func, "needs", "read"))


SPACES_IN_MENU = 30  # others are behind "All spaces": a thousand of them made each page take twice as long
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
        "my_spaces": SimpleLazyObject(lambda: spaces.spaces_in_menu(user, SPACES_IN_MENU)),
    }
    if space is not None:
        # A view that counted already leaves its counts at the request.
        counts: Any = getattr(request, "counts", None) or SimpleLazyObject(lambda: counts_of_waiting(space))
        context["counts"] = counts
        context["to_decide"] = SimpleLazyObject(lambda: count_to_decide(request, space, role, counts.proposals))
        context["settings_nav"] = SimpleLazyObject(lambda: settings_nav(request, space.slug, role))
    return context
