"""Tokens: `mh_`, a readable prefix, a secret. The secret is shown once; the hub keeps its SHA-256."""

from __future__ import annotations

import secrets
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from memoryhub.domain import activity
from memoryhub.domain.accounts.access import require
from memoryhub.domain.accounts.authenticate import ENDED, digest_of, why_ended
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Agent, Person, Scope, Space, Token

ALL_SCOPES = list(Scope.values)


@transaction.atomic
def create_token(
    space: Space,
    actor: Actor,
    *,
    agent: Agent | None = None,
    person: Person | None = None,
    label: str = "",
    scopes: list[str] | None = None,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Makes a token and gives its secret, which nobody can see again. Agents' tokens are made by owners, one's own by oneself."""
    if not (person and actor.person and person.pk == actor.person.pk):
        require(actor, "manage")
    owner = slugify(agent.slug if agent else person.username if person else "")[:32] or "token"
    scopes = ALL_SCOPES if scopes is None else scopes
    if unknown := set(scopes) - set(ALL_SCOPES):
        raise Invalid(
            f"Unknown scope {', '.join(sorted(unknown))}; there are: {', '.join(ALL_SCOPES)}.", field="scopes"
        )
    if expires_at and expires_at <= timezone.now():
        raise Invalid("The token would have expired already. Choose a later day.", field="expires_at")
    secret = f"mh_{owner}_{secrets.token_urlsafe(24).replace('_', 'x').replace('-', 'y')}"
    token = Token.objects.create(
        space=space, agent=agent, person=person, label=label.strip()[:100], scopes=sorted(scopes), made_by=actor.name,
        prefix=secret[: len(owner) + 8], digest=digest_of(secret), expires_at=expires_at,
    )  # fmt: skip
    url = f"agents/{agent.slug}/" if agent else "settings/people/"
    name = agent.name if agent else owner
    activity.record(space, actor, "tokens.create", "created a token for", name, url=url, aside=str(token))
    return token, secret


@transaction.atomic
def revoke_token(token: Token, actor: Actor) -> None:
    """Ends a token at once."""
    allow(token, actor)
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        activity.record(token.space, actor, "tokens.revoke", "revoked", str(token), adds=f"of {owner_name(token)}")


@transaction.atomic
def rotate_token(token: Token, actor: Actor) -> tuple[Token, str]:
    """Makes a new token of the same kind and ends the old one."""
    allow(token, actor)
    token = Token.objects.select_for_update(of=("self",)).select_related("agent", "person", "space").get(pk=token.pk)
    if why := why_ended(token):
        raise Conflict(f"The token {token} {ENDED[why]}; make a new one instead.")
    revoke_token(token, actor)
    same = {"agent": token.agent, "person": token.person, "label": token.label, "scopes": list(token.scopes)}
    lasts = token.expires_at - token.created_at if token.expires_at else None
    return create_token(token.space, actor, **same, expires_at=timezone.now() + lasts if lasts else None)


def allow(token: Token, actor: Actor) -> None:
    if not (token.person_id and actor.person and token.person_id == actor.person.pk):
        require(actor, "manage")


def owner_name(token: Token) -> str:
    return token.agent.name if token.agent else token.person.username if token.person else "somebody"


def tokens_of_space(space: Space, **by: object) -> QuerySet[Token]:
    return Token.objects.within(space).filter(**by).select_related("agent", "person", "space")


def last_used_token(agent: Agent) -> Token | None:
    """The token with which the agent called last; none before its first call."""
    return tokens_of_space(agent.space, agent=agent).exclude(used_at=None).order_by("-used_at").first()


def get_token(space: Space, pk: int, **by: object) -> Token:
    token = tokens_of_space(space, **by).filter(pk=pk).first()
    if token is None:
        raise NotFound("There is no such token in this space.")
    return token
