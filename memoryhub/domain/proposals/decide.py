"""What people do with proposals: approve what they saw, whole, in part or with edits; reject with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import activity, files, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.proposals import findings, notices
from memoryhub.domain.proposals.ask import already_decided, close, closing, is_late, locked, outdate_children
from memoryhub.domain.proposals.expiry import Late, check_in_time, expire_one, in_time
from memoryhub.domain.proposals.results import Result, published, result, sha_of
from memoryhub.domain.proposals.snapshot import Desk, look, recall
from memoryhub.errors import Conflict, Forbidden, HubError, Invalid, Stale
from memoryhub.models import Actor, Proposal, Revision, Space, Token
from memoryhub.text import diff
from memoryhub.text.lines import bytes_of, text_of

State, Kind = Proposal.State, Proposal.Kind
MOST_LOOKED_AT = 200
QUICK_REASONS = ("transient", "wrong", "duplicate", "secret", "belongs elsewhere", "too vague")


class _Outdated(Exception):
    """It no longer applies: the transaction ends, then the state is written down."""

    def __init__(self, found: Result) -> None:
        super().__init__(found.problem)
        self.found = found


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
) -> Proposal:
    """Makes exactly what the reviewer saw the text; `content` instead, or only some `hunks` of what they saw."""
    require(actor, "decide")
    if not seen.strip():
        raise Invalid("Say what you saw: seen is the sha256 of the result you looked at.", code="invalid", field="seen")
    said = Said(actor, seen.strip().lower(), note, content, None if hunks is None else sorted(set(hunks)), base)
    try:
        with in_time(space, number):
            desk = recall(space, number)
            decided = _as_looked_at(desk, said) if desk else None
            if decided is None:
                desk = look(space, number)
                decided = _at_once(desk, said) if desk else None
            if decided is None:
                desk, decided = None, _step_by_step(space, number, said)
    except _Outdated as outdated:
        mark_outdated(space, number, outdated.found.problem)
        raise _no_longer_applies(outdated.found) from None
    if decided.state == State.APPROVED and (desk is None or desk.has_others):
        mark_those_that_no_longer_apply(space, decided.path)
    return decided


@dataclass(frozen=True)
class Said:
    """What a reviewer says."""

    actor: Actor
    seen: str
    note: str
    content: bytes | None
    hunks: list[int] | None
    base: str | None


def _as_looked_at(desk: Desk, said: Said) -> Proposal | None:
    """The same from what was kept when they looked. What speaks against it may be over: a fresh look says that."""
    try:
        after = _plain(desk, said)
    except (HubError, _Outdated, Late):
        return None
    return _write(desk, said, after) if after is not None else None


def _at_once(desk: Desk, said: Said) -> Proposal | None:
    """The plain case, nearly always: the new text, the decision and what is told of both, in one statement that needs no lock
    before it. Nothing is done where it is not that plain, or where somebody was quicker."""
    after = _plain(desk, said)
    return _write(desk, said, after) if after is not None else None


def _plain(desk: Desk, said: Said) -> bytes | None:
    """The new text, where it takes no more than to write it."""
    proposal = desk.proposal
    found = _looked_through(proposal, said, desk.result)
    after = _chosen(proposal.space, found, said)
    proposal.with_edits = after != found.after
    return None if after == found.before or _is_first_of_two(proposal, after) else after


def _write(desk: Desk, said: Said, after: bytes) -> Proposal | None:
    proposal, change = desk.proposal, desk.change
    proposal.applied_revision = change.file.revision + 1
    change.actor = _author(proposal, said.actor)
    closed = closing(proposal, State.APPROVED, said.actor, said.note)
    line = _line(proposal, said.actor, "proposals.approve", "approved", _in_what_form(proposal, said))
    try:
        with transaction.atomic() if desk.is_told else nullcontext():
            files.put_text(
                change, after, kind=_kind_of(proposal),
                reason=proposal.reason[:1000], proposal=proposal.number, along=[closed], told=[line], held=desk.held,
            )  # fmt: skip
            if desk.is_told:
                notices.tell(proposal, "proposal.approved")
    except statements.NotHeld:
        return None
    return proposal


@transaction.atomic
def _step_by_step(space: Space, number: int, said: Said) -> Proposal:
    """The same with everything locked first: of two decisions the second sees what the first did."""
    proposal = locked(space, number)
    found = _looked_through(proposal, said, lambda: result(proposal))
    after = _chosen(space, found, said)
    proposal.with_edits = after != found.after
    if _is_first_of_two(proposal, after):
        _agree(proposal, said, after)
        return proposal
    _apply(proposal, said.actor, found, after)
    close(proposal, State.APPROVED, said.actor, said.note)
    _record(proposal, said.actor, "proposals.approve", "approved", _in_what_form(proposal, said))
    notices.tell(proposal, "proposal.approved")
    return proposal


def _looked_through(proposal: Proposal, said: Said, look: Callable[[], Result]) -> Result:
    """What the proposal makes now, if it is open to this person and what they saw."""
    _check_open(proposal)
    _check_person(proposal, said.actor)
    _check_first_time(proposal, said.actor)
    found = look()
    if found.waits_for:
        raise Conflict(
            f"It builds on proposal {found.waits_for}. Decide that one first.", code="stacked", stacked_on=found.waits_for
        )  # fmt: skip
    if said.content is None and (found.problem or proposal.state == State.OUTDATED):
        raise _Outdated(found)
    if said.seen != found.seen or (said.base and said.base != found.before_sha256):
        raise changed_since_seen(found)
    return found


def _in_what_form(proposal: Proposal, said: Said) -> str:
    if not proposal.with_edits:
        return ""
    return "in part" if said.hunks is not None else "with edits"


def _check_open(proposal: Proposal) -> None:
    if proposal.state not in (State.PENDING, State.OUTDATED):
        raise already_decided(proposal)
    check_in_time(proposal)


def _check_person(proposal: Proposal, actor: Actor) -> None:
    """Only people decide, and none on their own where the space asks for that."""
    if not actor.is_person and actor.kind != "hub":
        raise Forbidden("Only people decide: an agent's token cannot approve or reject.", code="people_only")
    if is_own(proposal, actor):
        raise Forbidden(
            f"You made a key of {proposal.agent_name}, so this counts as your own proposal, and in this space somebody else "
            "decides on it.",
            code="own_proposal",
        )  # fmt: skip


def is_own(proposal: Proposal, actor: Actor) -> bool:
    """Whether the space wants another person to decide: whoever made a key of an agent can ask in its name."""
    return bool(own_agents(proposal.space, actor, [proposal.agent_id]))


def own_agents(space: Space, actor: Actor, agents: Iterable[int | None]) -> set[int | None]:
    """Those of the agents that this person has made a key of, where that keeps them from deciding."""
    if not actor.is_person or spaces.get_setting(space, "who_decides") != "others":
        return set()
    made = Token.objects.within(space).filter(agent__in=[pk for pk in agents if pk], made_by=actor.name)
    return set(made.values_list("agent_id", flat=True))


def _check_first_time(proposal: Proposal, actor: Actor) -> None:
    """Nobody agrees twice where two have to."""
    if any(one["id"] == actor.id for one in proposal.approvals):
        raise Conflict("You approved it already. It waits for a second person.", code="already_approved")


def changed_since_seen(found: Result) -> Conflict:
    return Conflict(
        "This is not what you looked at any more: look at the new diff, then decide.",
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


def _chosen(space: Space, found: Result, said: Said) -> bytes | None:
    """The bytes that the decision is about."""
    if said.content is not None:
        if found.proposal.kind in (Kind.DELETE, Kind.MOVE):
            raise Invalid("A deletion or a move has no text to edit.", code="invalid", field="content")
        findings.check_text(space, text_of(said.content), before=found.before_text)
        return said.content
    if said.hunks is None:
        return found.after
    most = len(diff.compare(found.before_text, found.after_text).hunks)
    if not said.hunks or not all(1 <= number <= most for number in said.hunks):
        raise Invalid(
            "Tick at least one of the changes you see, or reject the proposal.", code="invalid", field="hunks"
        )
    if len(said.hunks) == most:
        return found.after
    return bytes_of(diff.take(found.before_text, found.after_text, said.hunks))


def _agreed(proposal: Proposal, after: bytes | None) -> list[dict[str, Any]]:
    """Who said yes to this very text already; another text starts over."""
    return [one for one in proposal.approvals if one["sha256"] == sha_of(after)]


def _is_first_of_two(proposal: Proposal, after: bytes | None) -> bool:
    return len(_agreed(proposal, after)) + 1 < proposal.reviewers


def _agree(proposal: Proposal, said: Said, after: bytes | None) -> None:
    """Where two have to agree, the first yes is kept with the text it was given to."""
    now, actor = timezone.now(), said.actor
    mine = {"id": actor.id, "name": actor.name, "at": now.isoformat(), "sha256": sha_of(after), "note": said.note[:500]}
    proposal.approvals, proposal.updated_at = [*_agreed(proposal, after), mine], now
    proposal.save(update_fields=["approvals", "updated_at"])
    _record(proposal, actor, "proposals.approve", "approved", f"as the first of {proposal.reviewers}")


def _author(proposal: Proposal, actor: Actor) -> Actor:
    """The words are the agent's, or the reviewer's where they changed them."""
    return actor if proposal.with_edits else Actor("agent", proposal.agent_id, proposal.agent_name)


def _kind_of(proposal: Proposal) -> str:
    return "edit" if proposal.kind != Kind.WRITE else "write"


def _apply(proposal: Proposal, actor: Actor, found: Result, after: bytes | None) -> None:
    """Makes it so, step by step."""
    if proposal.kind == Kind.PROMOTION:
        _promote(proposal, actor, text_of(after or b""))
        return
    try:
        revision = _change_file(proposal, _author(proposal, actor), found, after)
    except Stale:
        raise changed_since_seen(result(proposal)) from None
    proposal.applied_revision = revision.number


def _change_file(proposal: Proposal, author: Actor, found: Result, after: bytes | None) -> Revision:
    space, path = proposal.space, proposal.path
    common: dict[str, Any] = {
        "reason": proposal.reason[:1000], "proposal": proposal.number, "thread_id": proposal.thread_id,
    }  # fmt: skip
    if proposal.kind == Kind.DELETE:
        return files.delete(space, author, path, if_match=found.before_sha256, **common)
    if proposal.kind == Kind.MOVE:
        revision = files.move(space, author, path, proposal.change["to"], **common)
        if revision.sha256 != found.sha256:
            raise Stale("The file changed while it was moved.")
        return revision
    match = {"must_be_new": True} if found.before is None else {"if_match": found.before_sha256}
    try:
        return files.write(space, author, path, after or b"", kind=_kind_of(proposal), **match, **common)
    except Conflict as refusal:
        raise (Stale(refusal.message) if refusal.code == "file_exists" else refusal) from None


def _promote(proposal: Proposal, actor: Actor, content: str) -> None:
    from memoryhub.domain import longterm, quarantine

    change = proposal.change
    if change.get("record_id"):
        quarantine.lock_record(proposal.space, actor, change["record_id"])
    entry = longterm.store(
        proposal.space, actor, content, scope=change.get("scope", "group"),
        agent=proposal.agent if change.get("scope") == "agent" else None, record_id=change.get("record_id"),
        session_id=change.get("session_id", ""), proposal=proposal.number, reason=proposal.reason,
    )  # fmt: skip
    proposal.entry_number = entry.number
    if change.get("record_id"):
        quarantine.was_promoted(proposal.space, actor, change["record_id"], entry)


def _record(proposal: Proposal, actor: Actor, verb: str, says: str, adds: str = "") -> None:
    activity.put(_line(proposal, actor, verb, says, adds))


def _line(proposal: Proposal, actor: Actor, verb: str, says: str, adds: str = "") -> activity.Line:
    where = f"to {proposal.path}" if proposal.path else "to long-term memory"
    return activity.line(
        proposal.space, actor, verb, says, f"proposal {proposal.number}", url=f"proposals/{proposal.number}/",
        adds=f"{where} by {proposal.agent_name}{', ' + adds if adds else ''}", path=proposal.path,
        aside=proposal.note[:100], details={"proposal": proposal.number},
    )  # fmt: skip


def reject(space: Space, actor: Actor, number: int, *, note: str, again: bool = False) -> Proposal:
    """Says no with a reason that the agent reads; `again` asks it to try another way."""
    require(actor, "decide")
    if not note.strip():
        raise Invalid("Say why: the agent reads it and learns from it.", code="invalid", field="note")
    with in_time(space, number), transaction.atomic():
        proposal = locked(space, number)
        _check_open(proposal)
        _check_person(proposal, actor)
        close(proposal, State.REJECTED, actor, f"Please try again: {note.strip()}" if again else note.strip())
        _record(proposal, actor, "proposals.reject", "rejected")
        outdate_children(space, [number], State.REJECTED)
        notices.tell(proposal, "proposal.rejected")
    return proposal


# ---- keeping states true


@transaction.atomic
def mark_outdated(space: Space, number: int, why: str) -> None:
    """Writes down that a waiting proposal no longer applies."""
    proposal = locked(space, number)
    if proposal.state == State.PENDING:
        proposal.state, proposal.note, proposal.updated_at = State.OUTDATED, why[:2000], timezone.now()
        proposal.save(update_fields=["state", "note", "updated_at"])
        notices.tell(proposal, "proposal.outdated")


def mark_those_that_no_longer_apply(space: Space, path: str) -> int:
    """After a file changed: its waiting proposals that have nothing to hold on to. Rows that others hold are left to them."""
    if not path:
        return 0
    with transaction.atomic():
        waiting = Proposal.objects.within(space).filter(path=path, state=State.PENDING).order_by("number")
        held = list(
            waiting.select_for_update(of=("self",), skip_locked=True).select_related("space", "agent")[:MOST_LOOKED_AT]
        )
        standing: dict[str, Any] = {}
        gone = [one for one in held if _lost(one, standing)]
        Proposal.objects.bulk_update(gone, ["state", "note", "updated_at"])
        for one in gone:
            notices.tell(one, "proposal.outdated")
    return len(gone)


def _lost(proposal: Proposal, standing: dict[str, Any]) -> bool:
    """Whether it no longer applies; then its state and note say so."""
    thread = proposal.thread_id
    try:
        if thread not in standing:
            standing[thread] = published(proposal)
        problem = result(proposal, standing[thread]).problem
    except HubError:
        return False
    if problem:
        proposal.state, proposal.note, proposal.updated_at = State.OUTDATED, problem[:2000], timezone.now()
    return bool(problem)


def looked_at(proposal: Proposal) -> Proposal:
    """The proposal with its true state: whoever looks at one that no longer applies finds it outdated, past its date expired."""
    if is_late(proposal):
        expire_one(proposal.space, proposal.number)
        return Proposal.objects.select_related("space", "agent").get(pk=proposal.pk)
    if proposal.state != State.PENDING or not _lost(proposal, {}):
        return proposal
    mark_outdated(proposal.space, proposal.number, proposal.note)
    return Proposal.objects.select_related("space", "agent").get(pk=proposal.pk)
