"""The states of what waits, kept true: a proposal that nothing holds any more becomes outdated."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from memoryhub.domain.jobs import periodic
from memoryhub.domain.proposals import expiry, notices
from memoryhub.domain.proposals.results import published, result, result_on
from memoryhub.domain.proposals.state import is_late, locked, mark_prompts, parents_of
from memoryhub.errors import HubError
from memoryhub.models import Proposal, Space

State = Proposal.State
CHECKED_AT_ONCE = 200


def outdate(proposal: Proposal, why: str) -> None:
    """Writes down that a waiting proposal no longer applies; its row is locked."""
    if proposal.state == State.PENDING:
        proposal.state, proposal.note, proposal.updated_at = State.OUTDATED, why[:2000], timezone.now()
        proposal.save(update_fields=["state", "note", "updated_at"])
        mark_prompts(proposal.space, [proposal.kind])
        notices.add(proposal, "proposal.outdated")


def refresh_state(proposal: Proposal) -> Proposal:
    """The proposal with its true state, for whoever looks at it: outdated if it no longer applies, expired past its date."""
    if is_late(proposal):
        expiry.expire_one(proposal.space, proposal.number)
    elif proposal.state == State.PENDING and (why := _problem(proposal)):
        with transaction.atomic():
            outdate(locked(proposal.space, proposal.number), why)
    else:
        return proposal
    return Proposal.objects.select_related("space", "agent").get(pk=proposal.pk)


def _problem(proposal: Proposal) -> str:
    try:
        return result(proposal).problem
    except HubError:  # its disk cannot be read now: that says nothing about the proposal
        return ""


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
            now = published(mine[0])
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
