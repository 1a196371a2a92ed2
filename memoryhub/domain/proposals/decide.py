"""What people decide: approve what they saw, whole, in part or with edits; reject with a reason.

Every kind of change takes this one path, in one transaction: lock the proposal and what it changes, check, change (`kinds`),
record. What lies on a disk is written after the commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db import transaction
from django.utils import timezone

from memoryhub.domain import files, notify, quarantine
from memoryhub.domain.accounts import require
from memoryhub.domain.proposals import findings
from memoryhub.domain.proposals.from_disk import problem_on_disk
from memoryhub.domain.proposals.kinds import Settlement, kind_of, sha_of
from memoryhub.domain.proposals.results import Result, result
from memoryhub.domain.proposals.state import (
    OPEN,
    already_decided,
    close,
    get,
    is_late,
    is_own,
    locked,
    locked_if_no_record,
    outdate_children,
    record,
)
from memoryhub.domain.proposals.waiting import expire_one, outdate, outdate_waiting
from memoryhub.errors import Conflict, Forbidden, HubError, Invalid, Stale
from memoryhub.models import Actor, Proposal, Space
from memoryhub.text import diff
from memoryhub.text.lines import bytes_of, text_of

State = Proposal.State
TRY_AGAIN = "Please try again: "  # what an agent reads first where changes are requested
QUICK_REASONS = ("transient", "wrong", "duplicate", "secret", "belongs elsewhere", "too vague")


@dataclass(frozen=True)
class Approval:
    """What a reviewer sends: who they are, the sha256 of the result they saw, and what of it they approve."""

    actor: Actor
    seen: str
    note: str
    content: bytes | None
    hunks: list[int] | None
    base: str | None
    settlement: Settlement


def approve(
    space: Space,
    actor: Actor,
    number: int,
    *,
    seen: str,
    note: str = "",
    content: bytes | None = None,
    hunks: Iterable[int] | None = None,
    base: str | None = None,
    replaces: Iterable[int] = (),
    merges: Iterable[int] = (),
    review_by: date | None = None,
) -> Proposal:
    """Makes exactly what the reviewer saw the text; `content` instead, or only some `hunks` of what they saw. A promotion also
    settles which entries it replaces or takes in, and when it is checked again."""
    require(actor, "decide")
    if not seen.strip():
        raise Invalid("Say what you saw: seen is the sha256 of the result you looked at.", code="invalid", field="seen")
    approval = Approval(
        actor, seen.strip().lower(), note, content, None if hunks is None else sorted(set(hunks)), base,
        Settlement(tuple(replaces), tuple(merges), review_by),
    )  # fmt: skip
    try:
        with transaction.atomic():
            proposal = _lock(space, actor, number)
            refusal = _approve(proposal, approval)
    except Stale:
        raise changed_since_seen(result(get(space, number))) from None
    if refusal:
        raise refusal
    if proposal.others_wait and proposal.state == State.APPROVED:
        outdate_waiting(space, proposal.path)
    return proposal


def reject(space: Space, actor: Actor, number: int, *, note: str, again: bool = False) -> Proposal:
    """Says no with a reason that the agent reads; `again` asks it to try another way: changes are requested."""
    require(actor, "decide")
    if not note.strip() and not _is_silent(get(space, number)):
        raise Invalid("Say why: the agent reads it and learns from it.", code="invalid", field="note")
    reason = f"{TRY_AGAIN}{note.strip()}" if again else note.strip()
    with transaction.atomic():
        proposal = locked(space, number)
        refusal = _reject(proposal, actor, reason, again)
    if refusal:
        raise refusal
    return proposal


def _is_silent(proposal: Proposal) -> bool:
    """Whether nobody reads why it was rejected: a change on disk has no author, and Hermes takes no reasons for its own."""
    return proposal.from_disk or "pending" in proposal.change


def _reject(proposal: Proposal, actor: Actor, reason: str, again: bool) -> HubError | None:
    if late := _expire_if_late(proposal):
        return late
    _check_open(proposal)
    _check_person(proposal, actor)
    proposal.changes_requested = again and not proposal.from_disk  # there is nobody to make them
    says = "requested changes to" if proposal.changes_requested else "rejected"
    close(proposal, State.REJECTED, actor, "proposals.reject", says, note=reason, adds=_about(proposal))
    outdate_children(proposal.space, [proposal.number], State.REJECTED)
    if proposal.from_disk:
        files.keep_approved(proposal.space, proposal.path)
    notify.add_notice(proposal, "proposal.rejected")
    return None


def _lock(space: Space, actor: Actor, number: int) -> Proposal:
    """The proposal, and what it changes where that is several files, locked in the order that everybody keeps to
    (`spaces.LOCKED_BEFORE_SPACE`).

    What a proposal asks for never changes, so which record it promotes can be read before its row is locked.
    """
    proposal = locked_if_no_record(space, number)
    if proposal is None:
        if record_id := get(space, number).change.get("record_id"):
            quarantine.lock_record(space, actor, record_id)
        proposal = locked(space, number)
    names = kind_of(proposal).files_after(proposal, None)
    if len(names) > 1:  # one file by itself is locked when it is changed
        files.lock_files(space, names, proposal.thread_id)
    return proposal


def _approve(proposal: Proposal, approval: Approval) -> HubError | None:
    """Checks, changes and records. A refusal that is answered instead of raised commits what it recorded."""
    actor = approval.actor
    if late := _expire_if_late(proposal):
        return late
    _check_open(proposal)
    _check_person(proposal, actor)
    _check_first_time(proposal, actor)
    found = result(proposal)
    if found.waits_for:
        raise Conflict(
            f"It builds on proposal {found.waits_for}. Decide that one first.", code="stacked", stacked_on=found.waits_for
        )  # fmt: skip
    if proposal.from_disk and (why := problem_on_disk(proposal)):
        outdate(proposal, why)
        return _no_longer_applies(found)
    if approval.content is None and (found.problem or proposal.state == State.OUTDATED):
        outdate(proposal, found.problem)
        return _no_longer_applies(found)
    if approval.seen != found.seen or (approval.base and approval.base != found.before_sha256):
        raise changed_since_seen(found)
    after = _chosen(found, approval)
    proposal.with_edits = after != found.after
    if len(_agreed(proposal, after)) + 1 < proposal.reviewers:
        _agree(proposal, approval, after)
    else:
        _apply(proposal, approval, found, after)
    return None


def _apply(proposal: Proposal, approval: Approval, found: Result, after: bytes | None) -> None:
    actor = approval.actor
    # Two changes, each harmless by itself, can make a secret together, and rules may have been learnt since.
    if proposal.checked_digest != findings.checked_digest(found.before, after):
        findings.check_change(proposal.space, found.before or b"", after or b"", only=["secrets"])
    kind_of(proposal).apply(proposal, actor, found.before, after, approval.settlement)
    form = "" if not proposal.with_edits else "in part" if approval.hunks is not None else "with edits"
    adds = _about(proposal, form)
    close(proposal, State.APPROVED, actor, "proposals.approve", "approved", note=approval.note, adds=adds)
    notify.add_notice(proposal, "proposal.approved")


def _agree(proposal: Proposal, approval: Approval, after: bytes | None) -> None:
    """Stores the first of two approvals with the SHA-256 of the text that it is for."""
    now, actor = timezone.now(), approval.actor
    mine = {
        "id": actor.id, "name": actor.name, "at": now.isoformat(), "sha256": sha_of(after), "note": approval.note[:500],
    }  # fmt: skip
    proposal.approvals, proposal.updated_at = [*_agreed(proposal, after), mine], now
    proposal.save(update_fields=["approvals", "updated_at"])
    adds = _about(proposal, f"as the first of {proposal.reviewers}")
    record(proposal, actor, "proposals.approve", "approved", adds=adds, aside=proposal.note[:100])


def _agreed(proposal: Proposal, after: bytes | None) -> list[dict[str, Any]]:
    """Who said yes to this very text already; another text starts over."""
    return [one for one in proposal.approvals if one["sha256"] == sha_of(after)]


def _chosen(found: Result, approval: Approval) -> bytes | None:
    """The bytes that the decision is about."""
    if approval.content is not None:
        if not found.kind.is_editable:
            raise Invalid("A deletion or a move has no text to edit.", code="invalid", field="content")
        findings.check_text(found.proposal.space, text_of(approval.content), before=found.before_text)
        return approval.content
    if approval.hunks is None:
        return found.after
    count = len(diff.compare(found.before_text, found.after_text).hunks)
    if not approval.hunks or not all(1 <= number <= count for number in approval.hunks):
        raise Invalid(
            "Tick at least one of the changes you see, or reject the proposal.", code="invalid", field="hunks"
        )
    if len(approval.hunks) == count:
        return found.after
    return bytes_of(diff.take(found.before_text, found.after_text, approval.hunks))


# ---- what speaks against a decision


def _expire_if_late(proposal: Proposal) -> Conflict | None:
    """Expires a proposal that is past its date, and answers the refusal for whoever decides on it."""
    if not is_late(proposal) or not expire_one(proposal.space, proposal.number):  # the clock of this node may be wrong
        return None
    return already_decided(get(proposal.space, proposal.number))


def _check_open(proposal: Proposal) -> None:
    if proposal.state not in OPEN:
        raise already_decided(proposal)


def _check_person(proposal: Proposal, actor: Actor) -> None:
    """Only people decide, and none on their own where the space asks for that."""
    if not actor.is_person and actor.kind != "hub":
        raise Forbidden("Only people decide: an agent's token cannot approve or reject.", code="people_only")
    if is_own(proposal, actor):
        why = "You proposed this"
        if proposal.agent_id:
            why = f"You made a key of {proposal.agent_name}, so this counts as your own proposal"
        raise Forbidden(f"{why}, and in this space somebody else decides on it.", code="own_proposal")


def _check_first_time(proposal: Proposal, actor: Actor) -> None:
    """Refuses a second approval by the same person where two people have to approve."""
    if any(one["id"] == actor.id for one in proposal.approvals):
        raise Conflict("You approved it already. It waits for a second person.", code="already_approved")


def changed_since_seen(found: Result) -> Conflict:
    return Conflict(
        "The result changed since you reviewed it. Review the new diff, then decide.",
        code="changed_since_seen",
        diff=found.diff,
        result_sha256=found.sha256,
    )


def _no_longer_applies(found: Result) -> Conflict:
    why = found.problem or found.proposal.note or "The file moved on."
    return Conflict(
        f"It no longer applies: {why} Resolve it by hand, or send it back.",
        code="changed_since_seen",
        diff="",
        result_sha256=None,
        state="outdated",
    )


def _about(proposal: Proposal, form: str = "") -> str:
    """What the line of activity about a decision says behind it."""
    return f"to {proposal.thing} by {proposal.agent_name}{', ' + form if form else ''}"
