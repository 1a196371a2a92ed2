"""Importing the template text of a framework."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from memoryhub.domain import jobs, prompts
from memoryhub.errors import HubError
from memoryhub.models import DialectTemplate, Job
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import page_or_part
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


@post_only("manage")
def download(request: HttpRequest) -> HttpResponse:
    """Starts the download of the template that an agent's prompt is made with; leads to its progress."""
    agent = prompts.agent_by_slug(request.space, request.POST.get("agent", ""))
    job = prompts.start_download(request.space, request.actor, prompts.version_to_take(agent))
    address = reverse("templates.progress", args=[request.space.slug, job.pk])
    return redirect(f"{address}?agent={agent.slug}")


@space_page("read", methods=("GET", "HEAD"))
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """How far a download is, and what came of it."""
    job = jobs.get(request.space, pk, prompts.DOWNLOAD_JOB)
    agent = prompts.agent_by_slug(request.space, request.GET.get("agent", ""))
    context = {
        "job": job,
        "agent": agent,
        "is_running": job.state in (Job.WAITING, Job.RUNNING),
        "share": round(100 * job.done / job.total) if job.total else 5,
    }
    return page_or_part(request, "templates/page.html", "templates/_progress.html", context)


def report_import(request: HttpRequest, template: DialectTemplate) -> None:
    remark = (
        "It is the published text." if template.is_known else "It is not a published text; it is used all the same."
    )
    done(request, f"The template of deepagents {template.version} serves {template.form}. {remark}")


def redirect_to_settings(request: HttpRequest) -> HttpResponse:
    """Leads back to the prompt settings of the agent in the form."""
    return redirect("prompts.settings", request.space.slug, request.POST.get("agent", "-"))
