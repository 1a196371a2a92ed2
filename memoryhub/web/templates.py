"""The template text of a framework: an agent's own, and importing it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.domain import jobs, prompts
from memoryhub.errors import HubError
from memoryhub.models import DialectTemplate, Job
from memoryhub.web import editor
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import page_or_part, typed_text
from memoryhub.web.notices import done, refused


@space_page("manage", methods=("GET", "HEAD"))
def own(request: HttpRequest, agent: str) -> HttpResponse:
    """The editor with an agent's own template."""
    return editor.show_editor(request, editor.of_template(request, agent))


@post_only("manage")
def change(request: HttpRequest, agent: str) -> HttpResponse:
    """Saves an agent's own template; its other settings stay. An empty one gives way to the library's."""
    one, text = prompts.agent_by_slug(request.space, agent), typed_text(request)
    try:
        prompts.change_settings(
            one, request.actor, budget=one.budget, gives_way=one.gives_way, memory_is_on=one.memory_is_on, template=text
        )
    except HubError as error:
        opened = editor.of_template(request, agent)
        return editor.show_editor(request, opened, status=error.status, content=text, error=error)
    done(request, _("The template is saved. The next prompt is made with it."))
    return redirect("prompts.settings", request.space.slug, one.slug)


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
            refused(request, _("Choose the wheel of deepagents first."))
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
    version = prompts.version_to_take(agent, request.POST.get("dialect", ""))
    job = prompts.start_download(request.space, request.actor, version)
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
    words = _("The template of deepagents %(version)s is used for %(form)s. It differs from the published text.")
    if template.is_known:
        words = _("The template of deepagents %(version)s is used for %(form)s. It is the published text.")
    done(request, words % {"version": template.version, "form": template.form})


def redirect_to_settings(request: HttpRequest) -> HttpResponse:
    """Leads back to the prompt settings of the agent in the form."""
    return redirect("prompts.settings", request.space.slug, request.POST.get("agent", "-"))
