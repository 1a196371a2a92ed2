"""What the page of a proposal shows beside the change: the record it promotes, and what happened to it so far."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from memoryhub.domain import proposals
from memoryhub.models import Proposal, Record


def promoted_record(proposal: Proposal) -> Record | None:
    """The record that a promotion was asked for, without its content; None for other proposals."""
    asked = proposal.change.get("record_id")
    return Record.objects.within(proposal.space_id).filter(pk=asked).defer("content").first() if asked else None


def timeline(proposal: Proposal, review: proposals.Review) -> list[dict[str, Any]]:
    """What happened to a proposal, in order of time."""
    events: list[dict[str, Any]] = [
        {
            "at": proposal.created_at,
            "kind": proposal.asker,
            "who": proposal.agent_name,
            "says": "changed; who wrote there is not known" if proposal.from_disk else "proposed this change",
            "aside": proposal.thread_id,
        }
    ]
    if review.findings:
        names = sorted({one.code for one in review.findings})
        events.append({"at": proposal.created_at, "kind": "gate", "who": "gate", "says": f"found: {', '.join(names)}"})
    for one in proposal.approvals if proposal.state != Proposal.State.APPROVED or proposal.reviewers > 1 else []:
        at = datetime.fromisoformat(one["at"])
        events.append({"at": at, "kind": "person", "who": one["name"], "says": "said yes, as the first of two"})
    for one in review.comments:
        events.append({"at": one.created_at, "kind": one.actor_kind, "who": one.actor_name, "says": f"“{one.text}”"})
    if proposal.decided_at:
        note = proposal.note.removeprefix(proposals.TRY_AGAIN)
        words = f": “{note}”" if note else ""
        says = _("requested changes") if proposal.shown_state == "changes_requested" else proposal.state
        who = proposal.decided_by_name or "hub"
        kind = {"withdrawn": "agent"}.get(proposal.state, "person" if proposal.decided_by_id else "hub")
        edits = " with edits" if proposal.with_edits else ""
        events.append({"at": proposal.decided_at, "kind": kind, "who": who, "says": f"{says}{edits}{words}"})
    return sorted(events, key=lambda one: one["at"])
