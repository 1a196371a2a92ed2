"""Connecting an agent: code for its framework, and a light that turns green at its first call."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memoryhub.domain import accounts, prompts
from memoryhub.forms import TokenForm
from memoryhub.models import Agent, Delivery, PromptText, Token
from memoryhub.web.access import space_page

READ_METHODS = ("GET", "HEAD")
SHOWN_CHARS = 4000  # characters of the first prompt that are shown


@space_page("read", methods=READ_METHODS)
def page(request: HttpRequest, agent: str) -> HttpResponse:
    one = prompts.agent_by_slug(request.space, agent)
    return render(request, "connect/page.html", {"agent": one, "token_form": TokenForm(), **call_status(one, None)})


@space_page("read", methods=READ_METHODS)
def light(request: HttpRequest, agent: str) -> HttpResponse:
    one = prompts.agent_by_slug(request.space, agent)
    made = request.GET.get("token", "")
    token = accounts.get_token(request.space, int(made), agent=one) if made.isdecimal() and len(made) < 18 else None
    return render(request, "connect/_light.html", {"agent": one, **call_status(one, token)})


def call_status(agent: Agent, token: Token | None) -> dict[str, object]:
    """When the agent last called (with `token`, if given), and the beginning of the newest prompt that it got."""
    called = token.used_at if token else agent.seen_at
    found = Delivery.objects.within(agent.space_id).filter(agent_id=agent.pk)
    if token:
        found = found.filter(last_at__gte=token.created_at)
    delivered = found.order_by("-last_at").first() if called else None
    return {"new_token": token, "called": called, "delivered": delivered, "text": beginning_of_prompt(delivered)}


def beginning_of_prompt(delivered: Delivery | None) -> str:
    """The first characters of a delivered prompt; "" if its text is no longer stored."""
    if delivered is None:
        return ""
    stored = PromptText.objects.within(delivered.space_id).filter(sha256=delivered.sha256).first()
    return bytes(stored.text).decode("utf-8", "replace")[:SHOWN_CHARS] if stored else ""
