"""Tokens of agents: create, rotate, revoke. A secret is shown once."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from memoryhub.domain import accounts, prompts
from memoryhub.errors import HubError
from memoryhub.forms import TokenForm
from memoryhub.models import Token
from memoryhub.web import connect
from memoryhub.web.access import post_only
from memoryhub.web.notices import done


def redirect_to_owner(request: HttpRequest, token: Token) -> HttpResponse:
    if token.agent:
        return redirect("agents.detail", request.space.slug, token.agent.slug)
    return redirect("people.page", request.space.slug)


@post_only("manage")
def create(request: HttpRequest) -> HttpResponse:
    agent = prompts.agent_by_slug(request.space, request.POST.get("agent", ""))
    form = TokenForm(request.POST)
    if form.is_valid():
        try:
            token, secret = accounts.create_token(request.space, request.actor, agent=agent, **form.values())
        except HubError as error:
            form.refuse(error)
        else:
            return connect.show(request, agent, secret=secret, token=token)
    return render(request, "tokens/form.html", {"form": form, "agent": agent}, status=422)


@post_only("manage")
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = accounts.get_token(request.space, pk)
    accounts.revoke_token(token, request.actor)
    done(request, _("The token %(token)s is revoked. Its next call is refused.") % {"token": token})
    return redirect_to_owner(request, token)


@post_only("manage")
def rotate(request: HttpRequest, pk: int) -> HttpResponse:
    token = accounts.get_token(request.space, pk, person=None)
    new, secret = accounts.rotate_token(token, request.actor)
    return connect.show(request, new.agent, secret=secret, token=new, old=token)
