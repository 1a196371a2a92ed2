"""Promotion to long-term memory: a preview with chunks and similar entries, then the promotion itself."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.domain import longterm, quarantine
from memoryhub.errors import Conflict, Invalid
from memoryhub.languages import translated
from memoryhub.models import Agent, LongtermEntry, Record, Space
from memoryhub.templatetags.findings import found_in
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import REVIEW_AFTER, clean_text, neighbour_choices, parse_date, parse_number, typed_text
from memoryhub.web.notices import done


@space_page("promote")
def page(request: HttpRequest) -> HttpResponse:
    """The preview of a promotion, of the given text or of what it starts from. Changes nothing."""
    given = request.POST if request.method == "POST" else request.GET
    source = requested_origin(request, given)
    content = typed_text(request) if request.method == "POST" else source.content
    return show_preview(request, source, content)


def requested_origin(request: HttpRequest, given: QueryDict) -> longterm.PromotionOrigin:
    record, entry, pair = (parse_number(given.get(name)) for name in ("record", "working", "pair"))
    return longterm.promotion_origin(request.space, record=record, working_entry=entry, pair=pair)


def show_preview(
    request: HttpRequest, source: longterm.PromotionOrigin, content: str, *, status: int = 200, error: str = ""
) -> HttpResponse:
    given = request.POST or request.GET
    agents = list(Agent.objects.within(request.space))
    preview = longterm.preview_promotion(request.space, content, source.pair)
    grave = [one for one in found_in(preview.content or "") if one.severity == "high"]
    context = {
        "preview": with_choices(request.space, preview, given),
        "map": longterm.draw_map(request.space, newcomers=preview.newcomers) if preview.newcomers else None,
        "origin": source,
        "agents": agents,
        "agent": given.get("agent", owning_agent(source, agents)),
        "review_by": given.get("review_by") or (timezone.localdate() + REVIEW_AFTER).isoformat(),
        "reason": given.get("reason", ""),
        "grave": grave,
        "looked": given.get("looked") == "yes",
        "error": error,
    }
    return render(request, "promotions/page.html", context, status=status)


def owning_agent(source: longterm.PromotionOrigin, agents: list[Agent]) -> str:
    """The slug of the agent whose own entry is promoted, "" if it belongs to the group."""
    one = source.record or source.entry or (source.pair and source.pair.older)
    own = one.agent_id if one and one.scope == longterm.AGENT else None
    return next((agent.slug for agent in agents if agent.pk == own), "")


def with_choices(space: Space, preview: longterm.PromotionPreview, given: QueryDict) -> longterm.PromotionPreview:
    """The preview with the choices of the form for each neighbour, and chunks of the text with what is merged in."""
    chosen = [replace(one, advice=given.get(f"near-{one.entry.number}", one.advice)) for one in preview.neighbours]
    merged = [one.entry.content for one in chosen if one.advice == "merge"]
    text = "\n\n".join([preview.content, *merged])
    return replace(preview, neighbours=chosen, pieces=longterm.cut_text(space, text) if merged else preview.pieces)


def undo_url(slug: str, made: LongtermEntry) -> str:
    """The address that undoes a promotion: that of its record if there still is one, so that it can be decided again."""
    if made.record_id and Record.objects.within(made.space_id).filter(pk=made.record_id).exists():
        return reverse("quarantine.undo", args=[slug, made.record_id])
    return reverse("longterm.take_back", args=[slug, made.number])


@post_only("promote")
def promote(request: HttpRequest) -> HttpResponse:
    post = request.POST
    source = requested_origin(request, post)
    content = typed_text(request)
    found = [{"code": one.code, "severity": one.severity} for one in found_in(content)]
    try:
        quarantine.check_looked(found, post.get("looked") == "yes")
        made = longterm.promote(
            request.space, request.actor, source, content, agent_slug=post.get("agent", ""), reason=clean_text(post.get("reason", "")),
            review_by=parse_date(post.get("review_by", "")), **neighbour_choices(post),
        )  # fmt: skip
    except (Conflict, Invalid) as refusal:
        return show_preview(request, source, content, status=refusal.status, error=translated(refusal.message))
    words = _("L-%(number)s is in long-term memory.")
    if made.state == "waiting":
        words = _("L-%(number)s is in long-term memory. It is found by words until the embedder is available again.")
    done(request, words % {"number": made.number}, undo=undo_url(request.space.slug, made))
    return redirect("longterm.entry", request.space.slug, made.number)
