"""Changes on disk that wait for a person: the proposals by `disk`, which no agent asked for; and writes of agents' own file tools
that were refused before they landed, in the name of the program."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from memoryhub.detectors import Finding
from memoryhub.domain import activity, files, spaces
from memoryhub.domain.proposals import findings, notices
from memoryhub.domain.proposals.ask import reviewers_for
from memoryhub.domain.proposals.kinds import kind_of
from memoryhub.domain.proposals.outdate import outdate
from memoryhub.domain.proposals.state import clean, deadline
from memoryhub.errors import Conflict
from memoryhub.models import DISK, Actor, Agent, Delivery, File, Proposal, Space
from memoryhub.text import protected

State = Proposal.State
REASONS = {"made": "Created on disk", "changed": "Changed on disk", "deleted": "Deleted on disk"}
SAYS = {"made": "created", "changed": "changed", "deleted": "deleted"}
AGAIN = "The file on disk changed again; a later proposal has what stands there."


@spaces.on_event("findings_on_disk")
def findings_on_disk(space: Space, path: str, before: bytes | None, after: bytes) -> list[Finding]:
    return findings.findings_of(space, path, before, after)


@spaces.on_event("propose_from_disk")
@transaction.atomic
def propose_from_disk(
    space: Space, *, path: str, content: bytes | None, found: list[Finding], held: str, base: tuple[int | None, str],
    secrets: list[dict[str, Any]],
) -> int:  # fmt: skip
    """Keeps a change on disk as a proposal and answers its number. One for the same text that waits is that one; others for the
    file that wait are outdated."""
    kind = Proposal.Kind.DELETE if content is None else Proposal.Kind.WRITE
    proposal = Proposal(
        space=space, agent=None, agent_name=DISK.name, from_disk=True, kind=kind, path=path, content=content,
        change={"held": held, "found_at": timezone.now().isoformat(), "secrets": secrets},
        base_revision=base[0], base_sha256=base[1], reason=REASONS[held],
    )  # fmt: skip
    proposal.same_as = same_as(proposal)
    waiting = _waiting(space, path).filter(same_as=proposal.same_as).first()
    if waiting is not None:
        return waiting.number
    outdate_from_disk(space, path, AGAIN)
    _add(proposal, found)
    return proposal.number


def _add(proposal: Proposal, found: list[Finding]) -> None:
    space = proposal.space
    proposal.findings = [one.as_json() for one in found]
    proposal.risk = kind_of(proposal).risk(proposal, found, None, proposal.content)
    proposal.reviewers = reviewers_for(space, None, proposal.path)
    proposal.expires_at = deadline(space)
    proposal.number = spaces.next_number(space, "last_proposal")
    proposal.save(force_insert=True)
    activity.record(
        space, DISK, "files.hold", SAYS[proposal.change["held"]], proposal.path, url=f"proposals/{proposal.number}/",
        adds=f"on disk, held in proposal {proposal.number}", path=proposal.path, details={"proposal": proposal.number},
    )  # fmt: skip
    notices.add(proposal, "proposal.created")


def same_as(proposal: Proposal) -> str:
    digest = hashlib.sha256(f"disk\0{proposal.kind}\0{proposal.path}\0{proposal.base_sha256}\0".encode())
    digest.update(bytes(proposal.content or b""))
    return digest.hexdigest()


def _waiting(space: Space, path: str) -> Any:
    return Proposal.objects.within(space).filter(path=path, from_disk=True, state=State.PENDING)


@spaces.on_event("disk_changed_again")
def outdate_from_disk(space: Space, path: str, why: str) -> None:
    """Outdates what waits for this file. A row that a decision has locked is left to it: it looks at the file again."""
    with transaction.atomic():
        rows = _waiting(space, path).select_for_update(of=("self",), skip_locked=True).select_related("space")
        for proposal in rows:
            outdate(proposal, why)


@spaces.on_event("disk_put_back")
def note_put_back(space: Space, number: int) -> None:
    """The hub's text is on disk again; what was found there is in the proposal alone. A row that a decision has locked is left
    to it, which then finds that the disk has something else."""
    with transaction.atomic():
        rows = Proposal.objects.within(space).filter(number=number).select_for_update(of=("self",), skip_locked=True)
        for proposal in rows:
            proposal.change["put_back_at"] = timezone.now().isoformat()
            proposal.save(update_fields=["change"])


@spaces.on_event("is_held_text")
def is_held_text(space: Space, path: str, content: bytes) -> bool:
    """Whether a proposal by `disk` keeps this text, whatever was decided on it."""
    kept = Proposal.objects.within(space).filter(path=path, from_disk=True, content=content)
    return kept.exists()


# ---- writes that were refused before they landed

MAX_WAITING = 50  # for one file: more than these nobody reads


def propose_before_write(
    space: Space, program: str, *, path: str, content: bytes, tool: str, session: str = ""
) -> Proposal | None:
    """Keeps the text that a program wanted to write as a proposal in its name; None where the hub hands out that very text.

    The same text again is the proposal that waits; one that was rejected is refused with what the person said.
    """
    published = _published(space, path)
    if published is not None and published.content == content:
        return None
    before = published.content if published else None
    protected.check(before, content)
    found = findings.findings_of(space, path, before, content)
    spaces.refuse_secrets(space, found, findings.detectable(content))
    proposal = Proposal(
        space=space, agent=None, agent_name=program, kind=Proposal.Kind.WRITE, path=path, content=content,
        change={"asked_by": program, "tool": tool, "session": clean(session, 100), "stood": 0},
        base_revision=published.revision if published else None, base_sha256=published.sha256 if published else "",
    )  # fmt: skip
    proposal.same_as = _same_write(proposal)
    if waiting := _waits_already(proposal):
        return waiting
    proposal.findings = [one.as_json() for one in found]
    proposal.risk = kind_of(proposal).risk(proposal, found, before, content)
    return _insert_write(proposal)


def _published(space: Space, path: str) -> files.Published | None:
    found = files.read_many(space, [path])[path]
    return found if isinstance(found, files.Published) else None


def _same_write(proposal: Proposal) -> str:
    told = f"before write\0{proposal.agent_name}\0{proposal.path}\0{proposal.base_sha256}\0"
    return hashlib.sha256(told.encode() + bytes(proposal.content or b"")).hexdigest()


def writes_waiting(space: Space, program: str, path: str) -> list[Proposal]:
    """What a program wanted to write to a file and nobody decided on yet, newest first."""
    mine = Proposal.objects.within(space).filter(path=path, agent_name=program, state=State.PENDING)
    return list(mine.filter(change__has_key="asked_by").order_by("-number")[:MAX_WAITING])


def _waits_already(proposal: Proposal) -> Proposal | None:
    same = Proposal.objects.within(proposal.space).filter(same_as=proposal.same_as)
    newest = same.select_related("space").order_by("-number").first()
    if newest is None or newest.state == State.PENDING:
        return newest
    if newest.state == State.REJECTED:
        why = f": {newest.note}" if newest.note else "."
        raise Conflict(
            f"A person rejected this very change in proposal {newest.number}{why} Do not retry, carry on.", code="rejected_before"
        )  # fmt: skip
    return None


def _insert_write(proposal: Proposal) -> Proposal:
    """Numbers and records it. Of two equal ones at one moment the first counts for both."""
    space = proposal.space
    proposal.reviewers, proposal.expires_at = reviewers_for(space, None, proposal.path), deadline(space)
    if len(writes_waiting(space, proposal.agent_name, proposal.path)) >= MAX_WAITING:
        raise Conflict(
            f"{MAX_WAITING} changes of {proposal.path} wait for a person already; this one was not recorded. Stop changing it.",
            code="too_many_waiting",
        )
    try:
        with transaction.atomic():
            proposal.number = spaces.next_number(space, "last_proposal")
            proposal.save(force_insert=True)
            activity.record(
                space, Actor("agent", None, proposal.agent_name), "proposals.propose", "asked to write", proposal.path,
                url=f"proposals/{proposal.number}/", adds=f"in proposal {proposal.number}, before it was on disk",
                path=proposal.path, details={"proposal": proposal.number},
            )  # fmt: skip
            notices.add(proposal, "proposal.created")
    except IntegrityError:
        if waiting := _waits_already(proposal):
            return waiting
        raise
    return proposal


def asked_before_write(proposal: Proposal) -> bool:
    """Whether it is a write of an agent's own file tool that was refused before it landed."""
    return "asked_by" in proposal.change


def asked_since(agent: Agent, moment: datetime) -> datetime | None:
    """When this agent last got a prompt since a moment, None if it did not."""
    asked = Delivery.objects.within(agent.space_id).filter(agent_id=agent.pk, last_at__gte=moment)
    return asked.aggregate(last=Max("last_at"))["last"]


def problem_on_disk(proposal: Proposal) -> str:
    """Why a change on disk cannot be approved any more: something else stands there, so nobody has seen it."""
    if not proposal.from_disk or "put_back_at" in proposal.change:
        return ""
    file = File.objects.within(proposal.space_id).filter(path=proposal.path, thread_id="").first()
    return "" if file is not None and file.held_proposal == proposal.number else AGAIN
