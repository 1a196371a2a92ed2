"""Pages of prompts: preview with origins, raw bytes, deliveries, comparison of two moments, settings."""

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
from django.utils.translation import gettext as _

from memoryhub import dialects
from memoryhub.db.prepared import any_of, prepared
from memoryhub.domain import files, prompts
from memoryhub.errors import HubError, NotFound
from memoryhub.forms import PromptSettingsForm
from memoryhub.models import Agent, Proposal
from memoryhub.templatetags.prompts import VERSIONS_SERVED, dialect_words
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import parse_number
from memoryhub.web.notices import done
from memoryhub.web.prompt_timeline import timeline_of
from memoryhub.web.prompt_view import PromptView

PLAIN_TEXT = "text/plain; charset=utf-8"
PAGE = 100


@space_page("read", methods=("GET", "HEAD"))
def start(request: HttpRequest) -> HttpResponse:
    """Leads to the prompt of the first agent; without agents, or if asked for, shows what a new one would get."""
    first = prompts.agents_of_space(request.space).first()
    if first is None or request.GET.get("new"):
        prompt = prompts.prompt_of_new_agent(request.space)
        context = {"prompt": prompt, "view": PromptView(request.space, prompt), "agent": first}
        return render(request, "prompts/new_agent.html", context)
    return redirect("prompts.page", request.space.slug, first.slug)


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest, agent: str) -> HttpResponse:
    """The preview of a prompt; htmx gets the part below the pickers."""
    if elsewhere := address_of_picked_agent(request, agent) or address_in_utc(request, "at"):
        return redirect(elsewhere)
    one = prompts.agent_by_slug(request.space, agent)
    call = last_call(request, one)
    context: dict[str, Any] = {
        "agent": one,
        "call": call,
        "follows_call": follows_call(request),
        "get": picked_values(request, call),
        "agents": prompts.listed_agents(request.space),
    }
    status = 200
    try:
        at = prompts.parse_time(context["get"]["at"])
        context |= {"at": at, "at_field": datetime_field_value(at)}
        context |= prompt_context(request, one, call)
    except HubError as error:
        # The page of an agent that got no prompt then is as good as any other.
        context["error"], status = error, 200 if error.code == "before_agent" else error.status
    context["dialects"] = dialect_choices(one, shown_choice(one, context["get"]["dialect"]))
    context["get"]["dialect"] = shown_choice(one, context["get"]["dialect"])
    part = request.htmx and not request.htmx.boosted
    if not part:
        shown = [source["path"] for source in context["prompt"].sources] if "prompt" in context else []
        context["timeline"] = timeline_of(request, one, context["get"], context.get("at"), shown)
    return render(request, "prompts/_prompt.html" if part else "prompts/page.html", context, status=status)


def address_of_picked_agent(request: HttpRequest, agent: str) -> str:
    """The address of the agent in `?agent`, with the rest of the query; "" if none was picked. Forms cannot change the path."""
    get = request.GET.copy()
    picked = "".join(get.pop("agent", [])[-1:])
    if not picked:
        return ""
    if picked != agent:  # what is of a call of this agent means nothing to another
        for name in ("thread", "base"):
            get.pop(name, None)
    path = reverse("prompts.page", args=[request.space.slug, prompts.agent_by_slug(request.space, picked).slug])
    query = urlencode([(name, value) for name, value in get.items() if value])
    return f"{path}?{query}" if query else path


def address_in_utc(request: HttpRequest, *names: str) -> str:
    """This address with the named times in UTC, so that it can be shared; "" if it needs no change."""
    get = request.GET.copy()
    for name in names:
        if (typed := parse_moment(get.get(name, ""))) and typed.tzinfo is None:
            get[name] = timezone.make_aware(typed).astimezone(UTC).isoformat().replace("+00:00", "Z")
    return "" if get == request.GET else f"{request.path}?{get.urlencode()}"


def parse_moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None  # the page shows why it is wrong


def datetime_field_value(moment: datetime | None) -> str:
    """The value of a datetime field in local time, rounded up to whole seconds so that it is not before the moment."""
    if moment is None:
        return ""
    whole = moment + timedelta(seconds=1, microseconds=-moment.microsecond) if moment.microsecond else moment
    return timezone.localtime(whole).strftime("%Y-%m-%dT%H:%M:%S")


PICKED = ("dialect", "ask", "query", "task", "at", "thread")


def last_call(request: HttpRequest, agent: Agent) -> prompts.LastCall | None:
    """What the agent asked for last; None before its first call."""
    return prompts.last_calls(request.space, [agent]).get(agent.pk)


def follows_call(request: HttpRequest) -> bool:
    """Whether nothing was picked: then what the agent asked for last is shown."""
    return not any(name in request.GET for name in PICKED)


def picked_values(request: HttpRequest, call: prompts.LastCall | None) -> dict[str, str]:
    """The values of the pickers, by default those of the last call. `ask` is used as query and task unless these are given."""
    get = {name: request.GET.get(name, "").strip() for name in (*PICKED, "bare", "base")}
    if call and follows_call(request):
        asked = call.request
        get |= {"dialect": asked.dialect, "query": asked.query, "task": asked.task, "thread": asked.thread}
        get |= {"ask": asked.query or asked.task, "base": "call" if call.has_base else ""}
    get["query"], get["task"] = get["query"] or get["ask"], get["task"] or get["ask"]
    return get


def assemble_prompt(request: HttpRequest, agent: Agent, call: prompts.LastCall | None) -> prompts.Prompt:
    """The prompt of the picked values; with nothing picked, exactly what the last call would get now."""
    if call and follows_call(request):
        return prompts.assemble_request(request.space, agent, call.request)
    get = picked_values(request, call)
    words = {name: get[name] for name in ("dialect", "query", "task", "thread")}
    base = call.request.system_prompt if call and get["base"] else None
    at = prompts.parse_time(get["at"])
    return prompts.assemble(request.space, agent, **words, at=at, system_prompt=base)


PATHS = prepared(
    lambda space, numbers: (
        Proposal.objects.within(space).filter(any_of("number", numbers)).values_list("path", flat=True)
    )
)


def prompt_context(request: HttpRequest, agent: Agent, call: prompts.LastCall | None) -> dict[str, Any]:
    prompt = assemble_prompt(request, agent, call)
    threads = prompts.threads_of(request.space, agent)
    view = PromptView(request.space, prompt)
    paths = Counter(PATHS(request.space.pk, list(prompt.pending)) if prompt.pending else ())
    return {
        "prompt": prompt,
        "view": view,
        "waiting": paths,
        "delivered": prompts.delivered_at(agent, prompt.sha256),
        "threads": threads,
        "last": next((one for one in threads if call and one.delivery.pk == call.delivery.pk), None),
        "origin": origin_of_line(request, agent, prompt, call),
        "template": template_of_prompt(agent, prompt),
    }


def origin_of_line(
    request: HttpRequest, agent: Agent, prompt: prompts.Prompt, call: prompts.LastCall | None
) -> prompts.LineOrigin | None:
    line = parse_number(request.GET.get("line"), digits=8)
    if line is None:
        return None
    return prompts.line_origin(request.space, agent, prompt, line, picked_values(request, call)["query"])


@space_page("read", methods=("GET", "HEAD"))
def line(request: HttpRequest, agent: str) -> HttpResponse:
    """The part below a line that says where the line came from."""
    one = prompts.agent_by_slug(request.space, agent)
    call = last_call(request, one)
    found = origin_of_line(request, one, assemble_prompt(request, one, call), call)
    if found is None:
        raise NotFound(_("This prompt has no such line."))
    drawn = render_to_string("prompts/_origin.html", {"agent": one, "origin": found}, request)
    return HttpResponse(drawn.strip())  # inside <pre> a line end would show


def template_of_prompt(agent: Agent, prompt: prompts.Prompt) -> Any:
    """The imported template of this prompt; None if the dialect has no template or the agent has its own."""
    if not dialects.families()[prompt.rendered.dialect.family].templated or agent.template:
        return None
    return prompts.chosen_template(agent.space_id, prompt.dialect, agent_id=agent.pk)


def shown_choice(agent: Agent, named: str) -> str:
    """The value of the picker for a dialect: empty for what an `auto` agent asks for."""
    return "" if agent.dialect == dialects.AUTO and named == agent.asked_dialect else named


def dialect_choices(agent: Agent, chosen: str) -> list[tuple[str, str]]:
    """Value and label of each dialect: the agent's own first, then `chosen` if it is not in the list, then all others."""
    with_versions = [(name, dialect_words(name)) for name in VERSIONS_SERVED]
    plain = [(name, name) for name in dialects.names() if name not in VERSIONS_SERVED]
    hub, others = [one for one in plain if one[0] == "hub"], [one for one in plain if one[0] != "hub"]
    listed = [*hub, *with_versions, *others]
    named = [(chosen, chosen)] if chosen and chosen not in dict(listed) else []
    own = _("%(dialect)s (its own)") % {"dialect": agent.dialect}
    if agent.dialect == dialects.AUTO:
        own = f"auto: {agent.asked_dialect or agent.own_dialect.label}"
    return [("", own), *named, *listed]


@space_page("read", methods=("GET", "HEAD"))
def raw(request: HttpRequest, agent: str) -> HttpResponse:
    """The exact bytes of the prompt; with `?download` as a file."""
    one = prompts.agent_by_slug(request.space, agent)
    prompt = assemble_prompt(request, one, last_call(request, one))
    return bytes_response(request, prompt.data, f"{agent}-prompt-{prompt.sha256[:8]}.txt")


def bytes_response(request: HttpRequest, data: bytes, name: str) -> HttpResponse:
    response = HttpResponse(data, content_type=PLAIN_TEXT)
    kind = "attachment" if "download" in request.GET else "inline"
    response["Content-Disposition"] = f'{kind}; filename="{name}"'
    return response


@space_page("read", methods=("GET", "HEAD"))
def delivered(request: HttpRequest, agent: str, sha256: str) -> HttpResponse:
    """The exact bytes of a prompt that this agent got."""
    one = prompts.agent_by_slug(request.space, agent)
    delivery = prompts.delivered_at(one, sha256)
    text = prompts.delivered_text(request.space, sha256) if delivery else None
    if text is None:
        raise NotFound(_("This text is not stored. Deliveries are kept for the number of days in the settings."))
    return bytes_response(request, bytes(text.text), f"{agent}-delivered-{sha256[:8]}.txt")


@space_page("read", methods=("GET", "HEAD"))
def ledger(request: HttpRequest, agent: str) -> HttpResponse:
    """Every delivery to this agent, newest first, of one thread or of all."""
    one = prompts.agent_by_slug(request.space, agent)
    thread, before = request.GET.get("thread", "").replace("\x00", ""), parse_number(request.GET.get("before"))
    found = prompts.deliveries_of(one).order_by("-pk")
    if thread:
        found = found.filter(thread_id=thread)
    if before is not None:
        found = found.filter(pk__lt=before)
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
    """The prompts of two moments as a diff with the causes of each change."""
    if elsewhere := address_in_utc(request, "from", "to"):
        return redirect(elsewhere)
    one = prompts.agent_by_slug(request.space, agent)
    get = {name: request.GET.get(name, "").strip() for name in ("from", "to", "dialect", "ask")}
    context: dict[str, Any] = {"agent": one, "get": get, "dialects": dialect_choices(one, get["dialect"])}
    status = 200
    try:
        start = prompts.parse_time(get["from"]) or timezone.now() - timedelta(days=1)
        end = prompts.parse_time(get["to"])
        words = {"dialect": get["dialect"], "query": get["ask"], "task": get["ask"]}
        context |= {"from_field": datetime_field_value(start), "to_field": datetime_field_value(end)}
        compared = prompts.compare_moments(request.space, one, start, end, **words)
        context |= {"compared": compared, "whys": cause_notes(request, compared)}
    except HubError as error:
        context["error"], status = error, error.status
    return render(request, "prompts/compare.html", context, status=status)


def cause_notes(request: HttpRequest, compared: prompts.MomentComparison) -> dict[int, str]:
    """HTML with the possible causes of a change, by the `id` of the part of either prompt."""
    causes = {id(part): compared.causes_of(part) for one in (compared.before, compared.after) for part in one.parts}
    return {
        key: render_to_string("prompts/_why.html", {"causes": found}, request) for key, found in causes.items() if found
    }


@space_page("read", methods=("GET", "HEAD"))
def settings(request: HttpRequest, agent: str) -> HttpResponse:
    """The settings of an agent that affect its prompt, and the imported templates."""
    one = prompts.agent_by_slug(request.space, agent)
    return show_settings(request, one, PromptSettingsForm(initial=initial_settings(one)))


def initial_settings(agent: Agent) -> dict[str, Any]:
    order = agent.gives_way or list(dialects.CUT_ORDER)
    return {
        "budget": agent.budget,
        "gives_way": ",".join([*order, *[kind for kind in dialects.CUT_ORDER if kind not in order]]),
        "memory_is_on": agent.memory_is_on,
        "template": agent.template,
    }


def show_settings(request: HttpRequest, agent: Agent, form: PromptSettingsForm) -> HttpResponse:
    templates = [template_row(template) for template in prompts.templates_for(request.space.pk)]
    context = {
        "agent": agent,
        "form": form,
        "templates": templates,
        "guidelines_path": files.GUIDELINES_PATH,
        "positioning_path": files.POSITIONING_PATH,
    }
    return render(request, "prompts/settings.html", context, status=422 if form.errors else 200)


def template_row(template: Any) -> dict[str, Any]:
    """A stored template with its size and the published size and sha256 for its form."""
    published = dialects.deepagents.KNOWN_TEMPLATES.get(template.form, (0, ""))
    return {"row": template, "size": len(template.text.encode()), "known_size": published[0], "known_sha": published[1]}


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
    done(request, _("Saved. The next prompt uses these settings."))
    return redirect("prompts.page", request.space.slug, one.slug)
