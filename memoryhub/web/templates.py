"""Importing the template text of a framework."""

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
    """Imports the template for this space from the library that is installed with the hub."""
    try:
        report_import(request, prompts.import_installed_template(request.actor, space_id=request.space.pk))
    except HubError as error:
        refused(request, error.message)
    return redirect_to_settings(request)


@post_only("manage")
def import_wheel(request: HttpRequest) -> HttpResponse:
    """Imports the template for this space from an uploaded wheel."""
    wheel = request.FILES.get("wheel")
    try:
        if wheel is None:
            refused(request, "Choose the wheel of deepagents first.")
        else:
            template = prompts.import_template_wheel(
                wheel, request.actor, space_id=request.space.pk, name=wheel.name or "wheel"
            )
            report_import(request, template)
    except HubError as error:
        refused(request, error.message)
    return redirect_to_settings(request)


def report_import(request: HttpRequest, template: DialectTemplate) -> None:
    remark = (
        "It is the published text." if template.is_known else "It is not a published text; it is used all the same."
    )
    done(request, f"The template of deepagents {template.version} serves {template.form}. {remark}")


def redirect_to_settings(request: HttpRequest) -> HttpResponse:
    """Leads back to the prompt settings of the agent in the form."""
    return redirect("prompts.settings", request.space.slug, request.POST.get("agent", "-"))
