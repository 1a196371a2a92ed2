"""Pages of working memory: the entries with the time that each has left, and changes to them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.db.prepared import any_of, prepared
from memoryhub.domain import working
from memoryhub.errors import Invalid, NotFound, TooLarge
from memoryhub.languages import translated
from memoryhub.models import Record, Space, WorkingEntry
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import page_or_part, typed_text
from memoryhub.web.notices import done

ENTRIES_SHOWN = 60
REFUSALS = (Invalid, NotFound, TooLarge)  # refusals of a typed text: the page shows it again


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show_list(request, adding="add" in request.GET)


def show_list(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    entries = working.listed(request.space)
    order = "soon" if request.GET.get("order") == "soon" else "new"
    if order == "soon":
        entries.sort(key=lambda one: (one.is_pinned, one.expires_at))
    else:
        entries.sort(key=lambda one: (not one.is_pinned, -one.pk))
    mark_fact_checks(request.space, entries[:ENTRIES_SHOWN])
    corrected = working.corrections(request.space, entries[:ENTRIES_SHOWN])
    for one in entries[:ENTRIES_SHOWN]:
        one.corrected = corrected.get(one.pk)
    context = {
        "entries": entries[:ENTRIES_SHOWN],
        "more": max(0, len(entries) - ENTRIES_SHOWN),
        "order": order,
        **fill_figures(request.space, entries),
        **more,
    }
    return page_or_part(request, "working/page.html", "working/_list.html", context, status=status)


@space_page("read", methods=("GET", "HEAD"))
def entry(request: HttpRequest, pk: int) -> HttpResponse:
    """An entry with its earlier texts; these also after the entry expired."""
    return show_entry(request, pk)


def show_entry(request: HttpRequest, pk: int, *, status: int = 200, **more: Any) -> HttpResponse:
    history = list(working.history(request.space, pk))
    one = working.live(request.space).filter(pk=pk).first()
    if one is None and not history and not more:
        working.get(request.space, pk)
    return render(request, "working/entry.html", {"entry": one, "history": history, **more}, status=status)


FACT_CHECKS = prepared(
    lambda space, records: (
        Record.objects.within(space)
        .filter(any_of("id", records), node_kind=Record.NodeKind.FACT_CHECK)
        .values_list("pk", flat=True)
    )
)


def mark_fact_checks(space: Space, entries: list[WorkingEntry]) -> None:
    ids = [one.record_id for one in entries if one.record_id]
    checks = set(FACT_CHECKS(space.pk, ids)) if ids else set()
    for one in entries:
        one.is_fact_check = one.record_id in checks


def fill_figures(space: Space, entries: list[WorkingEntry]) -> dict[str, Any]:
    """Figures of the page: entries and limit, how many expire soon, and bars of the time left."""
    now = timezone.now()
    hours = [max(0.0, (one.expires_at - now).total_seconds() / 3600) for one in entries if not one.is_pinned]
    span = max(1, space.settings["working_hours"])
    counts = [0] * 24
    for left in hours:
        counts[min(23, int(left / span * 24))] += 1
    tallest = max(4, *counts)
    bars = [
        {"x": round(at * 1000 / 24 + 2, 1), "y": round(64 - 64 * n / tallest, 1), "height": round(64 * n / tallest, 1)}
        for at, n in enumerate(counts)
    ]
    return {
        "all": len(entries),
        "taken": sum(1 for one in entries if one.agent_key == 0 and not one.is_pinned),
        "limit": space.settings["working_limit"],
        "span": span,
        "soon": sum(1 for left in hours if left < 1),
        "pinned": sum(1 for one in entries if one.is_pinned),
        "own": sum(1 for one in entries if one.scope == working.AGENT),
        "unseen": sum(1 for one in entries if one.agent_key and one.scope != working.AGENT),
        "bars": bars,
    }


def redirect_to_list(request: HttpRequest) -> HttpResponse:
    return redirect(reverse("working.page", args=[request.space.slug]))


@post_only("edit")
def add(request: HttpRequest) -> HttpResponse:
    try:
        working.add(request.space, request.actor, typed_text(request))
    except REFUSALS as refusal:
        return show_list(
            request, status=refusal.status, adding=True, draft=typed_text(request), error=translated(refusal.message)
        )
    done(request, _("Added. Agents get it from now on."))
    return redirect_to_list(request)


@post_only("edit")
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        working.edit(request.space, request.actor, pk, typed_text(request))
    except REFUSALS as refusal:
        return show_entry(
            request, pk, status=refusal.status, draft=typed_text(request), error=translated(refusal.message)
        )
    done(request, _("Saved. Agents get the new text from now on."))
    return redirect_to_list(request)


@post_only("edit")
def pin(request: HttpRequest, pk: int) -> HttpResponse:
    wanted = request.POST.get("pinned", "yes") == "yes"
    working.pin(request.space, request.actor, pk, wanted)
    done(request, _("Pinned. It stays until it is unpinned.") if wanted else _("Unpinned."))
    return redirect_to_list(request)


@post_only("edit")
def extend(request: HttpRequest, pk: int) -> HttpResponse:
    working.extend(request.space, request.actor, pk)
    done(request, _("The timer is reset."))
    return redirect_to_list(request)


@post_only("edit")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    working.remove(request.space, request.actor, pk)
    done(request, _("Deleted from working memory."), undo=reverse("working.put_back", args=[request.space.slug, pk]))
    return redirect_to_list(request)


@post_only("edit")
def put_back(request: HttpRequest, pk: int) -> HttpResponse:
    working.put_back(request.space, request.actor, pk)
    done(request, _("Restored."))
    return redirect_to_list(request)
