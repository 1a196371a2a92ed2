"""Connecting an agent: the lines for its framework, and a light that turns green at its first call."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memoryhub.domain import accounts, prompts
from memoryhub.forms import TokenForm
from memoryhub.models import Agent, Delivery, PromptText, Token
from memoryhub.web.access import space_page

GET = ("GET", "HEAD")
LONGEST = 4000  # characters of the first prompt that are shown


@space_page("read", methods=GET)
def page(request: HttpRequest, agent: str) -> HttpResponse:
    one = prompts.agent_by_slug(request.space, agent)
    return render(request, "connect/page.html", {"agent": one, "token_form": TokenForm(), **light_of(one, None)})


@space_page("read", methods=GET)
def light(request: HttpRequest, agent: str) -> HttpResponse:
    one = prompts.agent_by_slug(request.space, agent)
    made = request.GET.get("token", "")
    token = accounts.get_token(request.space, int(made), agent=one) if made.isdecimal() and len(made) < 18 else None
    return render(request, "connect/_light.html", {"agent": one, **light_of(one, token)})


def light_of(agent: Agent, token: Token | None) -> dict[str, object]:
    """When it last called (with this token, if one is named), and the newest prompt that it got."""
    called = token.used_at if token else agent.seen_at
    found = Delivery.objects.within(agent.space_id).filter(agent_id=agent.pk)
    if token:
        found = found.filter(last_at__gte=token.created_at)
    delivered = found.order_by("-last_at").first() if called else None
    return {"new_token": token, "called": called, "delivered": delivered, "text": text_of(delivered)}


def text_of(delivered: Delivery | None) -> str:
    """The beginning of the prompt that was handed out, as it was kept."""
    if delivered is None:
        return ""
    kept = PromptText.objects.within(delivered.space_id).filter(sha256=delivered.sha256).first()
    return bytes(kept.text).decode("utf-8", "replace")[:LONGEST] if kept else ""
