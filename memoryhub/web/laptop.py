"""The coding agents of the machine that the hub runs on, for whoever runs it and sits at it: what `memoryhub laptop` does, as a page."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from memoryhub.dialects import coding
from memoryhub.domain import contexts
from memoryhub.domain.coding_agents import FoundAgent, folders_to_show, short_path
from memoryhub.errors import Forbidden, HubError
from memoryhub.requests import from_loopback
from memoryhub.web.access import signed_in
from memoryhub.web.helpers import clean_text
from memoryhub.web.notices import done, refused

MAX_NAMED = 20


def is_offered(request: HttpRequest) -> bool:
    """Whether this person runs the hub and sits at its machine: elsewhere its home is not theirs to look into."""
    return bool(request.user.is_hub_owner) and from_loopback(request.META) and _is_local(request.get_host())


def _is_local(host: str) -> bool:
    """Whether a browser that asked for this host asked its own machine."""
    name = urlsplit(f"//{host}").hostname or ""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _require_own_machine(request: HttpRequest) -> None:
    if request.user.is_hub_owner and not is_offered(request):  # others are refused by the domain
        raise Forbidden(
            _("Open the hub on the machine that it runs on, at 127.0.0.1, to show that machine's coding agents.")
        )


@signed_in
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """What is found and what would be shown. Nothing is made."""
    _require_own_machine(request)
    named = [name for one in request.GET.getlist("project")[:MAX_NAMED] if (name := clean_text(one).strip())]
    try:
        offer = contexts.find_laptop(request.actor, named)
    except HubError as error:
        return show_offer(request, contexts.find_laptop(request.actor), status=422, error=error, typed=named[-1])
    return show_offer(request, offer, named=named)


def show_offer(request: HttpRequest, offer: contexts.Offer, *, status: int = 200, **more: Any) -> HttpResponse:
    context: dict[str, Any] = {"offer": offer, "home": offer.home, "count": len(offer.new), **more}
    context["agents"] = [(coding.agent(one.agent), one, short_path(one.home or "", offer.home)) for one in offer.agents]
    context["folders"] = [row(offer, path, agent_words(offer, path)) for path in offer.folders]
    context["projects"] = [row(offer, path, project_words(offer.agents, path)) for path in offer.projects]
    return render(request, "laptop/page.html", context, status=status)


def row(offer: contexts.Offer, path: str, says: str) -> dict[str, Any]:
    return {"path": path, "short": short_path(path, offer.home), "says": says, "is_shown": path in offer.mounted}


def agent_words(offer: contexts.Offer, path: str) -> str:
    names = [coding.agent(one.agent).title for one in offer.agents if path in folders_to_show([one])]
    return _("Memory and documents of %(agent)s; no sessions, keys or settings.") % {"agent": ", ".join(names)}


def project_words(agents: list[FoundAgent], path: str) -> str:
    """Which agents load how many memory files in a project."""
    loaded: dict[str, int] = {}
    for one in agents:
        of_project = [file for project in one.projects if project.path == path for file in project.files]
        if count := sum(file.kind != "ignored" for file in of_project):
            loaded[coding.agent(one.agent).title] = count
    return ", ".join(
        ngettext("%(agent)s loads %(n)d file", "%(agent)s loads %(n)d files", count) % {"agent": name, "n": count}
        for name, count in loaded.items()
    )


@require_POST
@signed_in
def show(request: HttpRequest) -> HttpResponse:
    """Makes the space of what was ticked, and opens it."""
    _require_own_machine(request)
    named = [clean_text(one) for one in request.POST.getlist("project")[:MAX_NAMED]]
    offer = contexts.find_laptop(request.actor, named)
    try:
        shown = contexts.show_chosen(request.actor, offer, [clean_text(one) for one in request.POST.getlist("show")])
    except HubError as error:
        return show_offer(request, offer, status=error.status, error=error, named=named)
    for directory, why in shown.refused:
        refused(request, f"{short_path(directory, offer.home)}: {why}")
    words = ngettext("%(n)d folder is shown.", "%(n)d folders are shown.", len(shown.mounts))
    done(request, words % {"n": len(shown.mounts)})
    return redirect("contexts.page", shown.space.slug)
