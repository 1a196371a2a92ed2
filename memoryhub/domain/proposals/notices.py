"""Notices to webhooks: what happened to a proposal is put on their list in the same transaction, and sent by a job after it."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from memoryhub.domain import jobs, notify
from memoryhub.models import Job, Proposal, Space

ADD_JOB = "proposals.tell"


def add(proposal: Proposal, event: str, **more: Any) -> None:
    """Notes the event for every webhook that wants it; nothing is sent here, so a slow address delays no decision."""
    if notify.webhooks_for_event(proposal.space, event):
        notify.enqueue_notice(proposal.space, event, body_of(proposal, **more), says=sentence(proposal, event))


def add_later(space: Space, numbers: list[int], event: str) -> None:
    """Notes the event for several proposals, by a job: nobody who looks at a list waits for that."""
    if notify.webhooks_for_event(space, event):
        jobs.enqueue(ADD_JOB, {"numbers": numbers, "event": event}, space=space)


@jobs.job(ADD_JOB)
@transaction.atomic
def add_many(job: Job, progress: jobs.Progress) -> None:
    """Notes an event for several proposals. Begun again after a crash it notes nothing twice: the job forgets them with it."""
    space, event = Space.objects.get(pk=job.space_id), job.payload["event"]
    found = Proposal.objects.within(space).filter(number__in=job.payload["numbers"]).defer("content")
    noted = [(body_of(one), sentence(one, event)) for one in found.select_related("space").order_by("number")]
    notify.enqueue_notices(space, event, noted)
    Job.objects.filter(pk=job.pk).update(payload={"numbers": [], "event": event})


def body_of(proposal: Proposal, **more: Any) -> dict[str, Any]:
    return {
        "space": proposal.space.slug,
        "number": proposal.number,
        "state": proposal.state,
        "changes_requested": proposal.changes_requested,
        "kind": proposal.kind,
        "path": proposal.path,
        "agent": proposal.agent_name,
        "reason": proposal.reason,
        "risk": ("low", "mid", "high")[proposal.risk],
        "findings": sorted({one["code"] for one in proposal.findings}),
        "decided_by": proposal.decided_by_name or None,
        "note": proposal.note,
        "expires_at": proposal.expires_at.isoformat() if proposal.expires_at else None,
        "url": notify.absolute_url(f"/s/{proposal.space.slug}/proposals/{proposal.number}/"),
        **more,
    }


def sentence(proposal: Proposal, event: str) -> str:
    """The event in a sentence, for a chat."""
    what = event.removeprefix("proposal.")
    where = proposal.thing
    if what == "created" and proposal.from_disk:
        return f"{where} changed on disk and waits for a decision (proposal {proposal.number})"
    if what == "created":
        return f"{proposal.agent_name} asks to change {where} (proposal {proposal.number})"
    if what == "expiring":
        return f"Proposal {proposal.number} for {where} expires soon if nobody decides"
    who = f" by {proposal.decided_by_name}" if proposal.decided_by_name else ""
    if what == "rejected" and proposal.changes_requested:
        return f"Changes to proposal {proposal.number} for {where} were requested{who}"
    return f"Proposal {proposal.number} for {where} was {what}{who}"
