"""A proposal as programs get it: over REST, from the command line, to the agent's client."""

from __future__ import annotations

import time
from typing import Any

from memoryhub.domain.proposals.results import TOO_LONG, Result, applied_diff, result, results_of
from memoryhub.errors import HubError
from memoryhub.models import Proposal, Space

SECONDS = 2.0  # of a processor, for one page of a list
AT_ONCE = 50


def list_as_json(space: Space, proposals: list[Proposal]) -> list[dict[str, Any]]:
    """Several proposals as `as_json` gives each, by a fixed number of statements for every fifty that are not approved.

    Where comparing their texts takes long, the first of them only: the caller pages on from the last.
    """
    found: list[dict[str, Any]] = []
    began = time.thread_time()
    for start in range(0, len(proposals), AT_ONCE):
        part = proposals[start : start + AT_ONCE]
        waiting = [one for one in part if one.state != Proposal.State.APPROVED]
        results = {result.proposal.pk: result for result in results_of(space, waiting)}
        for one in part:
            known = results.get(one.pk)
            if found and (time.thread_time() - began > SECONDS or (known and known.problem == TOO_LONG)):
                return found
            found.append(as_json(one, known))
    return found


def as_json(proposal: Proposal, found: Result | None = None) -> dict[str, Any]:
    """A proposal as the contract has it. Unless it was approved, diff and sha256 are of the file as it is now.

    `found` is its result, if the caller has it already.
    """
    diff, sha = (found.diff, found.sha256) if found else diff_and_sha(proposal)
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
        "changes_requested": proposal.changes_requested,
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
