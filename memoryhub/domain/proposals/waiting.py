"""What ends the waiting of a proposal without a decision: its date is over, or what it changes moved on.

Silence never approves. What is past its date is decided by nobody any more: a decision finds that out on the row that it locks, a
list before it shows anything, and the background process writes down what nobody looks at. It goes by the clock of the database: a
node whose own is wrong ends nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import activity, notify
from memoryhub.domain.jobs import periodic
from memoryhub.domain.proposals.kinds import kind_of
from memoryhub.domain.proposals.results import Result, result, result_on
from memoryhub.domain.proposals.state import (
    OPEN,
    is_late,
    locked,
    mark_prompts,
    outdate_children,
    parents_of,
)
from memoryhub.errors import HubError
from memoryhub.models import HUB, Proposal, Space

State = Proposal.State
WARNED_AT_ONCE = 1000
CHECKED_AT_ONCE = 200
EXPIRED_AT_ONCE = 5000  # so many a list expires before it shows anything; the rest is the background process's
NOTE = "Nobody decided in time; it was not applied."
# In the order in which whoever takes several rows takes them.
EXPIRE = """
WITH due AS (
    SELECT id FROM memoryhub_proposal
    WHERE space_id = %s AND state IN ('pending', 'outdated') AND expires_at <= coalesce(%s, statement_timestamp())
      AND {which} ORDER BY number LIMIT %s FOR UPDATE
)
UPDATE memoryhub_proposal p SET state = 'expired', note = %s, decided_at = greatest(statement_timestamp(), p.created_at),
    updated_at = statement_timestamp(), decided_by_id = NULL, decided_by_name = %s
FROM due WHERE p.id = due.id RETURNING p.number, p.path, p.kind
"""
ANY_LATE = """
SELECT EXISTS (SELECT FROM memoryhub_proposal WHERE space_id = %s AND state IN ('pending', 'outdated')
    AND expires_at <= coalesce(%s::timestamptz, statement_timestamp()))
"""
EXPIRE_ONE, EXPIRE_ALL = EXPIRE.format(which="number = %s"), EXPIRE.format(which="true")


def expire_late(space: Space, now: datetime | None = None) -> int:
    """Expires what is past its date in this space and says how many: every list of what waits begins here."""
    return len(_expire(space, EXPIRE_ALL, now)) if statements.row(ANY_LATE, [space.pk, now])[0] else 0


@periodic("proposals.expire", every=timedelta(minutes=1))
def expire(now: datetime | None = None) -> dict[str, int]:
    """Expires what is past its date, whether anybody looks or not."""
    late = Proposal.objects.filter(state__in=OPEN, expires_at__lte=now or Now())
    ended = 0
    for space in Space.objects.filter(pk__in=late.values("space_id")):
        while some := expire_late(space, now):
            ended += some
    return {"expired": ended}


def expire_one(space: Space, number: int) -> bool:
    """Expires this one if it is past its date; of two who find that out at one moment one does."""
    return bool(_expire(space, EXPIRE_ONE, None, number))


@transaction.atomic
def _expire(space: Space, sql: str, by: datetime | None, *which: int) -> list[int]:
    """One statement for the states and one for the lines of activity, however many they are."""
    found = statements.changed(sql, [space.pk, by, *which, EXPIRED_AT_ONCE, NOTE, HUB.name])
    if not found:
        return []
    statements.send_change(activity.lines_as_change(*(_line(space, one, path) for one, path, _ in found)))
    numbers = [one for one, _, _ in found]
    mark_prompts(space, {kind for _, _, kind in found})
    outdate_children(space, numbers, State.EXPIRED)
    notify.add_notice_later(space, numbers, "proposal.expired")
    return numbers


def _line(space: Space, number: int, path: str) -> activity.Line:
    return activity.make_line(
        space, HUB, "proposals.expire", "let expire", f"proposal {number}", url=f"proposals/{number}/",
        adds="because nobody decided", path=path, details={"proposal": number},
    )  # fmt: skip


@periodic("proposals.warn", every=timedelta(minutes=15))
def warn(now: datetime | None = None) -> dict[str, int]:
    """Warns once of each proposal that ends soon, as many days before as its space chose."""
    now = now or timezone.now()
    waiting = Proposal.objects.filter(state=State.PENDING, warned_at=None, expires_at__gt=now)
    warned = 0
    for space in Space.objects.filter(pk__in=waiting.values("space_id")):
        end = now + timedelta(days=space.settings["warn_days"])
        near = waiting.within(space).filter(expires_at__lte=end).order_by("expires_at")
        warned += sum(
            _warn_one(space, number, now) for number in near.values_list("number", flat=True)[:WARNED_AT_ONCE]
        )
    return {"warned": warned}


@transaction.atomic
def _warn_one(space: Space, number: int, now: datetime) -> bool:
    proposal = locked(space, number)
    if proposal.state != State.PENDING or proposal.warned_at:
        return False
    proposal.warned_at = now
    proposal.save(update_fields=["warned_at"])
    notify.add_notice(proposal, "proposal.expiring")
    return True


# ---- what no longer applies


def outdate(proposal: Proposal, why: str) -> None:
    """Writes down that a waiting proposal no longer applies; its row is locked."""
    if proposal.state == State.PENDING:
        proposal.state, proposal.note, proposal.updated_at = State.OUTDATED, why[:2000], timezone.now()
        proposal.save(update_fields=["state", "note", "updated_at"])
        mark_prompts(proposal.space, [proposal.kind])
        notify.add_notice(proposal, "proposal.outdated")


def refresh_state(proposal: Proposal) -> tuple[Proposal, Result | None]:
    """The proposal with its true state, for whoever looks at it: outdated if it no longer applies, expired past its date. And its
    result, where that had to be computed and is still so."""
    if is_late(proposal):
        expire_one(proposal.space, proposal.number)
    elif proposal.state == State.PENDING:
        found = _result(proposal)
        if found is None or found.applies:
            return proposal, found
        with transaction.atomic():
            outdate(locked(proposal.space, proposal.number), found.problem)
    else:
        return proposal, None
    return Proposal.objects.select_related("space", "agent").get(pk=proposal.pk), None


def _result(proposal: Proposal) -> Result | None:
    try:
        return result(proposal)
    except HubError:  # its disk cannot be read now: that says nothing about the proposal
        return None


def outdate_waiting(space: Space, path: str) -> int:
    """After a file changed: outdates the proposals for it that no longer apply, and says how many. Rows that others have
    locked are left to them."""
    with transaction.atomic():
        rows = Proposal.objects.within(space).filter(path=path, state=State.PENDING).order_by("number")
        rows = rows.select_for_update(of=("self",), skip_locked=True).select_related("space", "agent")
        problems = _problems(space, list(rows[:CHECKED_AT_ONCE]))
        for proposal, why in problems:
            outdate(proposal, why)
    return len(problems)


def _problems(space: Space, waiting: list[Proposal]) -> list[tuple[Proposal, str]]:
    """Those that no longer apply, and why. The file is read once for each thread that asked."""
    parents, found = parents_of(space, waiting), []
    for thread in dict.fromkeys(one.thread_id for one in waiting):
        mine = [one for one in waiting if one.thread_id == thread]
        try:
            now = kind_of(mine[0]).published(mine[0])
        except HubError:
            continue
        found += [(one, why) for one in mine if (why := result_on(one, now, parents=parents).problem)]
    return found


@periodic("proposals.sweep", every=timedelta(minutes=5))
def sweep() -> dict[str, int]:
    """Looks whether what waits still applies, where the file moved on without the gate (an editor, a sync)."""
    moved = (
        Proposal.objects.filter(state=State.PENDING)
        .filter(space__files__path=F("path"), space__files__modified_at__gt=timezone.now() - timedelta(minutes=10))
        .values_list("space_id", "path")
        .distinct()[:200]
    )
    return {"outdated": sum(outdate_waiting(Space.objects.get(pk=pk), path) for pk, path in moved)}
