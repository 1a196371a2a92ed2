"""Whom a provider of OpenID Connect, or a proxy, signs in: a person known here, somebody new, or nobody.

A provider names people by `sub`, which is kept in a row of allauth.socialaccount. Its names and e-mail addresses never take over
an account; a verified address finds one only where the setting allows it and whoever runs the hub wrote it down.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db import IntegrityError, transaction

from memoryhub.domain import activity
from memoryhub.domain.accounts.people import create_person, find_person
from memoryhub.errors import Conflict, Forbidden, HubError, NotFound
from memoryhub.models import HUB, Actor, Person

MAX_SUBJECT = 255  # characters, as OpenID Connect has it
NOT_KNOWN = "You are not known to this hub. Ask an owner of a space, or whoever runs the hub, to add you first."
DEACTIVATED = "This account is deactivated. Ask the owner of the hub."


@dataclass(frozen=True)
class Identity:
    """What a provider says about whoever signed in there. `email` is empty unless the provider calls it verified."""

    issuer: str
    subject: str
    name: str = ""
    email: str = ""
    groups: tuple[str, ...] = ()

    @property
    def provider(self) -> str:
        """Names the issuer in rows: another issuer with the same subjects is another provider."""
        return f"oidc:{hashlib.sha256(self.issuer.encode()).hexdigest()[:40]}"

    @property
    def uid(self) -> str:
        return hashlib.sha256(self.subject.encode()).hexdigest()


@transaction.atomic
def person_of_identity(identity: Identity) -> Person:
    """The person to sign in: connected before, found by a verified address, or new, as the settings allow."""
    if not identity.subject or len(identity.subject) > MAX_SUBJECT:
        raise Forbidden("The provider did not say who signed in.", code="no_subject")
    person = connected_person(identity) or person_by_email(identity)
    if person is None and may_sign_up(identity):
        person = create_with_free_name(identity)
    if person is None:
        raise Forbidden(NOT_KNOWN, code="not_known")
    if not person.is_active:
        raise Forbidden(DEACTIVATED, code="deactivated")
    connect(person, identity)
    return person


def connected_person(identity: Identity) -> Person | None:
    row = SocialAccount.objects.filter(provider=identity.provider, uid=identity.uid).select_related("user").first()
    return row.user if row else None


def person_by_email(identity: Identity) -> Person | None:
    """The one person for whom whoever runs the hub noted this address; none where the setting is off or two have it."""
    if not (settings.OIDC and settings.OIDC.link_by_email and identity.email):
        return None
    found = list(Person.objects.filter(email__iexact=identity.email, email_is_given=True)[:2])
    return found[0] if len(found) == 1 else None


def may_sign_up(identity: Identity) -> bool:
    provider = settings.OIDC
    if provider is None or provider.sign_up == "known":
        return False
    return provider.sign_up == "anybody" or identity.email.rpartition("@")[2].lower() in provider.domains


def create_with_free_name(identity: Identity) -> Person:
    """An account named as the provider suggests; with a number where somebody has the name. It never takes one over."""
    wanted = re.sub(r"[^\w.@+-]", "-", identity.name or identity.email.partition("@")[0])[:50].strip("-") or "person"
    for number in range(1, 1000):
        name = wanted if number == 1 else f"{wanted}-{number}"
        if find_person(name) is None:
            return create_person(HUB, name, email=identity.email)
    raise Conflict(f"There are too many people named {wanted}.")


def connect(person: Person, identity: Identity) -> None:
    """Notes that this identity signs this person in; of two at the same moment one writes it."""
    if SocialAccount.objects.filter(provider=identity.provider, uid=identity.uid, user=person).exists():
        return
    try:
        with transaction.atomic():
            SocialAccount.objects.create(
                user=person, provider=identity.provider, uid=identity.uid,
                extra_data={"issuer": identity.issuer, "subject": identity.subject},
            )  # fmt: skip
    except IntegrityError:
        raise Conflict("This sign-in belongs to another account already.", code="connected_elsewhere") from None
    says = "connected sign-in by"
    activity.record(None, Actor.of_person(person), "people.connect", says, identity.issuer)


@transaction.atomic
def connect_identity(person: Person, identity: Identity) -> None:
    """Lets an identity sign in the person who is signed in and asked for it."""
    other = connected_person(identity)
    if other is not None and other.pk != person.pk:
        raise Conflict("This sign-in belongs to another account already.", code="connected_elsewhere")
    connect(person, identity)


def identities_of(person: Person) -> list[SocialAccount]:
    return list(SocialAccount.objects.filter(user=person).order_by("pk"))


@transaction.atomic
def disconnect_identity(person: Person, pk: int) -> None:
    """Ends sign-in by this identity."""
    row = SocialAccount.objects.select_for_update().filter(user=person, pk=pk).first()
    if row is None:
        raise NotFound("There is no such connection.")
    row.delete()
    issuer = row.extra_data.get("issuer", "")
    activity.record(None, Actor.of_person(person), "people.disconnect", "disconnected sign-in by", issuer)


@transaction.atomic
def person_of_proxy(name: str) -> Person:
    """The person whom a trusted proxy names."""
    person = find_person(name)
    if person is None and settings.PROXY and settings.PROXY.sign_up == "anybody":
        try:
            person = create_person(HUB, name)
        except HubError as error:
            raise Forbidden(error.message, code="not_known") from None
    if person is None:
        raise Forbidden(NOT_KNOWN, code="not_known")
    if not person.is_active:
        raise Forbidden(DEACTIVATED, code="deactivated")
    return person
