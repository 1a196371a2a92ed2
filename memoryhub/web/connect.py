"""Connecting an agent: lines for its framework, and lights that turn on at its first call, prompt and proposal."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memoryhub.domain import accounts, exchange, files, prompts
from memoryhub.models import Agent, Delivery, PromptText, Proposal, Token
from memoryhub.web import frameworks
from memoryhub.web.access import space_page
from memoryhub.web.helpers import parse_number

READ_METHODS = ("GET", "HEAD")
SHOWN_CHARS = 4000  # characters of the first prompt that are shown
SHOWN_MOUNTS = 5


@space_page("read", methods=READ_METHODS)
def page(request: HttpRequest, agent: str) -> HttpResponse:
    return show(request, prompts.agent_by_slug(request.space, agent))


def show(
    request: HttpRequest, agent: Agent, *, secret: str = "", token: Token | None = None, old: Token | None = None
) -> HttpResponse:
    """The page; with the secret of a token that was made just now filled into its lines."""
    sources, more = prompts.listed_sources(request.space, agent)
    context: dict[str, Any] = {
        "agent": agent, "secret": secret, "old": old, "sources": sources, "more_sources": more,
        "frameworks": frameworks.FRAMEWORKS,
        "chosen": frameworks.framework_of(request.POST.get("framework") or request.GET.get("framework"), agent),
        "shown": frameworks.with_lines(request, request.space, secret),
        "wheel": exchange.client_wheel(),
        "preview": prompts.assemble(request.space, agent),
        "mounts": files.mounts_of_space(request.space)[:SHOWN_MOUNTS],
        **call_status(agent, token),
    }  # fmt: skip
    return render(request, "connect/page.html", context)


@space_page("read", methods=READ_METHODS)
def light(request: HttpRequest, agent: str) -> HttpResponse:
    one = prompts.agent_by_slug(request.space, agent)
    made = parse_number(request.GET.get("token"))
    token = None if made is None else accounts.get_token(request.space, made, agent=one)
    return render(request, "connect/_light.html", {"agent": one, **call_status(one, token)})


def call_status(agent: Agent, token: Token | None) -> dict[str, object]:
    """When the agent last called, the newest prompt that it got and its newest proposal; with `token` only since that exists."""
    called = token.used_at if token else agent.seen_at
    fetched = Delivery.objects.within(agent.space_id).filter(agent_id=agent.pk)
    proposed = Proposal.objects.within(agent.space_id).filter(agent_id=agent.pk)
    if token:
        fetched = fetched.filter(last_at__gte=token.created_at)
        proposed = proposed.filter(created_at__gte=token.created_at)
    delivered = fetched.order_by("-last_at").first() if called else None
    return {
        "new_token": token, "called": called, "delivered": delivered, "text": beginning_of_prompt(delivered),
        "last_token": token or accounts.last_used_token(agent),
        "proposal": proposed.order_by("-number").first() if called else None,
    }  # fmt: skip


def beginning_of_prompt(delivered: Delivery | None) -> str:
    """The first characters of a delivered prompt; "" if its text is no longer stored."""
    if delivered is None:
        return ""
    stored = PromptText.objects.within(delivered.space_id).filter(sha256=delivered.sha256).first()
    return bytes(stored.text).decode("utf-8", "replace")[:SHOWN_CHARS] if stored else ""
