"""Name and password, and how failed tries slow down the next ones.

Tries are counted for the person that a name finds, not for the letters typed: `RK`, `rk` and what PostgreSQL folds to the same
name share one count. Names that nobody has are counted by what they fold to, so that the answer tells nobody which exist.
"""

from __future__ import annotations

import logging
import unicodedata
from datetime import datetime, timedelta

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from memoryhub.domain.accounts.people import find_person
from memoryhub.errors import TooMany, Unauthenticated
from memoryhub.models import FailedTry, Person
from memoryhub.requests import network_of
from memoryhub.text.counted import counted

logger = logging.getLogger(__name__)
FREE_TRIES = 5
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(minutes=15)
FORGOTTEN_AFTER = timedelta(hours=1)


def check_password(username: str, password: str, address: str | None) -> Person:
    """The active person that this name and password belong to. Five failed tries slow the person and the address down."""
    person = find_person(username)
    keys = throttle_keys(person, username, address)
    refuse_if_blocked(keys)
    if person is None:
        make_password(password)  # takes as long as a check: time must not tell which names exist
    fits = person is not None and person.check_password(password)
    if person is None or not fits or not person.is_active:
        left = count_failure(keys)
        says = f"That name and password do not belong together.{what_is_left(left)}"
        raise Unauthenticated(says, code="wrong_password", tries_left=left)
    forget_failures(keys[0])
    return person


def throttle_keys(person: Person | None, username: str, address: str | None) -> list[str]:
    """Under what tries are counted: the person found, else the folded name; and the address."""
    who = f"person:{person.pk}" if person else f"name:{folded(username)[:64]}"
    return [who, *([f"address:{network_of(address)}"] if address else [])]


def folded(username: str) -> str:
    """The name as PostgreSQL's `UPPER` and NFKC see it: two spellings that would find one person fold to one text."""
    return unicodedata.normalize("NFKC", username).strip().upper().casefold()


def what_is_left(left: int) -> str:
    """How many tries are free, or how long one has to wait after that many too many."""
    if left <= 0:
        seconds = int(wait_after(FREE_TRIES - left).total_seconds())
        return f" Wait {'a minute' if seconds == 60 else in_words(seconds)} before the next try."
    tries = "One more try" if left == 1 else f"{left} more tries"
    return f" {tries}, then you have to wait a minute."


def refuse_if_blocked(keys: list[str]) -> None:
    """TooMany, with the seconds to wait, while one of the keys has to wait."""
    now = timezone.now()
    blocked = FailedTry.objects.filter(key__in=keys, blocked_until__gt=now).order_by("-blocked_until").first()
    if blocked and blocked.blocked_until:
        seconds = max(1, round((blocked.blocked_until - now).total_seconds()))
        which = "this address" if blocked.key.startswith("address:") else "this name"
        raise TooMany(
            f"Too many failed tries for {which}. Wait {in_words(seconds)}, then try again.",
            code="slow_down",
            retry_after=seconds,
        )


def in_words(seconds: int) -> str:
    if seconds < 90:
        return counted(seconds, "second")
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
        # What was typed as a name may be a password.
        whose = "a name that nobody has" if key.startswith("name:") else key
        logger.warning(
            "failed sign-in of %s, number %d%s", whose, row.failures, ", slowed down" if row.blocked_until else ""
        )
    return left


def forget_failures(key: str) -> None:
    FailedTry.objects.filter(key=key).delete()


def wait_until(failures: int, now: datetime) -> datetime | None:
    return now + wait_after(failures) if failures >= FREE_TRIES else None


def wait_after(failures: int) -> timedelta:
    """Free tries first, then a minute, doubled by each further failure up to a quarter of an hour."""
    return min(FIRST_WAIT * 2 ** min(failures - FREE_TRIES, 8), LONGEST_WAIT)
