"""People: signing in and out, one-time links, passwords, and the slow-down after failed tries."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from memoryhub.domain import activity
from memoryhub.domain.accounts.authenticate import digest_of
from memoryhub.errors import Conflict, Forbidden, Invalid, NotFound, TooMany, Unauthenticated
from memoryhub.models import Actor, FailedTry, Membership, Person, SignIn, SignInLink, Space

LINK_LASTS = timedelta(minutes=15)
FREE_TRIES = 5
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(minutes=15)
FORGOTTEN_AFTER = timedelta(hours=1)


@transaction.atomic
def create_person(
    actor: Actor, username: str, *, email: str = "", password: str = "", is_hub_owner: bool = False
) -> Person:
    """Makes a person, with or without a password."""
    if not username.strip():
        raise Invalid("A person needs a name.", field="username")
    person = Person(username=username.strip(), email=email.strip(), is_hub_owner=is_hub_owner)
    if password:
        set_checked_password(person, password)
    else:
        person.set_unusable_password()
    try:
        person.clean_fields(exclude=["password"])
        with transaction.atomic():
            person.save()
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field=next(iter(error.message_dict))) from None
    except IntegrityError:
        raise Conflict(f"There is a person {username!r} already.", field="username") from None
    activity.record(None, actor, "people.create", "made an account for", person.username)
    return person


def person_by_name(username: str) -> Person:
    person = Person.objects.filter(username__iexact=username.strip()).first()
    if person is None:
        raise NotFound(f"There is no person {username!r}.")
    return person


def hub_owner() -> Person:
    """The owner of the hub, whom the link of each start signs in; made at the first start."""
    owner = Person.objects.filter(is_hub_owner=True, is_active=True).order_by("pk").first()
    if owner is None:
        owner = Person(username="owner", is_hub_owner=True)
        owner.set_unusable_password()
        owner.save()
    return owner


def set_checked_password(person: Person, password: str) -> None:
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from None
    person.set_password(password)


@transaction.atomic
def change_password(person: Person, password: str, *, keep_session: str = "") -> None:
    """Sets a new password and ends every other session of the person."""
    set_checked_password(person, password)
    person.save(update_fields=["password"])
    for sign_in in person.sign_ins.exclude(session_key=keep_session):
        end_session(person, sign_in.pk)
    activity.record(None, Actor.of_person(person), "people.change_password", "changed their password")


@transaction.atomic
def change_email(person: Person, email: str) -> None:
    """Sets where mail to this person goes; empty: nowhere."""
    person.email = email.strip()
    person.save(update_fields=["email"])
    activity.record(None, Actor.of_person(person), "people.change_email", "changed their e-mail address")


# ---- one-time links ----


@transaction.atomic
def make_sign_in_link(actor: Actor, person: Person, *, leads_to: str = "") -> str:
    """A secret that signs this person in once, within 15 minutes. Older unused links of the person end."""
    if not person.is_active:
        raise Conflict(f"{person.username} is deactivated: no link signs them in.", code="deactivated")
    SignInLink.objects.filter(person=person, used_at=None).delete()
    secret = secrets.token_urlsafe(24)
    SignInLink.objects.create(
        person=person,
        digest=digest_of(secret),
        leads_to=leads_to,
        made_by=actor.name,
        expires_at=timezone.now() + LINK_LASTS,
    )
    activity.record(None, actor, "people.make_link", "made a one-time link for", person.username)
    return secret


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


def peek_link(secret: str) -> SignInLink | None:
    """Whether the link would still work, without using it."""
    return SignInLink.objects.filter(
        digest=digest_of(secret), used_at=None, expires_at__gt=timezone.now(), person__is_active=True
    ).first()


@transaction.atomic
def use_sign_in_link(secret: str) -> SignInLink:
    """Spends the link; of two who click at the same moment one gets in."""
    link = peek_link(secret)
    spent = link and SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now())
    if not link or not spent:
        raise NotFound("This link was used already, or is older than 15 minutes. Ask for a new one.", code="link_spent")
    person = link.person
    activity.record(None, Actor.of_person(person), "people.use_link", "signed in by a one-time link")
    return link


# ---- name and password ----


def check_password(username: str, password: str, address: str | None) -> Person:
    """The person that this name and password belong to. Five failed tries slow the name and the address down."""
    keys = [f"name:{username.strip().lower()[:64]}", *([f"address:{address}"] if address else [])]
    refuse_if_blocked(keys)
    person = Person.objects.filter(username__iexact=username.strip(), is_active=True).first()
    if person is None:
        make_password(password)  # takes as long as a check: time must not tell which names exist
    fits = person is not None and person.check_password(password)
    if person is None or not fits:
        left = count_failure(keys)
        raise Unauthenticated(wrong_password(left), code="wrong_password", tries_left=left)
    FailedTry.objects.filter(key=keys[0]).delete()
    return person


def wrong_password(left: int) -> str:
    if left <= 0:
        return "That name and password do not belong together. Wait a minute before the next try."
    tries = "One more try" if left == 1 else f"{left} more tries"
    return f"That name and password do not belong together. {tries}, then you have to wait a minute."


def refuse_if_blocked(keys: list[str]) -> None:
    now = timezone.now()
    blocked = FailedTry.objects.filter(key__in=keys, blocked_until__gt=now).order_by("-blocked_until").first()
    if blocked and blocked.blocked_until:
        seconds = max(1, round((blocked.blocked_until - now).total_seconds()))
        which = "this name" if blocked.key.startswith("name:") else "this address"
        raise TooMany(
            f"Too many failed tries for {which}. Wait {in_words(seconds)}, then try again.",
            code="slow_down",
            retry_after=seconds,
        )


def in_words(seconds: int) -> str:
    if seconds < 90:
        return f"{seconds} second{'s' if seconds != 1 else ''}"
    return f"{round(seconds / 60)} minutes"


@transaction.atomic
def count_failure(keys: list[str]) -> int:
    """Counts one failure for each key and says how many free tries the worst of them has left."""
    now, left = timezone.now(), FREE_TRIES
    for key in keys:
        FailedTry.objects.get_or_create(key=key)
        row = FailedTry.objects.select_for_update().get(key=key)
        row.failures = 1 if now - row.last_at > FORGOTTEN_AFTER else row.failures + 1
        row.last_at, row.blocked_until = now, wait_until(row.failures, now)
        row.save()
        left = min(left, FREE_TRIES - row.failures)
    return left


def wait_until(failures: int, now: datetime) -> datetime | None:
    """Free tries first, then a minute, doubled by each further failure up to a quarter of an hour."""
    if failures < FREE_TRIES:
        return None
    return now + min(FIRST_WAIT * 2 ** min(failures - FREE_TRIES, 8), LONGEST_WAIT)


# ---- sessions ----


def note_sign_in(person: Person, session_key: str, address: str | None, browser: str) -> SignIn:
    """Remembers a signed-in browser, so that its owner can see and end it."""
    values = {"person": person, "address": address, "browser": browser[:300], "seen_at": timezone.now()}
    sign_in, _ = SignIn.objects.update_or_create(session_key=session_key, defaults=values)
    return sign_in


def note_seen(session_key: str, address: str | None) -> None:
    """Written at most once a minute."""
    now = timezone.now()
    SignIn.objects.filter(session_key=session_key, seen_at__lt=now - timedelta(minutes=1)).update(
        seen_at=now, address=address or F("address")
    )


def end_session(person: Person, pk: int) -> None:
    """Signs one browser out."""
    sign_in = SignIn.objects.filter(person=person, pk=pk).first()
    if sign_in is None:
        raise NotFound("That session has ended already.")
    Session.objects.filter(session_key=sign_in.session_key).delete()
    sign_in.delete()


def live_sessions(person: Person) -> list[SignIn]:
    """The person's sessions that still live; the rest is forgotten on the way."""
    mine = person.sign_ins.order_by("-seen_at")
    keys = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    mine.exclude(session_key__in=keys).delete()
    return list(mine)


@transaction.atomic
def set_preference(person: Person, key: str, value: str) -> None:
    """Keeps one choice of the person: the theme, the last space."""
    person = Person.objects.select_for_update().get(pk=person.pk)
    person.preferences[key] = value
    person.save(update_fields=["preferences"])


def note_space(person: Person, space: Space) -> None:
    """The space one was in last is where the front door leads."""
    if person.last_space_id != space.pk:
        Person.objects.filter(pk=person.pk).update(last_space=space)
