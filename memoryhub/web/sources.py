"""Sources: which files are injected into prompts, and in which order. They stand on the page of files and access."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.domain import prompts
from memoryhub.errors import HubError, Invalid
from memoryhub.languages import translated
from memoryhub.models import Agent
from memoryhub.templatetags.files import page_address
from memoryhub.web import files_access
from memoryhub.web.access import post_only, space_page
from memoryhub.web.files_access import chosen_agent
from memoryhub.web.helpers import parse_number
from memoryhub.web.notices import done


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """The address of earlier versions."""
    return back(request, chosen_agent(request))


def back(request: HttpRequest, agent: Agent | None) -> HttpResponse:
    return files_access.back(request, "sources", agent=agent.slug if agent else None)


@post_only("manage")
def add(request: HttpRequest) -> HttpResponse:
    agent, path = chosen_agent(request), request.POST.get("path", "")
    try:
        source = prompts.add_source(
            request.space, request.actor, path, agent=agent, must_be_mounted="confirm" not in request.POST
        )
    except HubError as error:
        can_confirm = error.code in ("no_mount", "left_out")
        return files_access.show(
            request,
            status=error.status,
            source_error=translated(error.message),
            typed_source=path,
            can_confirm=can_confirm,
        )
    done(request, _("%(path)s is a source now.") % {"path": source.shown})
    return back(request, agent)


@post_only("manage")
def choose(request: HttpRequest) -> HttpResponse:
    """Puts the ticked of the shown files into every prompt, and takes the others out."""
    shown, chosen = request.POST.getlist("shown"), request.POST.getlist("file")
    changed = prompts.choose_sources(request.space, request.actor, shown, chosen)
    for path in changed[:1]:
        more = len(changed) - 1
        words = _("%(path)s is now in every prompt.") if path in chosen else _("%(path)s is no longer in every prompt.")
        if more:
            words = ngettext("%(path)s and %(more)s more changed.", "%(path)s and %(more)s more changed.", more)
        done(request, words % {"path": path, "more": more})
    back = page_address(request.space.slug, shown[0]) if request.POST.get("back") == "file" and shown else ""
    return HttpResponseRedirect(back or request.space.get_absolute_url(), status=303)


@post_only("manage")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    source = prompts.get_source(request.space, pk)
    prompts.remove_source(request.space, request.actor, pk)
    done(request, _("%(path)s is no longer a source; the file stays.") % {"path": source.shown})
    return back(request, source.agent)


@post_only("manage")
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    source = prompts.switch_source(request.space, request.actor, pk, request.POST.get("on") == "yes")
    message = _("%(path)s is on.") if source.is_on else _("%(path)s is off.")
    done(request, message % {"path": source.shown})
    return back(request, source.agent)


@post_only("manage")
def reorder(request: HttpRequest, pk: int) -> HttpResponse:
    to = parse_number(request.POST.get("to"))
    if to is None or to > 9999:
        raise Invalid(_("A place in the list is a number."), code="invalid")
    return back(request, prompts.reorder_source(request.space, request.actor, pk, to).agent)


@post_only("manage")
def take_over(request: HttpRequest) -> HttpResponse:
    agent, text = chosen_agent(request), request.POST.get("config", "")
    try:
        config = prompts.read_configuration(text)
        made = prompts.take_over_configuration(request.space, request.actor, config, agent=agent, prompt_of=agent)
    except HubError as error:
        return files_access.show(request, status=error.status, config_error=translated(error.message), config=text)
    done(request, taken_over(config, len(made), agent))
    return back(request, agent)


def taken_over(config: prompts.Configuration, sources: int, agent: Agent | None) -> str:
    """What was taken from a configuration, and what was not."""
    says = []
    if config.memory_files is not None:
        says.append(ngettext("%(n)s source imported.", "%(n)s sources imported.", sources) % {"n": sources})
    if config.react_prompt is not None and agent:
        says.append(_("The base prompt of %(agent)s was replaced.") % {"agent": agent.name})
    left = [*(["react_prompt"] if config.react_prompt is not None and not agent else []), *config.other]
    if left:
        says.append(_("Not imported: %(names)s.") % {"names": ", ".join(left)})
    if config.react_prompt is not None and not agent:
        says.append(_("To import react_prompt as a base prompt, choose an agent first."))
    return " ".join(says)
