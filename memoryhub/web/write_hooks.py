"""Writes of coding agents before they land: which agents ask first, and the hook in their settings."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from memoryhub.dialects import coding
from memoryhub.domain import coding_agents, files, write_hooks
from memoryhub.errors import HubError, NotFound
from memoryhub.text.diff import compare
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text
from memoryhub.web.notices import done


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """Each agent with when the hub hears of its writes, and the settings into which the hook can be put."""
    return show(request)


def show(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    asking = {one.agent for one in coding_agents.HOOKS.values()} | {"opencode"}
    space, places = request.space, write_hooks.places(request.space, request.actor)
    context = {
        "places": [(one, compare(*one.texts)) for one in places], "waiting": write_hooks.take_in_pending(space),
        "found_after": write_hooks.seconds_until_found(space), "asking": [coding.agent(name) for name in sorted(asking)],
        "others": [one for one in coding.agents().values() if one.name not in asking],
        "is_held": any(one.space_id == space.pk for one in files.held_mounts()), **more,
    }  # fmt: skip
    return render(request, "write_hooks/page.html", context, status=status)


@post_only("manage")
def install(request: HttpRequest) -> HttpResponse:
    """Puts the hook into settings as it was shown."""
    try:
        place = write_hooks.install(request.space, request.actor, **chosen(request))
    except NotFound:
        raise
    except HubError as error:
        return show(request, status=error.status, error=error)
    done(request, _("%(path)s runs the hook. The file before is kept beside it.") % {"path": place.path})
    return redirect("write_hooks.page", request.space.slug)


@post_only("manage")
def uninstall(request: HttpRequest) -> HttpResponse:
    """Takes the hook out of settings."""
    try:
        place = write_hooks.uninstall(request.space, request.actor, **chosen(request))
    except NotFound:
        raise
    except HubError as error:
        return show(request, status=error.status, error=error)
    done(request, _("%(path)s no longer runs the hook.") % {"path": place.path})
    return redirect("write_hooks.page", request.space.slug)


def chosen(request: HttpRequest) -> dict[str, str]:
    """The settings that a form names, as the person saw them."""
    return {name: clean_text(request.POST.get(name, "")) for name in ("program", "key", "seen")}
