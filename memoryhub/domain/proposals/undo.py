"""After the decision: undo and reopen; and words beside it."""

from __future__ import annotations

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from memoryhub.domain import activity, files
from memoryhub.domain.accounts import require
from memoryhub.domain.jobs import periodic
from memoryhub.domain.proposals import notices
from memoryhub.domain.proposals.ask import clean, deadline, locked
from memoryhub.domain.proposals.decide import mark_those_that_no_longer_apply
from memoryhub.errors import Conflict, Forbidden, Invalid
from memoryhub.models import Actor, File, Proposal, ProposalComment, Revision, Space

State, Kind = Proposal.State, Proposal.Kind


@transaction.atomic
def undo(space: Space, actor: Actor, number: int) -> Proposal:
    """Takes an approval back while nothing built on it: a new revision restores the text, the proposal waits again."""
    require(actor, "decide")
    proposal = locked(space, number)
    if proposal.state != State.APPROVED:
        raise Conflict(f"Proposal {number} is {proposal.state}: only an approval can be undone.", code="not_approved")
    proposal.undone_revision = _take_back(proposal, actor)
    _wait_again(proposal)
    _record(proposal, actor, "proposals.undo", "undid the approval of")
    notices.tell(proposal, "proposal.undone")
    return proposal


def _take_back(proposal: Proposal, actor: Actor) -> int | None:
    if proposal.kind == Kind.PROMOTION:
        from memoryhub.domain import longterm

        longterm.take_back(proposal.space, actor, proposal.entry_number, reason=f"Undone: proposal {proposal.number}")
        return None
    path = proposal.change["to"] if proposal.kind == Kind.MOVE else proposal.path
    file = files.row_of(proposal.space, path, _thread_of(proposal, path))
    if not _is_as_decided(proposal, file):
        raise Conflict(
            f"{path} changed again since (revision {file.revision}): undo would lose that. Edit the file instead.",
            code="built_upon",
        )  # fmt: skip
    return _restore(proposal, actor, file).number


def _is_as_decided(proposal: Proposal, file: File) -> bool:
    """Whether nothing built on the decision, or what did was taken back, so that its very text stands there again."""
    if file.revision == proposal.applied_revision:
        return True
    made = Revision.objects.within(proposal.space).filter(file=file, number=proposal.applied_revision).first()
    return made is not None and (made.sha256, made.is_deleted) == (file.sha256, file.is_deleted)


def _thread_of(proposal: Proposal, path: str) -> str:
    """Files of a thread have its id on their row, all others none."""
    mine = File.objects.within(proposal.space).filter(path=path, thread_id=proposal.thread_id)
    return proposal.thread_id if mine.exists() else ""


def _restore(proposal: Proposal, actor: Actor, file: File) -> Revision:
    space, why = proposal.space, f"Undone: proposal {proposal.number}"
    if proposal.kind == Kind.MOVE:
        return files.move(space, actor, file.path, proposal.path, reason=why, thread_id=file.thread_id)
    earlier = Revision.objects.within(space).filter(file=file, number=proposal.applied_revision - 1).first()
    if earlier is None or earlier.is_deleted:
        return files.delete(space, actor, file.path, reason=why, if_match=file.sha256, thread_id=file.thread_id)
    content = files.content_of(file, earlier.number)
    return files.write(
        space, actor, file.path, content, reason=why, kind="restore", restored_from=earlier.number,
        base_revision=file.revision, thread_id=file.thread_id,
    )  # fmt: skip


@transaction.atomic
def reopen(space: Space, actor: Actor, number: int) -> Proposal:
    """Lets a rejected or expired proposal wait for a decision again."""
    require(actor, "decide")
    proposal = locked(space, number)
    if proposal.state not in (State.REJECTED, State.EXPIRED, State.OUTDATED):
        raise Conflict(f"Proposal {number} is {proposal.state}: there is nothing to reopen.", code="not_closed")
    _wait_again(proposal)
    _record(proposal, actor, "proposals.reopen", "reopened")
    notices.tell(proposal, "proposal.reopened")
    return proposal


def _wait_again(proposal: Proposal) -> None:
    proposal.state, proposal.note, proposal.approvals, proposal.with_edits = State.PENDING, "", [], False
    proposal.decided_at = proposal.decided_by_id = proposal.applied_revision = None
    proposal.decided_by_name, proposal.warned_at = "", None
    proposal.updated_at, proposal.expires_at = timezone.now(), deadline(proposal.space)
    try:
        with transaction.atomic():
            proposal.save()
    except IntegrityError:
        raise Conflict("The agent asked for the same again meanwhile: decide that one.", code="asked_again") from None


def _record(proposal: Proposal, actor: Actor, verb: str, says: str) -> None:
    activity.record(
        proposal.space, actor, verb, says, f"proposal {proposal.number}", url=f"proposals/{proposal.number}/",
        adds=f"by {proposal.agent_name}", path=proposal.path, details={"proposal": proposal.number},
    )  # fmt: skip


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
    activity.record(
        space, actor, "proposals.comment", "commented on", f"proposal {number}", url=f"proposals/{number}/",
        aside=text[:100], path=proposal.path, details={"proposal": number},
    )  # fmt: skip
    notices.tell(proposal, "proposal.commented", comment=text)
    return made


@periodic("proposals.sweep", every=timedelta(minutes=5))
def sweep() -> dict[str, int]:
    """Looks whether what waits still applies, where the file moved on without the gate (an editor, a sync)."""
    moved = (
        Proposal.objects.filter(state=State.PENDING)
        .exclude(kind=Kind.PROMOTION)
        .filter(space__files__path=F("path"), space__files__modified_at__gt=timezone.now() - timedelta(minutes=10))
        .values_list("space_id", "path")
        .distinct()[:200]
    )
    return {"outdated": sum(mark_those_that_no_longer_apply(Space.objects.get(pk=pk), path) for pk, path in moved)}
