"""The overview of a space: figures, what waits for people, what changed today."""

from __future__ import annotations

from dataclasses import astuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from memoryhub.domain import activity, prompts
from memoryhub.domain.accounts import may
from memoryhub.domain.activity import Counts, counts_of_space
from memoryhub.web import first_run
from memoryhub.web.access import space_page

AGENTS_SHOWN = 5


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    space = request.space
    counts = request.counts = counts_of_space(space)
    if first_run.is_first_run(space):
        return first_page(request, counts)
    if request.htmx and "first" in request.GET:  # asked by the page of before: from now on there is another one
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    now = activity.figures(space)
    agents = prompts.agents_called_last(space, AGENTS_SHOWN)
    changed = list(activity.latest(space, activity.midnight()))
    shown = activity.page_version(
        space,
        astuple(counts),
        astuple(now),
        [(a.tokens, a.behind, a.is_current, a.agent.asked_dialect) for a in agents],
        [c.pk for c in changed],
    )
    if request.htmx and request.GET.get("v") == shown:
        return HttpResponse(status=204)  # the page shows this version already
    context = {
        "counts": counts,
        "today": timezone.localdate(),
        "now": now,
        "pipes": pipe_widths(now),
        "working_limit": space.settings["working_limit"],
        "working_hours": space.settings["working_hours"],
        "waits": activity.waiting_items(space, now, manages=may(request.role, "manage")),
        "agents": agents,
        "leaving": activity.expiring_entries(space),
        "changed": changed,
        "version": shown,
    }
    return render(
        request, "overview/_live.html" if request.htmx and not request.htmx.boosted else "overview/page.html", context
    )


def first_page(request: HttpRequest, counts: Counts) -> HttpResponse:
    """The overview before the first agent does something. It asks whether it is still true, and is loaded again if not."""
    shown = first_run.version_of(request.space, counts.agents)
    if request.htmx and "first" in request.GET:
        is_shown = request.GET["first"] == shown
        return HttpResponse(status=204, headers={} if is_shown else {"HX-Refresh": "true"})
    context = {"counts": counts, "version": shown, **first_run.context_of(request)}
    return render(request, "overview/first_run.html", context)


def pipe_widths(now: activity.Figures) -> dict[str, float]:
    """The width of each pipe in the drawing, by its name."""
    flowed = {
        "edits": now.revisions - now.approved,
        "approved": now.approved,
        "files": now.new_texts,
        "logged": now.logged,
        "admitted": now.admitted,
        "promoted": now.promoted,
        "working": now.admitted,
        "longterm": now.promoted,
    }
    return {name: activity.pipe_width(max(0, count)) for name, count in flowed.items()}
