"""One-time links: each signs one person in once, within the time that whoever made it chose."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from memoryhub.domain import activity
from memoryhub.domain.accounts.authenticate import digest_of
from memoryhub.errors import Conflict, Forbidden, Invalid, NotFound
from memoryhub.models import Actor, Membership, Person, Role, SignInLink, Space

SHORT_LINK = timedelta(minutes=15)
# How long a link for a colleague may work, by the word that pages and the command line use for it.
LINK_TIMES = {"15m": SHORT_LINK, "1h": timedelta(hours=1), "1d": timedelta(days=1), "3d": timedelta(days=3)}
LINK_TIME_NAMES = {"15m": "15 minutes", "1h": "1 hour", "1d": "1 day", "3d": "3 days"}


@transaction.atomic
def make_sign_in_link(
    actor: Actor, person: Person, *, leads_to: str = "", lasts: timedelta = SHORT_LINK, maker: str = ""
) -> str:
    """A secret that signs this person in once, within 15 minutes or up to 3 days. Older unused links of the person end; with a
    `maker`, those of the same maker alone."""
    if not person.is_active:
        raise Conflict(f"{person.username} is deactivated: no link signs them in.", code="deactivated")
    if not timedelta(0) < lasts <= LINK_TIMES["3d"]:
        raise Invalid("A link works for 3 days at most. Choose a shorter time.", field="lasts")
    older = SignInLink.objects.filter(person=person, used_at=None)
    (older.filter(made_by=maker) if maker else older).delete()
    secret = secrets.token_urlsafe(24)
    SignInLink.objects.create(
        person=person,
        digest=digest_of(secret),
        leads_to=leads_to,
        made_by=maker or actor.name,
        maker=actor.person,
        expires_at=timezone.now() + lasts,
    )
    activity.record(None, actor, "people.make_link", "created a one-time link for", person.username)
    return secret


def link_time(name: str) -> timedelta:
    """The time behind `15m`, `1h`, `1d` or `3d`; empty means the shortest."""
    if (name or "15m") not in LINK_TIMES:
        raise Invalid(f"A link works for one of: {', '.join(LINK_TIMES)}.", field="lasts")
    return LINK_TIMES[name or "15m"]


def linkable(space: Space, actor: Actor) -> set[int]:
    """Whom this owner may make a link for: it signs in everywhere, so oneself, or who is in no space that one does not own."""
    members = Person.objects.filter(memberships__space=space)
    if actor.person and not actor.person.is_hub_owner:
        mine = Membership.objects.filter(person=actor.person, role="owner").values("space_id")
        foreign = Membership.objects.exclude(space_id__in=mine).values("person_id")
        members = members.exclude(is_hub_owner=True).exclude(pk__in=foreign) | members.filter(pk=actor.person.pk)
    return set(members.values_list("pk", flat=True))


def require_no_other_owner(space: Space, actor: Actor, person: Person) -> None:
    if person.pk not in linkable(space, actor):
        raise Forbidden(
            f"{person.username} is also in spaces that you do not own, and the link would open those. "
            "They can sign in with their password, or the owner of the hub makes the link."
        )


def peek_sign_in_link(secret: str) -> SignInLink:
    """The link if it would still work, without using it; else the refusal."""
    link = (
        SignInLink.objects.filter(
            digest=digest_of(secret), used_at=None, expires_at__gt=timezone.now(), person__is_active=True
        )
        .select_related("person", "maker")
        .first()
    )
    if link is None or not maker_may_still(link):
        raise link_spent()
    return link


def maker_may_still(link: SignInLink) -> bool:
    """Whether its maker could still make it: a person may have joined other spaces, or lost theirs, since."""
    maker = link.maker
    return maker is None or (
        maker.is_active and (maker.is_hub_owner or maker == link.person or owns_all_of(maker, link.person))
    )


def owns_all_of(maker: Person, person: Person) -> bool:
    """Whether every space of the person is one that the maker owns."""
    owned = Membership.objects.filter(person=maker, role=Role.OWNER).values("space_id")
    return not person.is_hub_owner and not Membership.objects.filter(person=person).exclude(space_id__in=owned).exists()


@transaction.atomic
def use_sign_in_link(secret: str) -> SignInLink:
    """Spends the link; of two who click at the same moment one gets in."""
    link = peek_sign_in_link(secret)
    if not SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now()):
        raise link_spent()
    activity.record(None, Actor.of_person(link.person), "people.use_link", "signed in by a one-time link")
    return link


def link_spent() -> NotFound:
    return NotFound("This link was used already, or its time is over. Ask for a new one.", code="link_spent")
