"""Passkeys (WebAuthn): made and checked by fido2, kept in the rows of allauth.mfa.

A passkey here is kept by the device itself and asks for its finger, face or PIN: so it is both factors at once, signs in without
a name, and serves as second factor too. Browsers make them for a name, not for an address such as 127.0.0.1.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from allauth.mfa.models import Authenticator
from django.db import transaction
from django.utils import timezone

from memoryhub.domain.accounts.second_factor import PASSKEY, first_recovery_codes, lock, record, remove_dangling_codes
from memoryhub.errors import Conflict, Invalid, NotFound, Unauthenticated
from memoryhub.models import Person

MAX_PASSKEYS = 20
REFUSED = "This passkey was not accepted. Try again, or use another way to sign in."


def fido2() -> Any:
    """The library of passkeys."""
    # Inside: with cryptography it takes 10 MB, for the few processes that meet a passkey.
    import fido2.server

    return fido2


@dataclass(frozen=True)
class Site:
    """Where the hub is opened: `https://memory.example.org`. A passkey counts for this origin alone."""

    origin: str

    @property
    def name(self) -> str:
        return urlsplit(self.origin).hostname or ""

    @property
    def takes_passkeys(self) -> bool:
        """Whether browsers make passkeys here: they want TLS or localhost, and a name."""
        try:
            ipaddress.ip_address(self.name)
        except ValueError:
            return self.origin.startswith("https://") or self.name == "localhost" or self.name.endswith(".localhost")
        return False

    def server(self) -> Any:
        relying = fido2().webauthn.PublicKeyCredentialRpEntity(id=self.name, name="memoryhub")
        return fido2().server.Fido2Server(relying, verify_origin=lambda origin: origin == self.origin)


State = dict[str, Any]  # what the session keeps from the question to the answer


def begin_passkey(person: Person, site: Site) -> tuple[dict[str, Any], State]:
    """What the browser needs to make a passkey, and what `add_passkey` needs to check it."""
    if not site.takes_passkeys:
        raise Conflict("Browsers make passkeys over HTTPS or on localhost only.", code="no_passkeys_here")
    webauthn = fido2().webauthn
    user = webauthn.PublicKeyCredentialUserEntity(
        id=str(person.pk).encode(), name=person.username, display_name=person.username
    )
    options, state = site.server().register_begin(
        user,
        credentials=credentials_of(person),
        resident_key_requirement=webauthn.ResidentKeyRequirement.REQUIRED,
        user_verification=webauthn.UserVerificationRequirement.REQUIRED,
    )
    return dict(options), dict(state)


@transaction.atomic
def add_passkey(person: Person, site: Site, state: State, answer: str, name: str) -> list[str]:
    """Enrols the passkey that the browser made. Returns new recovery codes where the person had none."""
    lock(person)
    mine = Authenticator.objects.filter(user_id=person.pk, type=PASSKEY)
    if mine.count() >= MAX_PASSKEYS:
        raise Conflict(f"{MAX_PASSKEYS} passkeys are enough. Remove one first.", code="too_many_passkeys")
    credential = parsed(answer)
    made = checked(lambda: site.server().register_complete(state, credential))
    if made.credential_data.credential_id != checked(lambda: fido2().utils.websafe_decode(credential["id"])):
        raise Unauthenticated(REFUSED, code="wrong_passkey")
    if Authenticator.objects.filter(type=PASSKEY, data__credential__id=credential["id"]).exists():
        raise Conflict("This passkey is enrolled already.", code="enrolled_already")
    data = {"name": name.strip()[:100] or "Passkey", "credential": credential, "counter": made.counter}
    Authenticator.objects.create(user_id=person.pk, type=PASSKEY, data=data)
    record(person, "people.add_factor", f"added the passkey {data['name']}")
    return first_recovery_codes(person)


@transaction.atomic
def remove_passkey(person: Person, pk: int) -> None:
    """Removes a passkey; without another factor the recovery codes go too."""
    lock(person)
    one = Authenticator.objects.filter(user_id=person.pk, type=PASSKEY, pk=pk).first()
    if one is None:
        raise NotFound("There is no such passkey.")
    one.delete()
    record(person, "people.remove_factor", f"removed the passkey {one.data['name']}")
    remove_dangling_codes(person)


def begin_passkey_check(site: Site, person: Person | None = None) -> tuple[dict[str, Any], State]:
    """What the browser needs to show a passkey: of this person, or of whoever is there."""
    credentials = credentials_of(person) if person else None
    options, state = site.server().authenticate_begin(
        credentials, user_verification=fido2().webauthn.UserVerificationRequirement.REQUIRED
    )
    return dict(options), dict(state)


@transaction.atomic
def check_passkey(site: Site, state: State, answer: str, person: Person | None = None) -> Person:
    """The active person whose passkey answered the question in `state`; it has to be `person` where one is given."""
    given = parsed(answer)
    found = Authenticator.objects.select_for_update().filter(type=PASSKEY, data__credential__id=given["id"]).first()
    owner = Person.objects.filter(pk=found.user_id, is_active=True).first() if found else None
    if found is None or owner is None or (person is not None and person.pk != owner.pk):
        raise Unauthenticated(REFUSED, code="wrong_passkey")
    checked(lambda: site.server().authenticate_complete(state, credentials_of(owner, found.pk), given))
    take_counter(found, given)
    return owner


def take_counter(one: Authenticator, given: dict[str, Any]) -> None:
    """Refuses a passkey whose counter does not grow: somebody has a copy. Most passkeys do not count and send 0."""
    counter = fido2().webauthn.AuthenticationResponse.from_dict(given).response.authenticator_data.counter
    if (counter or one.data.get("counter")) and counter <= one.data.get("counter", 0):
        raise Unauthenticated(REFUSED, code="wrong_passkey")
    one.data["counter"], one.last_used_at = counter, timezone.now()
    one.save(update_fields=["data", "last_used_at"])


def credentials_of(person: Person, pk: int | None = None) -> list[Any]:
    """What fido2 needs of the person's passkeys, or of one."""
    rows = Authenticator.objects.filter(user_id=person.pk, type=PASSKEY, **({"pk": pk} if pk else {})).order_by("pk")
    made = [
        fido2().webauthn.RegistrationResponse.from_dict(one.data["credential"]).response.attestation_object
        for one in rows
    ]
    return [attestation.auth_data.credential_data for attestation in made]


def parsed(answer: str) -> dict[str, Any]:
    """The browser's answer; anything may stand in it."""
    try:
        found = json.loads(answer[:20_000])
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("id"), str) or "\x00" in answer or "\\u0000" in answer:
        raise Invalid("The browser sent no passkey. Try again.", field="credential")
    return found


def checked(check: Any) -> Any:
    """The result of a check by fido2, which meets what anybody may send."""
    try:
        return check()
    except Exception as error:
        raise Unauthenticated(REFUSED, code="wrong_passkey") from error
