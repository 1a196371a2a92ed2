"""Pages of quarantine: the records of agents, their states, and decisions about them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from memoryhub.domain import longterm, quarantine, working
from memoryhub.errors import HubError, Invalid
from memoryhub.models import Agent, Record
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text, page_or_part, parse_number, parse_numbers
from memoryhub.web.notices import done, refused

PAGE = 30
STATES = [
    ("", "All"),
    ("held", "Held"),
    ("unseen", "Unseen"),
    ("admitted", "Admitted"),
    ("promoted", "Promoted"),
    ("discarded", "Discarded"),
]


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    given = {
        name: clean_text(request.GET.get(name, ""))
        for name in ("words", "state", "agent", "session", "node_kind", "finding")
    }
    before = parse_number(request.GET.get("before"))
    rows = quarantine.with_states(quarantine.find(request.space, before=before, **given)[: PAGE + 1])
    context = {
        "records": rows[:PAGE],
        "older": rows[PAGE - 1].pk if len(rows) > PAGE else None,
        "before": before,
        "given": given,
        "is_filtered": any(given.values()),
        "states": STATES,
        "held": quarantine.waiting(request.space),
        "unseen": working.unseen(request.space).count(),
        "waits_for_person": working.waits_for_person(request.space),
        "today": quarantine.today(request.space),
        "agents": Agent.objects.within(request.space),
        "node_kinds": Record.NodeKind.values,
        "codes": list(quarantine.DEFAULT_STEPS),
        "selected": selected_session(request, rows),
        "ticked": parse_numbers(request.GET.getlist("pick")),
    }
    return page_or_part(request, "quarantine/page.html", "quarantine/_list.html", context)


def selected_session(request: HttpRequest, rows: list[Record]) -> dict[str, Any] | None:
    """The session beside the list: that of `?record`, else of the newest held record, else of the newest; None without records."""
    wanted = parse_number(request.GET.get("record"))
    held = (one for one in rows if one.state and one.state.state == quarantine.HELD)
    record = next((one for one in rows if one.pk == wanted), None) or next(held, None) or next(iter(rows), None)
    if record is None:
        return None
    return {"record": record, "session": quarantine.session(request.space, record.session_id, 12, around=record)}


@space_page("read", methods=("GET", "HEAD"))
def record(request: HttpRequest, pk: int) -> HttpResponse:
    return show_record(request, pk)


def show_record(request: HttpRequest, pk: int, refusal: HubError | None = None) -> HttpResponse:
    one = quarantine.get(request.space, pk)
    states = list(quarantine.history(one))
    quarantine.with_states([one])
    entry = None
    if one.state and one.state.state == quarantine.PROMOTED:
        entry = longterm.by_label(request.space, one.state.reason)
    context = {
        "record": one,
        "states": states,
        "session": quarantine.session(request.space, one.session_id, around=one),
        "can_undo": len(states) > 1 and one.state.actor_kind != "hub",
        "entry": entry,
        "grave": [found for found in one.findings if found.get("severity") == "high"],
        "has_hidden": any(found["code"] == "hidden" for found in one.findings),
        "waits_for_person": working.waits_for_person(request.space),
        "refusal": refusal,
    }
    return render(request, "quarantine/record.html", context, status=refusal.status if refusal else 200)


def return_url(request: HttpRequest, pk: int) -> str:
    """The address in `next` if it is the list of records, else that of the record."""
    back = request.POST.get("next", "")
    lists = tuple(reverse(name, args=[request.space.slug]) for name in ("quarantine.page", "working.page"))
    return back if back.startswith(lists) else reverse("quarantine.record", args=[request.space.slug, pk])


def undo_url(request: HttpRequest, pk: int) -> str:
    return reverse("quarantine.undo", args=[request.space.slug, pk])


@post_only("edit")
def admit(request: HttpRequest, pk: int) -> HttpResponse:
    looked, without = request.POST.get("looked") == "yes", request.POST.get("do") == "without_hidden"
    try:
        quarantine.admit(request.space, request.actor, pk, looked=looked, without_hidden=without)
    except Invalid as refusal:
        return show_record(request, pk, refusal)
    done(request, f"Record {pk} is in working memory.", undo=undo_url(request, pk))
    return redirect(return_url(request, pk))


@post_only("edit")
def see(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        quarantine.see(request.space, request.actor, pk, looked=request.POST.get("looked") == "yes")
    except Invalid as refusal:
        return show_record(request, pk, refusal)
    done(request, f"Record {pk} is marked as seen.", undo=undo_url(request, pk))
    return redirect(return_url(request, pk))


@post_only("edit")
def discard(request: HttpRequest, pk: int) -> HttpResponse:
    quarantine.discard(request.space, request.actor, pk, clean_text(request.POST.get("reason", "")))
    done(request, f"Record {pk} is hidden; it stays stored.", undo=undo_url(request, pk))
    return redirect(return_url(request, pk))


@post_only("edit")
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    state = quarantine.undo(request.space, request.actor, pk)
    done(request, f"Record {pk} is {state.state} again.")
    return redirect(return_url(request, pk))


BULK = {"admit": "admitted", "see": "marked as seen", "discard": "discarded", "undo": "as before"}


@post_only("edit")
def in_bulk(request: HttpRequest) -> HttpResponse:
    # The undo button sends no form, so its address names the records.
    given = request.POST if "verb" in request.POST else request.GET
    verb, picked = given.get("verb", ""), parse_numbers(given.getlist("pick"))
    listed = reverse("quarantine.page", args=[request.space.slug])
    came_from = request.POST.get("next") or request.GET.get("next", "")
    back = came_from if came_from.startswith(listed) else listed
    reason = clean_text(request.POST.get("reason", ""))
    if verb not in BULK or not picked:
        refused(request, "Tick the records you mean, then press Admit or Discard.")
        return redirect(back)
    if verb == "discard" and not reason.strip():
        refused(request, "Say why you discard them, so that others need not ask. Nothing was discarded.")
        ticks = urlencode({"pick": picked}, True)
        return redirect(f"{back}{'&' if '?' in back else '?'}{ticks}")
    looked = given.get("looked") == "yes"
    ids, refusals = quarantine.in_bulk(request.space, request.actor, picked, verb, reason, looked=looked)
    if ids:
        ways = urlencode({"verb": "undo", "pick": ids, "next": back}, True)
        way_back = f"{reverse('quarantine.in_bulk', args=[request.space.slug])}?{ways}"
        says = f"{len(ids)} {'record is' if len(ids) == 1 else 'records are'} {BULK[verb]}."
        done(request, says, undo="" if verb == "undo" else way_back)
    for sentence in refusals[:5]:
        refused(request, sentence)
    return redirect(back)
