"""Taking in a framework's template text from a page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from memoryhub.domain import prompts
from memoryhub.errors import HubError
from memoryhub.models import DialectTemplate
from memoryhub.web.access import post_only
from memoryhub.web.notices import done, refused


@post_only("manage")
def import_installed(request: HttpRequest) -> HttpResponse:
    """From the library that is installed beside the hub, for this space."""
    try:
        told(request, prompts.import_installed_template(request.actor, space_id=request.space.pk))
    except HubError as error:
        refused(request, error.message)
    return back(request)


@post_only("manage")
def import_wheel(request: HttpRequest) -> HttpResponse:
    """From a wheel that somebody sent, for this space."""
    wheel = request.FILES.get("wheel")
    try:
        if wheel is None:
            refused(request, "Choose the wheel of deepagents first.")
        else:
            kept = prompts.import_template_wheel(
                wheel, request.actor, space_id=request.space.pk, name=wheel.name or "wheel"
            )
            told(request, kept)
    except HubError as error:
        refused(request, error.message)
    return back(request)


def told(request: HttpRequest, kept: DialectTemplate) -> None:
    known = "It is the published text." if kept.is_known else "It is not a published text; it is used all the same."
    done(request, f"The template of deepagents {kept.version} serves {kept.form}. {known}")


def back(request: HttpRequest) -> HttpResponse:
    """To the agent's prompt settings that the button stood on."""
    return redirect("prompts.settings", request.space.slug, request.POST.get("agent", "-"))
