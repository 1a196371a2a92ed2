"""Telling others: what happened to a proposal is put on the webhooks' list in the same transaction, sent by a job after it."""

from __future__ import annotations

from typing import Any

from memoryhub.domain import webhooks
from memoryhub.models import Proposal


def tell(proposal: Proposal, event: str, **more: Any) -> None:
    """Notes the event for every webhook that wants it; nothing is sent here, so a slow address delays no decision."""
    webhooks.note(proposal.space, event, body_of(proposal, **more), says=sentence(proposal, event))


def body_of(proposal: Proposal, **more: Any) -> dict[str, Any]:
    return {
        "space": proposal.space.slug,
        "number": proposal.number,
        "state": proposal.state,
        "kind": proposal.kind,
        "path": proposal.path,
        "agent": proposal.agent_name,
        "reason": proposal.reason,
        "risk": ("low", "mid", "high")[proposal.risk],
        "findings": sorted({one["code"] for one in proposal.findings}),
        "decided_by": proposal.decided_by_name or None,
        "note": proposal.note,
        "expires_at": proposal.expires_at.isoformat() if proposal.expires_at else None,
        "url": f"/s/{proposal.space.slug}/proposals/{proposal.number}/",
        **more,
    }


def sentence(proposal: Proposal, event: str) -> str:
    """The same for a chat."""
    what = event.removeprefix("proposal.")
    where = proposal.path or "long-term memory"
    if what == "created":
        return f"{proposal.agent_name} asks to change {where} (proposal {proposal.number})"
    if what == "expiring":
        return f"Proposal {proposal.number} for {where} ends soon, unapplied, unless somebody decides on it"
    who = f" by {proposal.decided_by_name}" if proposal.decided_by_name else ""
    return f"Proposal {proposal.number} for {where} was {what}{who}"
