"""Who am I: what a token stands for."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest
from ninja import Router, Schema

from memoryhub.api.base import ERRORS
from memoryhub.domain.accounts import Caller

router = Router()


class Me(Schema):
    space: str
    agent: str | None
    person: str | None
    role: str | None
    scopes: list[str]
    token: str
    expires_at: datetime | None


@router.get("/me", response={200: Me, **ERRORS}, summary="What this token stands for")
def me(request: HttpRequest) -> Me:
    caller: Caller = request.auth
    return Me(
        space=caller.space.slug,
        agent=caller.agent.slug if caller.agent else None,
        person=caller.person.username if caller.person else None,
        role=caller.role or None,
        scopes=caller.token.scopes,
        token=str(caller.token),
        expires_at=caller.token.expires_at,
    )
