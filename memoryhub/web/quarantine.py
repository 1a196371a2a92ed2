"""Pages of quarantine: the queue of records with one of them beside the decision about it, and a summary for several."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memoryhub.domain import longterm, prompts, quarantine, working
from memoryhub.errors import Conflict, HubError, Invalid
from memoryhub.languages import translated
from memoryhub.models import Record
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text, page_or_part, parse_number, parse_numbers
from memoryhub.web.notices import done, refused

FILTERS = ("words", "state", "agent", "session", "node_kind", "finding")
POSITION = ("before", "part")
MAX_PICKED = 200
REASONS = {
    "Injection": gettext_lazy("Injection"), "Wrong": gettext_lazy("Wrong"), "Duplicate": gettext_lazy("Duplicate"),
    "Temporary": gettext_lazy("Temporary"), "Private": gettext_lazy("Private"),
}  # fmt: skip
WITHOUT = {"without_hidden": "hidden", "without_lines": "lines"}  # by the button pressed
VERBS = ("admit", "see", "discard")


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    context = queue_context(request)
    shown = wanted_record(context["queue"], parse_number(request.GET.get("record")))
    context |= record_context(request, context["queue"], shown) if shown else {}
    return page_or_part(request, "quarantine/page.html", "quarantine/_queue.html", context)


def wanted_record(queue: quarantine.QueuePage, wanted: int | None) -> Record | None:
    """The record with this number if it is on the page, else the first one."""
    records = queue.records
    return next((one for one in records if one.pk == wanted), None) or next(iter(records), None)


@space_page("read", methods=("GET", "HEAD"))
def record(request: HttpRequest, pk: int) -> HttpResponse:
    return show_record(request, pk)


def show_record(request: HttpRequest, pk: int, refusal: HubError | None = None) -> HttpResponse:
    """The queue with this record; htmx gets the record alone. After a refusal with its reason."""
    one = quarantine.get(request.space, pk)
    quarantine.with_states([one])
    context = queue_context(request)
    context |= record_context(request, context["queue"], one) | {"refusal": refusal, "is_record_page": True}
    wanted = "quarantine/_record.html" if request.htmx and not request.htmx.boosted else "quarantine/page.html"
    return render(request, wanted, context, status=refusal.status if refusal else 200)


def given_filters(given: QueryDict) -> dict[str, str]:
    return {name: clean_text(given.get(name, "")) for name in FILTERS}


def list_query(request: HttpRequest) -> str:
    """The filters and the page of the list, as the query of each address that keeps them."""
    given = QueryDict(request.POST.get("list", "")) if request.method == "POST" else request.GET
    kept = {name: clean_text(given.get(name, "")) for name in (*FILTERS, *POSITION)}
    return urlencode({name: value for name, value in kept.items() if value})


def queue_context(request: HttpRequest) -> dict[str, Any]:
    """The list beside the record: its groups, filters and counts."""
    listed = QueryDict(list_query(request))
    given, before = given_filters(listed), parse_number(listed.get("before"))
    queue = quarantine.queue_page(request.space, before=before, part=listed.get("part", ""), **given)
    counts = quarantine.count_states(request.space)
    return {
        "queue": queue,
        "list_query": listed.urlencode(),
        "is_later_page": bool(before or listed.get("part")),
        "given": given,
        "is_filtered": any(given.values()),
        "counts_by_state": counts,
        "states": state_chips(counts, working.unseen(request.space).count()),
        "agents": prompts.listed_agents(request.space),
        "codes": list(quarantine.DEFAULT_STEPS),
        "ticked": parse_numbers(request.GET.getlist("pick")),
    }


def state_chips(counts: Any, unseen: int) -> list[tuple[str, str, int]]:
    """The filters by state: value, name, how many. Unseen ones only where there are some."""
    chips = [
        ("held", _("Held"), counts.held), ("unseen", _("Unseen"), unseen), ("admitted", _("Admitted"), counts.admitted),
        ("promoted", _("Promoted"), counts.promoted), ("discarded", _("Discarded"), counts.discarded),
        ("", _("All"), counts.open),
    ]  # fmt: skip
    return [chip for chip in chips if chip[0] != "unseen" or chip[2]]


def record_context(request: HttpRequest, queue: quarantine.QueuePage, one: Record) -> dict[str, Any]:
    """Everything about the record that is shown, and the ones before and after it in the list."""
    states = list(quarantine.history(one))
    state = one.state.state if one.state else ""
    waits = state in ("held", "discarded")
    records = queue.records
    at = next((number for number, other in enumerate(records) if other.pk == one.pk), None)
    following = records[at + 1] if at is not None and at + 1 < len(records) else queue.following
    return {
        "record": one,
        "states_of_record": states,
        "session": quarantine.session(request.space, one.session_id, 12, around=one),
        "can_undo": len(states) > 1 and one.state.actor_kind != "hub",
        "entry": longterm.by_label(request.space, one.state.reason) if state == quarantine.PROMOTED else None,
        "grave": [found for found in one.findings if found.get("severity") == "high"],
        "grave_lines": quarantine.grave_lines(one) if waits else [],
        "has_hidden": any(found["code"] == "hidden" for found in one.findings),
        "waits_for_person": working.waits_for_person(request.space),
        "working_hours": request.space.settings["working_hours"],
        "admission": admission_of(request, one) if waits else None,
        "previous": records[at - 1] if at else None,
        "following": following if following and following.pk != one.pk else None,
        "following_query": following_query(request, queue, following, records),
        "quick_reasons": REASONS,
        "opens_next": opens_next(request),
    }


def admission_of(request: HttpRequest, one: Record) -> prompts.Admission:
    return prompts.if_admitted(request.space, one.content, scope=one.scope, agent_id=one.agent_id)


def following_query(
    request: HttpRequest, queue: quarantine.QueuePage, following: Record | None, records: list[Record]
) -> str:
    """The query of the address of the next record: that of the next page of the list where it stands there."""
    if following is None or following in records or not queue.older:
        return list_query(request)
    moved = QueryDict(list_query(request), mutable=True)
    for name in POSITION:
        moved.pop(name, None)
    moved.update({name: str(value) for name, value in queue.older.items() if value})
    return moved.urlencode()


def opens_next(request: HttpRequest) -> bool:
    """Whether this person wants the next record after a decision; so unless they chose otherwise."""
    return request.user.preferences.get("open_next") != "no"


# ---- deciding


def url_of(request: HttpRequest, name: str, *args: Any, query: str = "") -> str:
    address = reverse(name, args=[request.space.slug, *args])
    return f"{address}?{query}" if query else address


def return_url(request: HttpRequest, pk: int, *, decided: bool = True) -> str:
    """Where a decision leads: to the address in `next` if it is a list, else to the next held record or back to this one."""
    back = request.POST.get("next", "")
    if back.startswith(tuple(reverse(name, args=[request.space.slug]) for name in ("quarantine.page", "working.page"))):
        return back
    query = list_query(request)
    if not decided or "list" not in request.POST or not opens_next(request):
        return url_of(request, "quarantine.record", pk, query=query)
    given = {name: value for name, value in given_filters(QueryDict(query)).items() if name != "state"}
    wanted = parse_number(request.POST.get("following"))
    following = quarantine.next_held(request.space, pk, wanted, **given)
    if following is None:
        return url_of(request, "quarantine.page", query=query)
    return url_of(request, "quarantine.record", following.pk, query=query)


def undo_url(request: HttpRequest, pk: int) -> str:
    return reverse("quarantine.undo", args=[request.space.slug, pk])


def prompt_url(request: HttpRequest, pk: int) -> str:
    """The prompt of an agent that shows the admitted record; "" if no prompt does."""
    found = admission_of(request, quarantine.get(request.space, pk))
    if not found.changes:
        return ""
    change = found.changes[0]
    asks = change.call.request.query if change.call else quarantine.get(request.space, pk).content[:80]
    return url_of(request, "prompts.page", change.agent.slug, query=urlencode({"ask": " ".join(asks.split())}))


@post_only("edit")
def admit(request: HttpRequest, pk: int) -> HttpResponse:
    looked, without = request.POST.get("looked") == "yes", WITHOUT.get(request.POST.get("do", ""), "")
    try:
        quarantine.admit(request.space, request.actor, pk, looked=looked, without=without)
    except (Conflict, Invalid) as refusal:
        return show_record(request, pk, refusal)
    says = _("Record %(number)s is in working memory.") % {"number": pk}
    done(request, says, undo=undo_url(request, pk), see=prompt_url(request, pk))
    return redirect(return_url(request, pk))


@post_only("edit")
def see(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        quarantine.see(request.space, request.actor, pk, looked=request.POST.get("looked") == "yes")
    except (Conflict, Invalid) as refusal:
        return show_record(request, pk, refusal)
    done(request, _("Record %(number)s is marked as seen.") % {"number": pk}, undo=undo_url(request, pk))
    return redirect(return_url(request, pk))


def typed_reason(request: HttpRequest) -> str:
    """The chosen reason, what was typed, or both."""
    why, words = request.POST.get("why", ""), clean_text(request.POST.get("reason", "")).strip()
    return ": ".join(part for part in (why if why in REASONS else "", words) if part)


@post_only("edit")
def discard(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        quarantine.discard(request.space, request.actor, pk, typed_reason(request))
    except (Conflict, Invalid) as refusal:
        return show_record(request, pk, refusal)
    says = _("Record %(number)s is discarded. It stays stored.") % {"number": pk}
    done(request, says, undo=undo_url(request, pk))
    return redirect(return_url(request, pk))


@post_only("edit")
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    state = quarantine.undo(request.space, request.actor, pk)
    done(
        request,
        _("Record %(number)s is %(state)s again.") % {"number": pk, "state": translated(state.state)},
    )
    return redirect(return_url(request, pk, decided=False))


# ---- several at once


@space_page("edit", methods=("GET", "HEAD"))
def bulk(request: HttpRequest) -> HttpResponse:
    """The summary of a decision on several records, each with its text and findings, and the form that decides."""
    verb, picked = request.GET.get("verb", ""), parse_numbers(request.GET.getlist("pick"))
    if verb not in VERBS or not picked:
        refused(request, _("Select at least one record first."))
        return redirect(list_url(request, request.GET))
    return show_bulk(request, verb, picked, list_url(request, request.GET))


def show_bulk(
    request: HttpRequest, verb: str, picked: list[int], back: str, refusal: HubError | None = None
) -> HttpResponse:
    found = Record.objects.within(request.space).filter(pk__in=picked[:MAX_PICKED]).defer("words").order_by("-id")
    records = quarantine.with_states(found)
    chosen = [one for one in records if may_be(verb, one)]
    context = {
        "verb": verb, "chosen": chosen, "left_out": [one for one in records if one not in chosen],
        "not_taken": max(0, len(picked) - MAX_PICKED), "next": back, "quick_reasons": REASONS, "refusal": refusal,
        "looked": request.POST.getlist("looked"), "typed": request.POST,
    }  # fmt: skip
    return render(request, "quarantine/bulk.html", context, status=refusal.status if refusal else 200)


def may_be(verb: str, one: Record) -> bool:
    """Whether the record is in a state in which this can be decided on it."""
    if verb == "see":
        return bool(one.is_unseen)
    decidable = ("held", "discarded") if verb == "admit" else ("held", "admitted")
    return bool(one.state) and one.state.state in decidable


def list_url(request: HttpRequest, given: QueryDict) -> str:
    """The page of quarantine in `next`, else the whole queue."""
    listed, back = reverse("quarantine.page", args=[request.space.slug]), given.get("next", "")
    return back if back.startswith(listed) else listed


def bulk_words(verb: str, count: int) -> str:
    """What was done to so many records."""
    says = {
        "admit": ngettext("%(n)s record is in working memory.", "%(n)s records are in working memory.", count),
        "see": ngettext("%(n)s record is marked as seen.", "%(n)s records are marked as seen.", count),
        "discard": ngettext("%(n)s record is discarded.", "%(n)s records are discarded.", count),
        "undo": ngettext("%(n)s record is as before.", "%(n)s records are as before.", count),
    }  # fmt: skip
    return says[verb] % {"n": count}


@post_only("edit")
def in_bulk(request: HttpRequest) -> HttpResponse:
    # The undo button sends no form, so its address names the records.
    given = request.POST if "verb" in request.POST else request.GET
    verb, picked = given.get("verb", ""), parse_numbers(given.getlist("pick"))
    back = list_url(request, request.POST if "next" in request.POST else request.GET)
    if verb not in ("admit", "see", "discard", "undo") or not picked:
        refused(request, _("Select at least one record first."))
        return redirect(back)
    reason = typed_reason(request)
    if verb == "discard" and not reason:
        return show_bulk(request, verb, picked, back, Invalid(_("Choose or type a reason."), field="reason"))
    looked = set(parse_numbers(request.POST.getlist("looked")))
    ids, refusals = quarantine.in_bulk(request.space, request.actor, picked[:MAX_PICKED], verb, reason, looked=looked)
    if ids:
        ways = urlencode({"verb": "undo", "pick": ids, "next": back}, True)
        way_back = f"{reverse('quarantine.in_bulk', args=[request.space.slug])}?{ways}"
        done(request, bulk_words(verb, len(ids)), undo="" if verb == "undo" else way_back)
    for sentence in refusals[:5]:
        refused(request, sentence)
    return redirect(back)
