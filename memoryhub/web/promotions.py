"""A promotion, seen before it happens: how the text is cut, what is there already, who may find it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from memoryhub.domain import promotions
from memoryhub.errors import Conflict, Invalid
from memoryhub.models import Agent
from memoryhub.web.doors import post_only, space_page
from memoryhub.web.notices import done
from memoryhub.web.parts import REVIEW_AFTER, a_day, number, plain, typed


@space_page("promote")
def page(request: HttpRequest) -> HttpResponse:
    """What a promotion would do: how the text is cut, what is there already; nothing happens before the button."""
    given = request.POST if request.method == "POST" else request.GET
    source = promotions.origin(
        request.space, record=number(given.get("record")), working_entry=number(given.get("working"))
    )
    content = typed(request) if request.method == "POST" else source.content
    return proposed(request, source, content)


def proposed(
    request: HttpRequest, source: promotions.Origin, content: str, *, status: int = 200, error: str = ""
) -> HttpResponse:
    given = request.POST or request.GET
    context = {
        "preview": promotions.preview(request.space, content),
        "origin": source,
        "agents": Agent.objects.within(request.space),
        "review_by": given.get("review_by") or (timezone.localdate() + REVIEW_AFTER).isoformat(),
        "reason": given.get("reason", ""),
        "error": error,
    }
    return render(request, "promotions/page.html", context, status=status)


@post_only("promote")
def promote(request: HttpRequest) -> HttpResponse:
    post = request.POST
    source = promotions.origin(
        request.space, record=number(post.get("record")), working_entry=number(post.get("working"))
    )
    chosen = {key.removeprefix("near-"): value for key, value in post.items() if key.startswith("near-")}
    content = typed(request)
    try:
        made = promotions.promote(
            request.space, request.actor, source, content, agent_slug=post.get("agent", ""), reason=plain(post.get("reason", "")),
            review_by=a_day(post.get("review_by", "")),
            replaces=[int(key) for key, value in chosen.items() if value == "replace" and key.isdecimal()],
            merges=[int(key) for key, value in chosen.items() if value == "merge" and key.isdecimal()],
        )  # fmt: skip
    except (Conflict, Invalid) as refusal:
        return proposed(request, source, content, status=refusal.status, error=refusal.message)
    waiting = (
        " Its vectors are made when the embedder is back; until then words find it." if made.state == "waiting" else ""
    )
    done(
        request, f"L-{made.number} is in long-term memory.{waiting}",
        undo=reverse("longterm.retire", args=[request.space.slug, made.number]),
    )  # fmt: skip
    return redirect("longterm.entry", request.space.slug, made.number)
