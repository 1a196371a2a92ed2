"""The overview of a space: figures, what waits for people, what changed today."""

from __future__ import annotations

from dataclasses import astuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memoryhub.domain import activity, demo, prompts, spaces
from memoryhub.domain.activity import counts_of_space
from memoryhub.web.access import space_page

AGENTS_SHOWN = 5


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    space = request.space
    counts = counts_of_space(space)
    if counts.is_empty:
        return render(request, "overview/empty.html", {"counts": counts, "has_demo": demo.exists()})
    now = activity.figures(space)
    agents, _ = prompts.agent_rows(space, limit=AGENTS_SHOWN)
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
        "now": now,
        "pipes": pipe_widths(now),
        "working_limit": spaces.get_setting(space, "working_limit"),
        "working_hours": spaces.get_setting(space, "working_hours"),
        "waits": activity.waiting_items(space, now),
        "agents": agents,
        "leaving": activity.expiring_entries(space),
        "changed": changed,
        "version": shown,
    }
    return render(
        request, "overview/_live.html" if request.htmx and not request.htmx.boosted else "overview/page.html", context
    )


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
