"""A promotion, seen before it happens: how the text is cut, what is there already, who may find it."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from memoryhub.domain import longterm
from memoryhub.errors import Conflict, Invalid
from memoryhub.models import Agent, LongtermEntry, Record
from memoryhub.text import split
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import REVIEW_AFTER, a_day, near_entries, number, plain, typed
from memoryhub.web.notices import done


@space_page("promote")
def page(request: HttpRequest) -> HttpResponse:
    """What a promotion would do: how the text is cut, what is there already; nothing happens before the button."""
    given = request.POST if request.method == "POST" else request.GET
    source = started_from(request, given)
    content = typed(request) if request.method == "POST" else source.content
    return proposed(request, source, content)


def started_from(request: HttpRequest, given: QueryDict) -> longterm.PromotionOrigin:
    record, entry, pair = (number(given.get(name)) for name in ("record", "working", "pair"))
    return longterm.promotion_origin(request.space, record=record, working_entry=entry, pair=pair)


def proposed(
    request: HttpRequest, source: longterm.PromotionOrigin, content: str, *, status: int = 200, error: str = ""
) -> HttpResponse:
    given = request.POST or request.GET
    agents = list(Agent.objects.within(request.space))
    preview = longterm.preview_promotion(request.space, content, source.pair)
    context = {
        "preview": with_choices(preview, given),
        "map": longterm.draw_map(request.space, newcomers=preview.newcomers) if preview.newcomers else None,
        "origin": source,
        "agents": agents,
        "agent": given.get("agent", whose_own(source, agents)),
        "review_by": given.get("review_by") or (timezone.localdate() + REVIEW_AFTER).isoformat(),
        "reason": given.get("reason", ""),
        "error": error,
    }
    return render(request, "promotions/page.html", context, status=status)


def whose_own(source: longterm.PromotionOrigin, agents: list[Agent]) -> str:
    """What was one agent's own stays its own, unless somebody chooses otherwise."""
    one = source.record or source.entry or (source.pair and source.pair.older)
    own = one.agent_id if one and one.scope == longterm.AGENT else None
    return next((agent.slug for agent in agents if agent.pk == own), "")


def with_choices(preview: longterm.PromotionPreview, given: QueryDict) -> longterm.PromotionPreview:
    """The neighbours with what was chosen for each before the page was asked for again, and what is merged in the cut."""
    chosen = [replace(one, advice=given.get(f"near-{one.entry.number}", one.advice)) for one in preview.neighbours]
    merged = [one.entry.content for one in chosen if one.advice == "merge"]
    text = "\n\n".join([preview.content, *merged])
    return replace(preview, neighbours=chosen, pieces=split.split(text) if merged else preview.pieces)


def way_back(slug: str, made: LongtermEntry) -> str:
    """Where a promotion is undone: with its record, if it has one, so that this may be decided anew."""
    if made.record_id and Record.objects.within(made.space_id).filter(pk=made.record_id).exists():
        return reverse("quarantine.undo", args=[slug, made.record_id])
    return reverse("longterm.take_back", args=[slug, made.number])


@post_only("promote")
def promote(request: HttpRequest) -> HttpResponse:
    post = request.POST
    source = started_from(request, post)
    content = typed(request)
    try:
        made = longterm.promote(
            request.space, request.actor, source, content, agent_slug=post.get("agent", ""), reason=plain(post.get("reason", "")),
            review_by=a_day(post.get("review_by", "")), **near_entries(post),
        )  # fmt: skip
    except (Conflict, Invalid) as refusal:
        return proposed(request, source, content, status=refusal.status, error=refusal.message)
    waiting = (
        " Its vectors are made when the embedder is back; until then words find it." if made.state == "waiting" else ""
    )
    done(
        request, f"L-{made.number} is in long-term memory.{waiting}",
        undo=way_back(request.space.slug, made),
    )  # fmt: skip
    return redirect("longterm.entry", request.space.slug, made.number)
