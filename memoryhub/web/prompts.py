"""The preview: what exactly an agent gets, where every byte came from, and what it got before."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from memoryhub import dialects
from memoryhub.domain import files, prompts
from memoryhub.domain.prompts import PromptRequest
from memoryhub.errors import HubError, NotFound
from memoryhub.forms import PromptSettingsForm
from memoryhub.models import Agent, Proposal
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import done
from memoryhub.web.prompt_view import View

PLAIN = "text/plain; charset=utf-8"
PAGE = 100


@space_page("read", methods=("GET", "HEAD"))
def start(request: HttpRequest) -> HttpResponse:
    """The prompts of a space: the first agent's, or how to make one."""
    first = prompts.agents_of_space(request.space).first()
    if first is None:
        return render(request, "prompts/empty.html")
    return redirect("prompts.page", request.space.slug, first.slug)


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest, agent: str) -> HttpResponse:
    """The whole page; htmx gets the part below the pickers."""
    if elsewhere := another_agent(request, agent) or with_zone(request, "at"):
        return redirect(elsewhere)
    one = prompts.agent_by_slug(request.space, agent)
    context: dict[str, Any] = {
        "agent": one,
        "get": asked_words(request),
        "agents": list(prompts.agents_of_space(request.space)),
    }
    status = 200
    try:
        at = asked_for(request).at
        context |= {"at": at, "at_field": in_field(at)}
        context |= shown(request, one)
    except HubError as error:
        context["error"], status = error, error.status
    context["dialects"] = choices(one, context["get"]["dialect"])
    part = request.htmx and not request.htmx.boosted
    return render(request, "prompts/_prompt.html" if part else "prompts/page.html", context, status=status)


def another_agent(request: HttpRequest, agent: str) -> str:
    """The address of the agent that was picked, with everything else that was; a picker alone cannot change the path."""
    get = request.GET.copy()
    picked = "".join(get.pop("agent", [])[-1:])
    if not picked:
        return ""
    path = reverse("prompts.page", args=[request.space.slug, prompts.agent_by_slug(request.space, picked).slug])
    kept = urlencode([(name, value) for name, value in get.items() if value])
    return f"{path}?{kept}" if kept else path


def with_zone(request: HttpRequest, *names: str) -> str:
    """This address with its times in UTC, where one is of the reader's own clock: so that it can be passed on."""
    get = request.GET.copy()
    for name in names:
        if (typed := typed_moment(get.get(name, ""))) and typed.tzinfo is None:
            get[name] = timezone.make_aware(typed).astimezone(UTC).isoformat().replace("+00:00", "Z")
    return "" if get == request.GET else f"{request.path}?{get.urlencode()}"


def typed_moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None  # the page says what is wrong with it


def in_field(moment: datetime | None) -> str:
    """A moment as a field shows it, on the reader's clock; never before the moment, so that nothing of it is lost."""
    if moment is None:
        return ""
    whole = moment + timedelta(seconds=1, microseconds=-moment.microsecond) if moment.microsecond else moment
    return timezone.localtime(whole).strftime("%Y-%m-%dT%H:%M:%S")


def asked_words(request: HttpRequest) -> dict[str, str]:
    """What the pickers say; one field is both the query and the task, unless they are given apart."""
    get = {
        name: request.GET.get(name, "").strip() for name in ("dialect", "ask", "query", "task", "at", "thread", "bare")
    }
    get["query"], get["task"] = get["query"] or get["ask"], get["task"] or get["ask"]
    return get


def asked_for(request: HttpRequest) -> PromptRequest:
    get = asked_words(request)
    words = {name: get[name] for name in ("dialect", "query", "task", "thread")}
    return PromptRequest(**words, at=prompts.parse_time(get["at"]))


def made(request: HttpRequest, agent: Agent) -> prompts.Prompt:
    asked = asked_for(request)
    return prompts.assemble(
        request.space,
        agent,
        dialect=asked.dialect,
        query=asked.query,
        task=asked.task,
        thread=asked.thread,
        at=asked.at,
    )


def shown(request: HttpRequest, agent: Agent) -> dict[str, Any]:
    prompt = prompts.with_findings(made(request, agent))
    view = View(request.space, prompt)
    paths = Counter(
        Proposal.objects.within(request.space).filter(number__in=prompt.pending).values_list("path", flat=True)
    )
    return {
        "prompt": prompt,
        "view": view,
        "waiting": paths,
        "delivered": prompts.delivered_at(agent, prompt.sha256),
        "threads": prompts.threads_of(request.space, agent),
        "origin": origin(request, agent, prompt),
        "guidelines_path": files.GUIDELINES_PATH,
        "template": template_of(agent, prompt),
    }


def origin(request: HttpRequest, agent: Agent, prompt: prompts.Prompt) -> prompts.LineOrigin | None:
    line = request.GET.get("line", "")
    return prompts.line_origin(request.space, agent, prompt, int(line)) if line.isdecimal() and len(line) < 9 else None


@space_page("read", methods=("GET", "HEAD"))
def line(request: HttpRequest, agent: str) -> HttpResponse:
    """Where one line came from, as a part that stands under it: a long prompt keeps its place on the screen."""
    one = prompts.agent_by_slug(request.space, agent)
    found = origin(request, one, made(request, one))
    if found is None:
        raise NotFound("This prompt has no such line.")
    drawn = render_to_string("prompts/_origin.html", {"agent": one, "origin": found}, request)
    return HttpResponse(drawn.strip())  # it goes between lines of a <pre>, where a line end would be seen


def template_of(agent: Agent, prompt: prompts.Prompt) -> Any:
    """Where the template of this prompt came from, for a dialect that has one."""
    if not dialects.families()[prompt.rendered.dialect.family].templated or agent.template:
        return None
    return prompts.chosen_template(agent.space_id, prompt.dialect, agent_slug=agent.slug)


def choices(agent: Agent, chosen: str) -> list[tuple[str, str]]:
    """The dialects to pick from, with the versions that each serves; the agent's own first, and whatever was named."""
    known = [(name, f"{name}{versions}") for name, versions in SERVES.items()]
    plain = [(name, name) for name in dialects.names() if name not in SERVES]
    hub, others = [one for one in plain if one[0] == "hub"], [one for one in plain if one[0] != "hub"]
    listed = [*hub, *known, *others]
    named = [(chosen, chosen)] if chosen and chosen not in dict(listed) else []
    return [("", f"{agent.dialect} (its own)"), *named, *listed]


# What a version of deepagents changes for its prompt: a form, or where the memory stands.
SERVES = {
    "deepagents/0.6.3": " and newer", "deepagents/0.6.2": "", "deepagents/0.4.3": " to 0.6.1",
    "deepagents/0.3.7": " to 0.4.1", "deepagents/0.3.4": " to 0.3.6",
}  # fmt: skip


@space_page("read", methods=("GET", "HEAD"))
def raw(request: HttpRequest, agent: str) -> HttpResponse:
    """The exact bytes and nothing else, to look at or to keep."""
    prompt = made(request, prompts.agent_by_slug(request.space, agent))
    return bytes_as_answer(request, prompt.data, f"{agent}-prompt-{prompt.sha256[:8]}.txt")


def bytes_as_answer(request: HttpRequest, data: bytes, name: str) -> HttpResponse:
    response = HttpResponse(data, content_type=PLAIN)
    kind = "attachment" if "download" in request.GET else "inline"
    response["Content-Disposition"] = f'{kind}; filename="{name}"'
    return response


@space_page("read", methods=("GET", "HEAD"))
def delivered(request: HttpRequest, agent: str, sha256: str) -> HttpResponse:
    """The very bytes that this agent got."""
    one = prompts.agent_by_slug(request.space, agent)
    delivery = prompts.delivered_at(one, sha256)
    text = prompts.delivered_text(request.space, sha256) if delivery else None
    if text is None:
        raise NotFound("This text is not in the ledger; deliveries are kept for the days that the settings name.")
    return bytes_as_answer(request, bytes(text.text), f"{agent}-delivered-{sha256[:8]}.txt")


@space_page("read", methods=("GET", "HEAD"))
def ledger(request: HttpRequest, agent: str) -> HttpResponse:
    """Every delivery to this agent, newest first, of one thread or of all."""
    one = prompts.agent_by_slug(request.space, agent)
    thread, before = request.GET.get("thread", "").replace("\x00", ""), request.GET.get("before", "")
    found = prompts.deliveries_of(one).order_by("-pk")
    if thread:
        found = found.filter(thread_id=thread)
    if before.isdecimal() and len(before) < 19:
        found = found.filter(pk__lt=int(before))
    rows = list(found[: PAGE + 1])
    context = {
        "agent": one,
        "rows": rows[:PAGE],
        "next": rows[PAGE - 1].pk if len(rows) > PAGE else None,
        "thread": thread,
    }
    return render(request, "prompts/ledger.html", context)


@space_page("read", methods=("GET", "HEAD"))
def compare(request: HttpRequest, agent: str) -> HttpResponse:
    """Two moments as a diff that names the cause of each change."""
    if elsewhere := with_zone(request, "from", "to"):
        return redirect(elsewhere)
    one = prompts.agent_by_slug(request.space, agent)
    get = {name: request.GET.get(name, "").strip() for name in ("from", "to", "dialect", "ask")}
    context: dict[str, Any] = {"agent": one, "get": get, "dialects": choices(one, get["dialect"])}
    status = 200
    try:
        start = prompts.parse_time(get["from"]) or timezone.now() - timedelta(days=1)
        end = prompts.parse_time(get["to"])
        words = {"dialect": get["dialect"], "query": get["ask"], "task": get["ask"]}
        context |= {"from_field": in_field(start), "to_field": in_field(end)}
        compared = prompts.compare_moments(request.space, one, start, end, **words)
        context |= {"compared": compared, "whys": whys(request, compared)}
    except HubError as error:
        context["error"], status = error, error.status
    return render(request, "prompts/compare.html", context, status=status)


def whys(request: HttpRequest, compared: prompts.MomentComparison) -> dict[int, str]:
    """For each part of both prompts what can have changed it, as it stands in the diff."""
    causes = {id(part): compared.causes_of(part) for one in (compared.before, compared.after) for part in one.parts}
    return {
        key: render_to_string("prompts/_why.html", {"causes": found}, request) for key, found in causes.items() if found
    }


@space_page("read", methods=("GET", "HEAD"))
def settings(request: HttpRequest, agent: str) -> HttpResponse:
    """What of an agent's settings touches its prompt, and the templates that are known."""
    one = prompts.agent_by_slug(request.space, agent)
    return show_settings(request, one, PromptSettingsForm(initial=initial(one)))


def initial(agent: Agent) -> dict[str, Any]:
    order = agent.gives_way or list(dialects.CUT_ORDER)
    return {
        "budget": agent.budget,
        "gives_way": ",".join([*order, *[kind for kind in dialects.CUT_ORDER if kind not in order]]),
        "memory_is_on": agent.memory_is_on,
        "template": agent.template,
    }


def show_settings(request: HttpRequest, agent: Agent, form: PromptSettingsForm) -> HttpResponse:
    kept = [replaceable(template) for template in prompts.templates_for(request.space.pk)]
    context = {"agent": agent, "form": form, "templates": kept, "guidelines_path": files.GUIDELINES_PATH}
    return render(request, "prompts/settings.html", context, status=422 if form.errors else 200)


def replaceable(template: Any) -> dict[str, Any]:
    """A kept template with its size beside the one that is known for its form."""
    known = dialects.deepagents.KNOWN_TEMPLATES.get(template.form, (0, ""))
    return {"row": template, "size": len(template.text.encode()), "known_size": known[0], "known_sha": known[1]}


@post_only("manage")
def change_settings(request: HttpRequest, agent: str) -> HttpResponse:
    one = prompts.agent_by_slug(request.space, agent)
    form = PromptSettingsForm(request.POST)
    if form.is_valid():
        values = {**form.cleaned_data, "gives_way": form.cleaned_data["gives_way"].split(",")}
        try:
            prompts.change_settings(one, request.actor, **values)
        except HubError as error:
            form.refuse(error)
    if form.errors:
        return show_settings(request, one, form)
    done(request, "Saved. Its next prompt is made of this.")
    return redirect("prompts.page", request.space.slug, one.slug)
