"""A file of a mount that shows memory: its lines with the entries behind them, for an agent and a query."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from memoryhub.domain import files, prompts, retrieval
from memoryhub.errors import NotFound
from memoryhub.models import Agent
from memoryhub.stores.views import NAMES, OWN, QUERY
from memoryhub.web import file_views
from memoryhub.web.helpers import clean_text


def show(request: HttpRequest, where: str, name: str) -> HttpResponse:
    """The page of the file with this name in its mount."""
    if name not in NAMES:
        raise NotFound(_("There is no file at %(path)s.") % {"path": where})
    slug = request.GET.get("agent", "")
    agent = Agent.objects.within(request.space).filter(slug=slug).first() if slug else None
    query = clean_text(request.GET.get("query", "")).strip()
    lines = retrieval.views.lines_of(request.space, agent, name, query) or ()
    context = {
        "where": where, "name": name.lstrip("/"), "crumbs": file_views.crumbs(where), "lines": lines, "agent": agent,
        "agents": prompts.agents_of_space(request.space), "says": NAMES[name], "asks_query": name == QUERY, "query": query,
        "is_own": name == OWN, "readers": [one.name for one in files.agents_reading(request.space, where)],
        "text": retrieval.views.text_of(lines), "is_pinned": name == "/pinned.md",
    }  # fmt: skip
    return render(request, "recall/page.html", context)
