"""Limits of retrieval, for the space or one agent, with an example that follows the form; and the size of chunks."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub import embedders
from memoryhub.domain import jobs, longterm, prompts, retrieval
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.errors import HubError, Invalid
from memoryhub.forms import ChunksForm, RetrievalForm
from memoryhub.languages import translated
from memoryhub.models import Agent, Job
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text, page_or_part
from memoryhub.web.notices import done

CUT_SHOWN = 20  # chunks below the threshold that the example looks for
# Measured by `python -m tests.bench.thresholds`: 20 questions with their answers, 380 pairs that do not belong together.
THRESHOLD_NOTES = {
    "wordllama": gettext_lazy(
        "Its own threshold is 0.30: 18 of 20 right answers reach it, and 1 % of wrong ones. 0.50 keeps 14, 0.70 keeps 3."
    ),
    "hashing": gettext_lazy(
        "Its own threshold is 0.25, and it compares letters alone: 15 of 20 right answers reach 0.30, one reaches 0.70."
    ),
    "openai_endpoint": gettext_lazy(
        "It depends on the model: some give 0.7 to everything of one subject, others to repetitions alone. Try your questions."
    ),
}


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


def show(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    agent = chosen_agent(request)
    inherited = retrieval.limits_of(request.space)
    own = own_values(request, agent)
    form = more.get("form") or RetrievalForm(
        initial=own | ({"words": round(own["words"] * 100)} if "words" in own else {}),
        inherited=inherited if agent else retrieval.Limits(),
    )
    size, overlap = longterm.chunk_size(request.space)
    recut = jobs.latest(request.space, longterm.RECUT)
    query = clean_text(request.GET.get("query", "")).strip()
    checks = list(retrieval.checks_of(request.space)[:8])
    context = {
        "form": form, "agent": agent, "agents": prompts.agents_of_space(request.space), "own": own,
        "chunks_form": ChunksForm(initial={"size": size, "overlap": overlap}),
        "recut": recut, "is_recutting": recut is not None and recut.state in (Job.WAITING, Job.RUNNING),
        "query": query or (checks[0].query if checks else ""), "checks": checks,
        "serving": retrieval.embedder_choice(request.space).partition(":")[0],
        "notes": [(name, THRESHOLD_NOTES[name]) for name in embedders.names() if name in THRESHOLD_NOTES], **more,
    }  # fmt: skip
    context["columns"] = example(request, context["query"], agent, own)
    response = page_or_part(request, "retrieval_settings/page.html", "retrieval_settings/_found.html", context)
    response.status_code = status
    return response


def chosen_agent(request: HttpRequest) -> Agent | None:
    slug = request.POST.get("agent") or request.GET.get("agent")
    return prompts.agent_by_slug(request.space, slug) if slug else None


def own_values(request: HttpRequest, agent: Agent | None) -> dict[str, Any]:
    """What is set for the agent, or for the space."""
    return dict(agent.retrieval if agent else request.space.settings.get("retrieval", {}))


def example(request: HttpRequest, query: str, agent: Agent | None, own: dict[str, Any]) -> list[dict[str, Any]]:
    """What the query brings up with the values of the form, which need not be saved yet."""
    if not query:
        return []
    name = retrieval.embedder_choice(request.space)
    values = own
    if request.GET.keys() & RetrievalForm.base_fields.keys():
        form = RetrievalForm(request.GET)
        if not form.is_valid():
            return [{"name": name, "problem": " ".join(says for errors in form.errors.values() for says in errors)}]
        values = form.values
    limits = retrieval.limits_of(request.space) if agent else retrieval.Limits()
    try:
        found = retrieval.retrieve(
            request.space, query, agent=agent, everyone=agent is None, show_cut=CUT_SHOWN,
            **limits.with_values(retrieval.check_limits(values)).as_dict(),
        )  # fmt: skip
    except (Invalid, EmbedderUnavailable) as refusal:
        return [{"name": name, "problem": translated(refusal.message)}]
    return [{"name": name, "found": found, "is_example": True}]


@post_only("manage")
def change(request: HttpRequest) -> HttpResponse:
    agent, form = chosen_agent(request), RetrievalForm(request.POST)
    if not form.is_valid():
        return show(request, status=422, form=form)
    try:
        if agent:
            prompts.change_agent(agent, request.actor, retrieval=form.values)
        else:
            retrieval.change_limits(request.space, request.actor, form.values)
    except HubError as error:
        form.refuse(error)
        return show(request, status=error.status, form=form)
    done(request, _("The limits of %(name)s are saved.") % {"name": agent.name if agent else request.space.name})
    url = reverse("retrieval_settings.page", args=[request.space.slug])
    return HttpResponseRedirect(url + (f"?agent={agent.slug}" if agent else ""), status=303)


@post_only("manage")
def change_chunks(request: HttpRequest) -> HttpResponse:
    form = ChunksForm(request.POST)
    if form.is_valid():
        try:
            longterm.change_chunks(request.space, request.actor, **form.cleaned_data)
        except HubError as error:
            form.refuse(error)
        else:
            done(request, _("Entries are split again in the background. Until then their old chunks stay in use."))
            return redirect("retrieval_settings.page", request.space.slug)
    return show(request, status=422, chunks_form=form)
