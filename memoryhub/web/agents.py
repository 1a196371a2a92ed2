"""Pages of agents: the list, one agent, and changes to it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub import dialects
from memoryhub.domain import accounts, prompts
from memoryhub.errors import HubError
from memoryhub.forms import AgentForm, NewAgentForm, TokenForm
from memoryhub.models import Agent
from memoryhub.web import connect, frameworks
from memoryhub.web.access import post_only, space_page
from memoryhub.web.login import safe_next
from memoryhub.web.notices import done

PAGE = 100
SHOWN_THREADS = 20  # on older memory
SHOWN_SOURCES = 10
SWITCHES = {
    "is_on": (gettext_lazy("%(name)s is switched off."), gettext_lazy("%(name)s is switched on.")),
    "memory_is_on": (gettext_lazy("The memory of %(name)s is off."), gettext_lazy("The memory of %(name)s is on.")),
}
FORM_FIELDS = ("name", "description", "dialect", "system_prompt", "persona")


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").replace("\x00", "").strip()
    after = request.GET.get("after", "").replace("\x00", "")
    rows, following = prompts.agent_rows(request.space, words=words, after=after, limit=PAGE)
    context = {
        "rows": prompts.rows_with_tokens(request.space, rows),
        "next": following,
        "words": words,
        **behind_values(rows),
        "sizes": prompts.prompt_sizes(request.space, [row.agent for row in rows]),
        **source_rows(request),
    }
    part = request.htmx and not request.htmx.boosted
    return render(request, "agents/_table.html" if part else "agents/page.html", context)


def behind_values(rows: list[prompts.AgentRow]) -> dict[str, object]:
    """The newest threads on older memory, and how many more there are."""
    shown = prompts.threads_behind(rows)[:SHOWN_THREADS]
    return {"behind": shown, "more_behind": sum(row.behind for row in rows) - len(shown)}


def source_rows(request: HttpRequest, agent: Agent | None = None) -> dict[str, object]:
    rows, more = prompts.listed_sources(request.space, agent)
    return {"sources": rows, "more_sources": more}


@space_page("manage")
def create(request: HttpRequest) -> HttpResponse:
    """The form; sent, the page with the lines to copy. That answers the POST itself, as a secret is never shown twice."""
    form = NewAgentForm(request.POST or None)
    chosen = frameworks.framework_of(request.POST.get("framework") or request.GET.get("framework"))
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data | {"dialect": form.cleaned_data["dialect"] or chosen.dialect}
        try:
            agent, token, secret = prompts.connect_agent(request.space, request.actor, **values)
        except HubError as error:
            form.refuse(error)
        else:
            return connect.show(request, agent, secret=secret, token=token)
    more = any(form.errors.get(name) or request.POST.get(name) for name in FORM_FIELDS if name != "name")
    context = {
        "form": form,
        "frameworks": frameworks.FRAMEWORKS,
        "chosen": chosen,
        "more_open": more,
        "sources": prompts.sources_of(request.space)[:SHOWN_SOURCES],
    }
    return render(request, "agents/create.html", context, status=422 if form.errors else 200)


def show(request: HttpRequest, agent: Agent, *, status: int = 200, **more: object) -> HttpResponse:
    row = prompts.agent_row(request.space, agent)
    context = {
        "agent": agent,
        "row": row,
        "tokens": list(accounts.tokens_of_space(request.space, agent=agent)[:50]),
        **behind_values([row]),
        "sizes": prompts.prompt_sizes(request.space, [agent]),
        **source_rows(request, agent),
        "form": AgentForm(initial={key: getattr(agent, key) for key in FORM_FIELDS}),
        "token_form": TokenForm(),
        **more,
    }
    return render(request, "agents/detail.html", context, status=status)


@space_page("read", methods=("GET", "HEAD"))
def detail(request: HttpRequest, agent: str) -> HttpResponse:
    return show(request, prompts.agent_by_slug(request.space, agent))


@post_only("manage")
def change(request: HttpRequest, agent: str) -> HttpResponse:
    """Changes the fields of the form, or turns one of the two switches."""
    one = prompts.agent_by_slug(request.space, agent)
    if (request.POST.get("switch") or request.GET.get("switch")) in SWITCHES:
        return turn_switch(request, one)
    form = AgentForm(request.POST, initial={"dialect": one.dialect})
    if form.is_valid():
        try:
            prompts.change_agent(one, request.actor, **form.cleaned_data)
        except HubError as error:
            form.refuse(error)
    if form.errors:
        return show(request, one, status=422, form=form)
    done(request, _("Saved. The next prompt uses this."))
    return redirect("agents.detail", request.space.slug, one.slug)


def turn_switch(request: HttpRequest, agent: Agent) -> HttpResponse:
    """Turns one switch of an agent; the notice offers to undo it."""
    asked = request.POST if "switch" in request.POST else request.GET
    switch, to = asked["switch"], asked.get("to") == "on"
    prompts.change_agent(agent, request.actor, **{switch: to})
    undo = f"{request.path}?switch={switch}&to={'off' if to else 'on'}"
    done(request, SWITCHES[switch][to] % {"name": agent.name}, undo=undo)
    return redirect("agents.detail", request.space.slug, agent.slug)


@post_only("manage")
def set_auto(request: HttpRequest, agent: str) -> HttpResponse:
    """Sets the dialect to `auto`, so that what is shown is what the agent asks for; leads back to the page of the button."""
    one = prompts.agent_by_slug(request.space, agent)
    prompts.change_agent(one, request.actor, dialect=dialects.AUTO)
    done(request, _("The dialect of %(name)s is now auto: the one it asks for.") % {"name": one.name})
    return redirect(safe_next(request, reverse("agents.detail", args=[request.space.slug, one.slug])))


@post_only("manage")
def delete(request: HttpRequest, agent: str) -> HttpResponse:
    one = prompts.agent_by_slug(request.space, agent)
    if request.POST.get("confirm") != one.slug:
        return show(request, one, status=422, delete_error=_("Type %(slug)s to confirm.") % {"slug": one.slug})
    prompts.delete_agent(one, request.actor)
    done(
        request,
        _("%(name)s and its tokens are deleted. Its proposals and records stay under its name.") % {"name": one.name},
    )
    return redirect("agents.page", request.space.slug)
