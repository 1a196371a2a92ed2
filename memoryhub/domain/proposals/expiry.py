"""The end of waiting: silence never approves. What is past its date is decided by nobody any more: a decision finds that
out on the row it decides on, a list before it shows anything, and the background process writes down what nobody looks at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.domain import activity, spaces
from memoryhub.domain.access import HUB
from memoryhub.domain.jobs import periodic
from memoryhub.domain.proposals import notices
from memoryhub.domain.proposals.asking import already_decided, close, get, is_late, locked, outdate_children
from memoryhub.models import Proposal, Space

State = Proposal.State
MOST = 1000


class Late(Exception):
    """Somebody decides after the date: the transaction ends, then the end is written down."""


def check_in_time(proposal: Proposal) -> None:
    """For a decision, inside of `in_time`, on the row that it holds or that its one statement compares."""
    if is_late(proposal):
        raise Late


@contextmanager
def in_time(space: Space, number: int) -> Iterator[None]:
    """Around a decision's transaction: who comes too late is told so, and the proposal has expired."""
    try:
        yield
    except Late:
        expire_one(space, number)
        raise already_decided(get(space, number)) from None


def late(now: datetime | None = None) -> QuerySet[Proposal]:
    waiting = Proposal.objects.filter(state__in=[State.PENDING, State.OUTDATED])
    return waiting.filter(expires_at__lte=now or timezone.now()).order_by("expires_at")


def expire_late(space: Space) -> int:
    """Ends what is past its date in this space: every list of what waits begins here."""
    return sum(expire_one(space, number) for number in late().within(space).values_list("number", flat=True)[:MOST])


@periodic("proposals.expire", every=timedelta(minutes=1))
def expire(now: datetime | None = None) -> dict[str, int]:
    """Ends what is past its date, whether anybody looks or not."""
    numbers = list(late(now).values_list("space_id", "number")[:MOST])
    return {"expired": sum(expire_one(Space.objects.get(pk=pk), number, now) for pk, number in numbers)}


@transaction.atomic
def expire_one(space: Space, number: int, now: datetime | None = None) -> bool:
    """Writes down that nobody decided in time; of two who find that out at one moment one does."""
    proposal = locked(space, number)
    if not is_late(proposal, now):
        return False
    close(proposal, State.EXPIRED, HUB, "Nobody decided in time; it was not applied.")
    activity.record(
        space, HUB, "proposals.expire", "let expire", f"proposal {number}", url=f"proposals/{number}/",
        adds="unapplied", path=proposal.path, details={"proposal": number},
    )  # fmt: skip
    outdate_children(proposal)
    notices.tell(proposal, "proposal.expired")
    return True


@periodic("proposals.warn", every=timedelta(minutes=15))
def warn(now: datetime | None = None) -> dict[str, int]:
    """Tells once of each proposal that ends soon, as many days before as its space chose."""
    now = now or timezone.now()
    waiting = Proposal.objects.filter(state=State.PENDING, warned_at=None, expires_at__gt=now)
    told = 0
    for space in Space.objects.filter(pk__in=waiting.values("space_id")):
        end = now + timedelta(days=spaces.get_setting(space, "warn_days"))
        near = waiting.within(space).filter(expires_at__lte=end).order_by("expires_at")
        told += sum(_warn_one(space, number, now) for number in near.values_list("number", flat=True)[:MOST])
    return {"warned": told}


@transaction.atomic
def _warn_one(space: Space, number: int, now: datetime) -> bool:
    proposal = locked(space, number)
    if proposal.state != State.PENDING or proposal.warned_at:
        return False
    proposal.warned_at = now
    proposal.save(update_fields=["warned_at"])
    notices.tell(proposal, "proposal.expiring")
    return True
