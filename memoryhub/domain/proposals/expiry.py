"""The end of waiting: silence never approves. What is past its date is decided by nobody any more: a decision finds that
out on the row it decides on, a list before it shows anything, and the background process writes down what nobody looks at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import activity, spaces
from memoryhub.domain.jobs import periodic
from memoryhub.domain.proposals import notices
from memoryhub.domain.proposals.ask import already_decided, get, is_late, locked, outdate_children
from memoryhub.models import HUB, Proposal, Space

State = Proposal.State
MOST = 1000
AT_ONCE = 5000  # so many a list ends before it shows anything; what is more the background process ends
NOTE = "Nobody decided in time; it was not applied."
# In the order in which whoever takes several rows takes them.
END = """
WITH due AS (
    SELECT id FROM memoryhub_proposal
    WHERE space_id = %s AND state IN ('pending', 'outdated') AND expires_at <= %s AND {which} ORDER BY number LIMIT %s FOR UPDATE
)
UPDATE memoryhub_proposal p SET state = 'expired', note = %s, decided_at = %s, updated_at = %s, decided_by_id = NULL,
    decided_by_name = %s
FROM due WHERE p.id = due.id RETURNING p.number, p.path
"""
END_ONE, END_ALL = END.format(which="number = %s"), END.format(which="true")


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


def ends_soon(proposal: Proposal) -> bool:
    """Whether so little of its time is left that its space wants people to be warned."""
    warn = timedelta(days=spaces.get_setting(proposal.space, "warn_days"))
    waits = proposal.state in (State.PENDING, State.OUTDATED)
    return waits and proposal.expires_at is not None and proposal.expires_at - warn <= timezone.now()


def expire_late(space: Space, now: datetime | None = None) -> int:
    """Ends what is past its date in this space: every list of what waits begins here."""
    waiting = Proposal.objects.within(space).filter(state__in=[State.PENDING, State.OUTDATED])
    if not waiting.filter(expires_at__lte=now or timezone.now()).exists():
        return 0
    return len(_end(space, END_ALL, now))


@periodic("proposals.expire", every=timedelta(minutes=1))
def expire(now: datetime | None = None) -> dict[str, int]:
    """Ends what is past its date, whether anybody looks or not."""
    now = now or timezone.now()
    late = Proposal.objects.filter(state__in=[State.PENDING, State.OUTDATED], expires_at__lte=now)
    ended = 0
    for space in Space.objects.filter(pk__in=late.values("space_id")):
        while some := expire_late(space, now):
            ended += some
    return {"expired": ended}


def expire_one(space: Space, number: int, now: datetime | None = None) -> bool:
    """Writes down that nobody decided in time; of two who find that out at one moment one does."""
    return bool(_end(space, END_ONE, now, number))


@transaction.atomic
def _end(space: Space, sql: str, by: datetime | None, *which: int) -> list[int]:
    """One statement for the states and one for the lines of activity, however many they are."""
    now = timezone.now()
    found = statements.changed(sql, [space.pk, by or now, *which, AT_ONCE, NOTE, now, now, HUB.name])
    if not found:
        return []
    statements.run(activity.adding(*(_line(space, one, path) for one, path in found)))
    numbers = [one for one, _ in found]
    outdate_children(space, numbers, State.EXPIRED)
    notices.tell_later(space, numbers, "proposal.expired")
    return numbers


def _line(space: Space, number: int, path: str) -> activity.Line:
    return activity.line(
        space, HUB, "proposals.expire", "let expire", f"proposal {number}", url=f"proposals/{number}/",
        adds="unapplied", path=path, details={"proposal": number},
    )  # fmt: skip


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
