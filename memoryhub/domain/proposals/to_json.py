"""A proposal as programs get it: over REST, from the command line, to the agent's client."""

from __future__ import annotations

from typing import Any

from memoryhub.domain.proposals.results import applied_diff, result
from memoryhub.errors import HubError
from memoryhub.models import Proposal


def as_json(proposal: Proposal) -> dict[str, Any]:
    """A proposal as the contract tells it; while it waits, with what it would make of the text as it is now."""
    diff, sha = diff_and_sha(proposal)
    return {
        "number": proposal.number,
        "state": proposal.state,
        "path": proposal.path,
        "kind": proposal.kind,
        "diff": diff,
        "reason": proposal.reason,
        "agent": proposal.agent_name,
        "base_revision": proposal.base_revision,
        "created_at": proposal.created_at,
        "decided_at": proposal.decided_at,
        "decided_by": proposal.decided_by_name or None,
        "note": proposal.note,
        "applied_revision": proposal.applied_revision,
        "stacked_on": proposal.stacked_on,
        "result_sha256": sha,
        "findings": [
            {key: one.get(key) for key in ("code", "severity", "line", "message")} for one in proposal.findings
        ],
        "thread_id": proposal.thread_id,
        "tool_call_id": proposal.tool_call_id,
        "expires_at": proposal.expires_at,
        "reviewers": proposal.reviewers,
        "approvals": len(proposal.approvals),
        "with_edits": proposal.with_edits,
        "comments": [{"by": one.actor_name, "at": one.created_at, "text": one.text} for one in proposal.comments.all()],
    }


def diff_and_sha(proposal: Proposal) -> tuple[str, str | None]:
    """Diff and result: as they would be now, or, of what was approved, as they became."""
    if proposal.state == Proposal.State.APPROVED:
        return applied_diff(proposal)
    try:
        found = result(proposal)
    except HubError:  # the path leads nowhere any more: no mount, no disk
        return "", None
    return found.diff, found.sha256
