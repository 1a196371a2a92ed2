"""The playground: the hits for a query with their scores, what the threshold cut off, and a comparison of embedders."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from memoryhub import embedders
from memoryhub.domain import jobs, longterm, retrieval
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.errors import Invalid
from memoryhub.languages import translated
from memoryhub.models import Agent, Space
from memoryhub.web.access import space_page
from memoryhub.web.helpers import clean_text, page_or_part, parse_number

CUT_HITS_SHOWN = 45  # hits below the threshold or the limit that are shown as well


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    query = clean_text(request.GET.get("query", "")).strip()
    agent = Agent.objects.within(request.space).filter(slug=request.GET.get("agent", "")).first()
    serving, other = retrieval.embedder_choice(request.space), request.GET.get("other", "")
    context = {
        "query": query,
        "agent": agent,
        "agents": Agent.objects.within(request.space),
        "given": {name: request.GET.get(name, "") for name in ("hot", "cold", "threshold")},
        "serving": serving,
        "others": other_embedders(request.space, serving),
        "other": other,
        "columns": result_columns(request, query, agent, serving, other),
        "checks": retrieval.checks_of(request.space),
    }
    return page_or_part(request, "retrieval/page.html", "retrieval/_found.html", context)


def other_embedders(space: Space, serving: str) -> list[str]:
    """Embedders to compare with the one in use: those of this space first, with their models."""
    job = jobs.latest(space, longterm.REEMBEDDING_JOB)
    preferred = [space.settings.get("embedder_before"), job.payload["choice"] if job else "", settings.EMBEDDER]
    return [name for name in dict.fromkeys([*preferred, *embedders.names()]) if name and name != serving]


def result_columns(
    request: HttpRequest, query: str, agent: Agent | None, serving: str, other: str
) -> list[dict[str, Any]]:
    if not query:
        return []
    shown = [result_column(request, query, agent, serving, None)]
    if other in other_embedders(request.space, serving):
        shown.append(result_column(request, query, agent, other, other))
    return shown


def result_column(
    request: HttpRequest, query: str, agent: Agent | None, name: str, other: str | None
) -> dict[str, Any]:
    """The hits under one embedder (None: the one in use), or a problem, for example that it has no vectors yet."""
    try:
        embedder = retrieval.embedder_of(request.space, other) if other else None
        made, lacks = longterm.vector_counts(request.space, embedder) if embedder else (1, 0)
        if lacks and not made:
            return {"name": name, "problem": _("It has no vectors of this space yet."), "lacks": lacks}
        found = retrieval.retrieve(
            request.space, query, agent=agent, hot=parse_number(request.GET.get("hot"), 3) or 0,
            cold=parse_number(request.GET.get("cold"), 5) or 0, threshold=parse_threshold(request.GET.get("threshold", "")),
            embedder=embedder, everyone=agent is None, show_cut=CUT_HITS_SHOWN,
        )  # fmt: skip
    except (Invalid, EmbedderUnavailable) as refusal:
        return {"name": name, "problem": translated(refusal.message)}
    return {"name": name, "found": found, "lacks": lacks}


def parse_threshold(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise Invalid(_("Threshold: enter a number from -1 to 1.")) from None
