"""The second factor of a person: an app that shows codes (TOTP), and recovery codes; passkeys are in `passkeys`.

Rows and codes are those of allauth.mfa. What it leaves to a cache of one process is kept in the row here, because the hub has
several: a code counts once, whichever process it is sent to.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt, encrypt
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memoryhub import encryption
from memoryhub.domain import activity
from memoryhub.domain.accounts.access import require_hub_owner
from memoryhub.domain.accounts.sessions import end_session
from memoryhub.domain.accounts.throttle import (
    count_failure,
    forget_failures,
    refuse_if_blocked,
    what_is_left,
)
from memoryhub.errors import Conflict, Invalid, Unauthenticated
from memoryhub.models import Actor, Person
from memoryhub.requests import network_of

TOTP, RECOVERY, PASSKEY = Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES, Authenticator.Type.WEBAUTHN
CODES, FEW_CODES = 10, 3


class Adapter(DefaultMFAAdapter):
    """Keeps secrets of second factors encrypted by the hub's key, so that a copy of the database alone does not hold them."""

    def encrypt(self, text: str) -> str:
        return encryption.encrypt(text, _key())

    def decrypt(self, encrypted_text: str) -> str:
        return encryption.decrypt(encrypted_text, _key())


def _key() -> bytes:
    return b"memoryhub second factor " + settings.SECRET_KEY.encode()


@dataclass
class Factors:
    """What a person has enrolled."""

    totp: Authenticator | None = None
    recovery: Authenticator | None = None
    passkeys: list[Authenticator] = field(default_factory=list)

    @property
    def any(self) -> bool:
        return bool(self.totp or self.passkeys)

    @property
    def codes_left(self) -> int:
        # Counted without the codes themselves: to decrypt them would load a library for a number.
        return CODES - self.recovery.data["used_mask"].bit_count() if self.recovery else 0

    @property
    def few_codes(self) -> bool:
        return self.any and self.codes_left <= FEW_CODES


def second_factors(person: Person) -> Factors:
    """The second factors of a person, by one query."""
    found = Factors()
    for one in Authenticator.objects.filter(user_id=person.pk).order_by("pk"):
        if one.type == TOTP:
            found.totp = one
        elif one.type == RECOVERY:
            found.recovery = one
        else:
            found.passkeys.append(one)
    return found


def has_second_factor(person: Person) -> bool:
    return Authenticator.objects.filter(user_id=person.pk, type__in=(TOTP, PASSKEY)).exists()


# ---- codes of an app ----


def new_totp_secret() -> str:
    return totp.generate_totp_secret()


def totp_address(person: Person, secret: str, hub: str) -> str:
    """The address that an app reads from the QR code."""
    parameters = urlencode({"secret": secret, "issuer": f"memoryhub {hub}"}, quote_via=quote)
    return f"otpauth://totp/{quote(f'memoryhub {hub}:{person.username}')}?{parameters}"


@transaction.atomic
def activate_totp(person: Person, secret: str, code: str) -> list[str]:
    """Enrols an app whose code shows that it holds the secret. Returns new recovery codes where the person had none."""
    lock(person)
    if Authenticator.objects.filter(user_id=person.pk, type=TOTP).exists():
        raise Conflict("An app is enrolled already. Remove it first.", code="enrolled_already")
    counter = matching_counter(secret, code)
    if counter is None:
        raise Invalid(
            "That is not the code of the app. Check the clock of the device, then try the next code.", field="code"
        )
    Authenticator.objects.create(user_id=person.pk, type=TOTP, data={"secret": encrypt(secret), "used": counter})
    record(person, "people.add_factor", "added an app as second factor")
    return first_recovery_codes(person)


@transaction.atomic
def remove_totp(person: Person) -> None:
    """Removes the app; without another factor the recovery codes go too."""
    lock(person)
    if Authenticator.objects.filter(user_id=person.pk, type=TOTP).delete()[0]:
        record(person, "people.remove_factor", "removed the app that was a second factor")
    remove_dangling_codes(person)


def matching_counter(secret: str, code: str) -> int | None:
    """The step of time for which this is the code; the step before and after count too, as clocks differ."""
    typed = "".join(code.split())
    if not (typed.isascii() and typed.isdigit()):
        return None
    try:
        now = next(totp.yield_hotp_counters_from_time())
        return next(
            (n for n in (now - 1, now, now + 1) if totp.format_hotp_value(totp.hotp_value(secret, n)) == typed), None
        )
    except (binascii.Error, ValueError):
        return None


# ---- recovery codes ----


def first_recovery_codes(person: Person) -> list[str]:
    """Recovery codes for a person who has none; nothing for others."""
    if Authenticator.objects.filter(user_id=person.pk, type=RECOVERY).exists():
        return []
    return RecoveryCodes.activate(person).generate_codes()


@transaction.atomic
def new_recovery_codes(person: Person) -> list[str]:
    """Ten new codes; the old ones end."""
    lock(person)
    if not has_second_factor(person):
        raise Conflict("Recovery codes need a second factor. Add an app or a passkey first.", code="no_factor")
    Authenticator.objects.filter(user_id=person.pk, type=RECOVERY).delete()
    record(person, "people.new_recovery_codes", "created new recovery codes")
    return first_recovery_codes(person)


def remove_dangling_codes(person: Person) -> None:
    if not has_second_factor(person):
        Authenticator.objects.filter(user_id=person.pk, type=RECOVERY).delete()


# ---- checking ----


def check_code(person: Person, code: str, address: str | None) -> str:
    """Spends a code of the app or a recovery code, and says which it was. Wrong ones slow the person and the address down."""
    keys = [f"code:{person.pk}", *([f"address:{network_of(address)}"] if address else [])]
    refuse_if_blocked(keys)
    kind = spend_code(person, code)
    if not kind:
        left = count_failure(keys)
        says = f"That code is wrong or was used already.{what_is_left(left)}"
        raise Unauthenticated(says, code="wrong_code", tries_left=left)
    forget_failures(keys[0])
    return kind


@transaction.atomic
def spend_code(person: Person, code: str) -> str:
    """`totp` or `recovery_codes`; empty where the code fits neither. Of two who send it at once one gets in."""
    for one in Authenticator.objects.select_for_update().filter(user_id=person.pk, type__in=(TOTP, RECOVERY)):
        if spend_totp(one, code) if one.type == TOTP else RecoveryCodes(one).validate_code("".join(code.split())):
            Authenticator.objects.filter(pk=one.pk).update(last_used_at=timezone.now())
            if one.type == RECOVERY:
                record(person, "people.use_recovery_code", "used a recovery code")
            return str(one.type)
    return ""


def spend_totp(one: Authenticator, code: str) -> bool:
    """Whether the code is right and newer than the last one that was taken; then it is the last one."""
    counter = matching_counter(decrypt(one.data["secret"]), code)
    if counter is None or counter <= one.data.get("used", 0):
        return False
    one.data["used"] = counter
    one.save(update_fields=["data"])
    return True


# ---- when it is lost ----


@transaction.atomic
def reset_second_factor(actor: Actor, person: Person) -> bool:
    """Removes every second factor of a person and ends their sessions; says whether there was one."""
    require_hub_owner(actor, "resets second factors")
    lock(person)
    if not Authenticator.objects.filter(user_id=person.pk).delete()[0]:
        return False
    for sign_in in person.sign_ins.all():
        end_session(person, sign_in.pk)
    person.links.filter(used_at=None).delete()
    activity.record(None, actor, "people.reset_factor", "reset the second factor of", person.username)
    return True


def lock(person: Person) -> None:
    """One change of the factors of a person at a time."""
    Person.objects.select_for_update().get(pk=person.pk)


def record(person: Person, verb: str, says: str) -> None:
    activity.record(None, Actor.of_person(person), verb, says)
