"""Sources: which files are injected into prompts, and in which order."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.domain import prompts
from memoryhub.errors import HubError, Invalid
from memoryhub.models import Agent
from memoryhub.templatetags.files import page_address
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import done


def chosen_agent(request: HttpRequest) -> Agent | None:
    slug = request.POST.get("agent") or request.GET.get("agent")
    return prompts.agent_by_slug(request.space, slug) if slug else None


def show(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    agent = chosen_agent(request)
    rows = prompts.check_sources(request.space, prompts.sources_of(request.space, agent))
    context = {"agent": agent, "agents": prompts.agents_of_space(request.space), "rows": rows, **more}
    return render(request, "sources/page.html", context, status=status)


def redirect_to_sources(request: HttpRequest, agent: Agent | None) -> HttpResponse:
    url = reverse("sources.page", args=[request.space.slug])
    return HttpResponseRedirect(url + (f"?agent={agent.slug}" if agent else ""), status=303)


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@post_only("manage")
def add(request: HttpRequest) -> HttpResponse:
    agent, path = chosen_agent(request), request.POST.get("path", "")
    try:
        source = prompts.add_source(
            request.space, request.actor, path, agent=agent, must_be_mounted="confirm" not in request.POST
        )
    except HubError as error:
        can_confirm = error.code in ("no_mount", "left_out")
        return show(request, status=error.status, error=error, typed=path, can_confirm=can_confirm)
    done(request, f"{source.shown} is a source now.")
    return redirect_to_sources(request, agent)


@post_only("manage")
def choose(request: HttpRequest) -> HttpResponse:
    """Puts the ticked of the shown files into every prompt, and takes the others out."""
    shown, chosen = request.POST.getlist("shown"), request.POST.getlist("file")
    changed = prompts.choose_sources(request.space, request.actor, shown, chosen)
    for path in changed[:1]:
        place = _("in every prompt") if path in chosen else _("out of every prompt")
        more = len(changed) - 1
        said = {"path": path, "place": place, "more": more}
        done(
            request, _("%(path)s and %(more)d more changed.") % said if more else _("%(path)s is now %(place)s.") % said
        )
    back = page_address(request.space.slug, shown[0]) if request.POST.get("back") == "file" and shown else ""
    return HttpResponseRedirect(back or request.space.get_absolute_url(), status=303)


@post_only("manage")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    source = prompts.get_source(request.space, pk)
    prompts.remove_source(request.space, request.actor, pk)
    done(request, f"{source.shown} is no source any more; the file stays.")
    return redirect_to_sources(request, source.agent)


@post_only("manage")
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    source = prompts.switch_source(request.space, request.actor, pk, request.POST.get("on") == "yes")
    done(request, f"{source.shown} is {'on' if source.is_on else 'off'}.")
    return redirect_to_sources(request, source.agent)


@post_only("manage")
def reorder(request: HttpRequest, pk: int) -> HttpResponse:
    to = request.POST.get("to", "")
    if not to.isdigit() or len(to) > 4:
        raise Invalid("A place in the list is a number.", code="invalid")
    source = prompts.reorder_source(request.space, request.actor, pk, int(to))
    done(request, f"{source.shown} has another place.")
    return redirect_to_sources(request, source.agent)


@post_only("manage")
def take_over(request: HttpRequest) -> HttpResponse:
    agent, text = chosen_agent(request), request.POST.get("config", "")
    try:
        config = prompts.read_configuration(text)
        made = prompts.take_over_configuration(request.space, request.actor, config, agent=agent, prompt_of=agent)
    except HubError as error:
        return show(request, status=error.status, error=error, config=text)
    done(request, taken_over(config, len(made), agent))
    return redirect_to_sources(request, agent)


def taken_over(config: prompts.Configuration, sources: int, agent: Agent | None) -> str:
    """What was taken from a configuration, and what was not."""
    says = []
    if config.memory_files is not None:
        says.append(ngettext("%d source was taken.", "%d sources were taken.", sources) % sources)
    if config.react_prompt is not None and agent:
        says.append(_("The base prompt of %s was replaced.") % agent.name)
    left = [*(["react_prompt"] if config.react_prompt is not None and not agent else []), *config.other]
    if left:
        says.append(_("Not taken: %s.") % ", ".join(left))
    if config.react_prompt is not None and not agent:
        says.append(_("To take react_prompt as a base prompt, choose an agent first."))
    return " ".join(says)
