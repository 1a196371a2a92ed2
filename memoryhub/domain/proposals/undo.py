"""Undoing a decision, reopening a proposal, and comments."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from memoryhub.domain import files, notify
from memoryhub.domain.accounts import require
from memoryhub.domain.proposals.kinds import kind_of
from memoryhub.domain.proposals.state import clean, deadline, locked, mark_prompts, record
from memoryhub.errors import Conflict, Forbidden, Invalid
from memoryhub.models import Actor, File, Proposal, ProposalComment, Revision, Space

State = Proposal.State


@transaction.atomic
def undo(space: Space, actor: Actor, number: int) -> Proposal:
    """Takes an approval back while nothing built on it: a new revision restores the text, the proposal waits again."""
    require(actor, "decide")
    proposal = locked(space, number)
    if proposal.state != State.APPROVED:
        raise Conflict(f"Proposal {number} is {proposal.state}: only an approval can be undone.", code="not_approved")
    reason = f"Undone: proposal {proposal.number}"
    proposal.undone_revision = kind_of(proposal).undo(proposal, actor, _file_as_decided(proposal), reason)
    if proposal.from_disk:  # the text before is on disk again
        proposal.change["put_back_at"] = timezone.now().isoformat()
    _wait_again(proposal, actor)
    record(proposal, actor, "proposals.undo", "undid the approval of", adds=f"(asked by {proposal.agent_name})")
    notify.add_notice(proposal, "proposal.undone")
    return proposal


def _file_as_decided(proposal: Proposal) -> File | None:
    """The file that the decision made, where nothing built on it since; none for what changed no file."""
    for path, text in kind_of(proposal).files_after(proposal, b"").items():
        if text is not None:  # a move leaves another one behind
            file = files.file_row(proposal.space, path, _thread_of(proposal, path))
            _check_as_decided(proposal, file)
            return file
    return None


def _thread_of(proposal: Proposal, path: str) -> str:
    """Files of a thread have its id on their row, all others none."""
    mine = File.objects.within(proposal.space).filter(path=path, thread_id=proposal.thread_id)
    return proposal.thread_id if mine.exists() else ""


def _check_as_decided(proposal: Proposal, file: File) -> None:
    """Refuses to undo a decision where the file changed since, unless it has the decided text again."""
    if file.revision == proposal.applied_revision:
        return
    made = Revision.objects.within(proposal.space).filter(file=file, number=proposal.applied_revision).first()
    if made is None or (made.sha256, made.is_deleted) != (file.sha256, file.is_deleted):
        raise Conflict(
            f"{file.path} changed again since (revision {file.revision}): undo would lose that. Edit the file instead.",
            code="built_upon",
        )  # fmt: skip


@transaction.atomic
def reopen(space: Space, actor: Actor, number: int) -> Proposal:
    """Lets a rejected or expired proposal wait for a decision again."""
    require(actor, "decide")
    proposal = locked(space, number)
    if proposal.state not in (State.REJECTED, State.EXPIRED, State.OUTDATED):
        raise Conflict(f"Proposal {number} is {proposal.state}: there is nothing to reopen.", code="not_closed")
    _wait_again(proposal, actor)
    record(proposal, actor, "proposals.reopen", "reopened", adds=f"(asked by {proposal.agent_name})")
    notify.add_notice(proposal, "proposal.reopened")
    return proposal


def _wait_again(proposal: Proposal, actor: Actor) -> None:
    proposal.change["earlier"] = [*proposal.change.get("earlier", []), _decision(proposal, actor)]
    proposal.state, proposal.note, proposal.approvals, proposal.with_edits = State.PENDING, "", [], False
    proposal.decided_at = proposal.decided_by_id = proposal.applied_revision = None
    proposal.decided_by_name, proposal.warned_at, proposal.changes_requested = "", None, False
    proposal.updated_at, proposal.expires_at = timezone.now(), deadline(proposal.space)
    try:
        with transaction.atomic():
            proposal.save()
            mark_prompts(proposal.space, [proposal.kind])
    except IntegrityError:
        raise Conflict("The agent has asked for the same again: decide on that proposal.", code="asked_again") from None


def _decision(proposal: Proposal, actor: Actor) -> dict[str, str]:
    """The decision that ends, for the page of the proposal; without its note, which stands in the activity."""
    at = proposal.decided_at or proposal.updated_at
    return {
        "state": proposal.shown_state, "at": at.isoformat(), "by": proposal.decided_by_name,
        "ended_at": timezone.now().isoformat(), "ended_by": actor.name,
    }  # fmt: skip


@transaction.atomic
def comment(space: Space, actor: Actor, number: int, text: str) -> ProposalComment:
    """Adds a remark; the agent reads it too. It decides nothing."""
    if not actor.is_person:
        raise Forbidden("Only people comment.", code="people_only")
    require(actor, "edit")  # the agent reads it: words that reach an agent are no reading
    text = clean(text.strip(), 4000)
    if not text:
        raise Invalid("Write something first.", field="text")
    proposal = locked(space, number)
    made = ProposalComment.objects.create(space=space, proposal=proposal, text=text, **actor.as_fields())
    Proposal.objects.filter(pk=proposal.pk).update(updated_at=timezone.now())
    record(proposal, actor, "proposals.comment", "commented on", aside=text[:100])
    notify.add_notice(proposal, "proposal.commented", comment=text)
    return made
