"""The playground: what memory says to a question, why, what the threshold cut off, and how another embedder sees it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from memoryhub import embedders
from memoryhub.domain import jobs, longterm, retrieval
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Space
from memoryhub.web.access import space_page
from memoryhub.web.helpers import number, page_or_part, plain

CUT_LOOKED_AT = 45  # so many beside those that come in, so that what is cut off is among them


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    query = plain(request.GET.get("query", "")).strip()
    agent = Agent.objects.within(request.space).filter(slug=request.GET.get("agent", "")).first()
    serving, other = retrieval.embedder_choice(request.space), request.GET.get("other", "")
    context = {
        "query": query,
        "agent": agent,
        "agents": Agent.objects.within(request.space),
        "given": {name: request.GET.get(name, "") for name in ("hot", "cold", "threshold")},
        "serving": serving,
        "others": others(request.space, serving),
        "other": other,
        "columns": columns(request, query, agent, serving, other),
        "checks": retrieval.checks_of(request.space),
    }
    return page_or_part(request, "retrieval/page.html", "retrieval/_found.html", context)


def others(space: Space, serving: str) -> list[str]:
    """Embedders to look through beside the one that serves: those of this space first, with their models."""
    job = jobs.latest(space, longterm.REEMBEDDING_JOB)
    known = [space.settings.get("embedder_before"), job.payload["choice"] if job else "", settings.EMBEDDER]
    return [name for name in dict.fromkeys([*known, *embedders.names()]) if name and name != serving]


def columns(request: HttpRequest, query: str, agent: Agent | None, serving: str, other: str) -> list[dict[str, Any]]:
    if not query:
        return []
    shown = [column(request, query, agent, serving, None)]
    if other in others(request.space, serving):
        shown.append(column(request, query, agent, other, other))
    return shown


def column(request: HttpRequest, query: str, agent: Agent | None, name: str, other: str | None) -> dict[str, Any]:
    """One retrieval under one embedder; another one than the serving may have no vectors here, and says so."""
    try:
        embedder = retrieval.embedder_of(request.space, other) if other else None
        made, lacks = longterm.vector_counts(request.space, embedder) if embedder else (1, 0)
        if lacks and not made:
            return {"name": name, "problem": "It has no vectors of this space yet.", "lacks": lacks}
        found = retrieval.retrieve(
            request.space, query, agent=agent, hot=number(request.GET.get("hot"), 3) or 0,
            cold=number(request.GET.get("cold"), 5) or 0, threshold=threshold(request.GET.get("threshold", "")),
            embedder=embedder, everyone=agent is None, show_cut=CUT_LOOKED_AT,
        )  # fmt: skip
    except (Invalid, EmbedderUnavailable) as refusal:
        return {"name": name, "problem": refusal.message}
    return {"name": name, "found": found, "lacks": lacks}


def threshold(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise Invalid("The threshold is a number from -1 to 1.") from None
