"""Changes on disk that wait for a person: the proposals by `disk`, which no agent asked for; and writes of agents' own file tools
that were refused before they landed, in the name of the program."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from memoryhub.detectors import Finding
from memoryhub.detectors.changes import detectable
from memoryhub.domain import activity, files, spaces
from memoryhub.domain.proposals import findings
from memoryhub.domain.proposals.ask import insert_numbered, reviewers_for
from memoryhub.domain.proposals.kinds import kind_of
from memoryhub.domain.proposals.state import clean, deadline
from memoryhub.domain.proposals.waiting import outdate
from memoryhub.errors import Conflict, HubError
from memoryhub.models import DISK, Actor, Agent, Delivery, File, PolicyRule, Proposal, Space
from memoryhub.text import edits

State = Proposal.State
REASONS = {"made": "Created on disk", "changed": "Changed on disk", "deleted": "Deleted on disk"}
SAYS = {"made": "created", "changed": "changed", "deleted": "deleted"}
MAX_AN_HOUR = 20  # proposals for one file: a program that writes all the time would fill the inbox
AGAIN = "The file on disk changed again; a later proposal has what stands there."


@spaces.on_event("findings_on_disk")
def findings_on_disk(space: Space, path: str, before: bytes | None, after: bytes) -> list[Finding]:
    return findings.findings_of(space, path, before, after)


@spaces.on_event("propose_from_disk")
@transaction.atomic
def propose_from_disk(
    space: Space, *, path: str, content: bytes | None, found: list[Finding], held: str, base: tuple[int | None, str],
    secrets: list[dict[str, Any]], since: datetime, round: int,
) -> int:  # fmt: skip
    """Keeps a change on disk as a proposal and answers its number. One for the same text that waits is that one; others for the
    file that wait are outdated. Of a file that changes all the time, the one that waits takes the newest text."""
    kind = Proposal.Kind.DELETE if content is None else Proposal.Kind.WRITE
    proposal = Proposal(
        space=space, agent=None, agent_name=DISK.name, from_disk=True, kind=kind, path=path, content=content,
        change={
            "held": held, "since": since.isoformat(), "found_at": timezone.now().isoformat(), "secrets": secrets, "round": round,
        },
        base_revision=base[0], base_sha256=base[1], reason=REASONS[held],
    )  # fmt: skip
    proposal.same_as = same_as(proposal)
    waiting = _waiting(space, path).filter(same_as=proposal.same_as).first()
    if waiting is not None:
        return waiting.number
    if renewed := _renewed(proposal, found):
        return renewed
    outdate_from_disk(space, path, AGAIN)
    _add(proposal, found)
    return proposal.number


def _renewed(proposal: Proposal, found: list[Finding]) -> int | None:
    """Of a file of which many changes were found within an hour: the number of the proposal that waits, with this text in place of
    its own. Who looked at the earlier text and decides is shown the new one first."""
    space, path = proposal.space, proposal.path
    recent = Proposal.objects.within(space).filter(
        path=path, from_disk=True, created_at__gt=timezone.now() - timedelta(hours=1)
    )
    if recent.count() < MAX_AN_HOUR:
        return None
    waiting = _waiting(space, path).select_for_update(skip_locked=True).order_by("-number").first()
    if waiting is None:
        return None
    for name in ("kind", "content", "change", "base_revision", "base_sha256", "reason", "same_as"):
        setattr(waiting, name, getattr(proposal, name))
    waiting.findings, waiting.updated_at, waiting.approvals = [one.as_json() for one in found], timezone.now(), []
    waiting.risk = kind_of(proposal).risk(proposal, found, None, proposal.content)
    waiting.save()
    return waiting.number


def _add(proposal: Proposal, found: list[Finding]) -> None:
    space = proposal.space
    proposal.findings = [one.as_json() for one in found]
    proposal.risk = kind_of(proposal).risk(proposal, found, None, proposal.content)
    proposal.reviewers = reviewers_for(space, _rule_at(space, proposal.path))
    proposal.expires_at = deadline(space)

    def record() -> None:
        activity.record(
            space, DISK, "files.hold", SAYS[proposal.change["held"]], proposal.path, url=f"proposals/{proposal.number}/",
            adds=f"on disk, held in proposal {proposal.number}", path=proposal.path, details={"proposal": proposal.number},
        )  # fmt: skip

    insert_numbered(proposal, record)


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


@dataclass(frozen=True)
class TimeOnDisk:
    """How long a text that nobody had approved stood on disk, as far as the hub saw it; `until` is None while it does."""

    since: datetime
    until: datetime | None

    @property
    def seconds(self) -> float:
        return max(0.0, ((self.until or timezone.now()) - self.since).total_seconds())


def time_on_disk(proposal: Proposal) -> TimeOnDisk | None:
    """How long the text of a change on disk stood there; None for one that never did."""
    change = proposal.change
    if not proposal.from_disk:
        return None
    since = datetime.fromisoformat(change.get("since") or change["found_at"])
    if put_back := change.get("put_back_at"):
        return TimeOnDisk(since, datetime.fromisoformat(put_back))
    over = proposal.decided_at if proposal.state == State.APPROVED else proposal.updated_at
    return TimeOnDisk(since, None if proposal.state in (State.PENDING, State.REJECTED, State.EXPIRED) else over)


# ---- writes that were refused before they landed

MAX_KEPT = 1_000
MAX_WAITING = 50  # for one file: more than these nobody reads


def propose_before_write(
    space: Space,
    program: str,
    *,
    path: str,
    content: bytes,
    tool: str,
    session: str = "",
    pending: str = "",
    reason: str = "",
) -> Proposal | None:
    """Keeps the text that a program wanted to write as a proposal in its name; None where the hub hands out that very text.

    The same text again is the proposal that waits; one that was rejected is refused with what the person said. `pending` is the
    id under which the program itself keeps the change until somebody decides.
    """
    published = _published(space, path)
    if published is not None and published.content == content:
        return None
    before = published.content if published else None
    edits.check_protected(before, content)
    found = findings.findings_of(space, path, before, content)
    spaces.refuse_secrets(space, found, detectable(content))
    proposal = Proposal(
        space=space, agent=None, agent_name=program, kind=Proposal.Kind.WRITE, path=path, content=content,
        change={"asked_by": program, "tool": tool, "session": clean(session, 100), "stood": 0, **({"pending": pending} if pending else {})},
        base_revision=published.revision if published else None, base_sha256=published.sha256 if published else "",
        reason=clean(reason, 2000),
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
    if pending := proposal.change.get("pending"):  # each is decided on by itself, whatever it says
        return hashlib.sha256(f"pending\0{proposal.agent_name}\0{proposal.path}\0{pending}".encode()).hexdigest()
    key = f"before write\0{proposal.agent_name}\0{proposal.path}\0{proposal.base_sha256}\0"
    return hashlib.sha256(key.encode() + bytes(proposal.content or b"")).hexdigest()


@transaction.atomic
def renew_write(space: Space, number: int, content: bytes) -> None:
    """Gives a waiting write another text, which its program's change makes of what the file says now. A decision on the text before
    is refused with the new one."""
    proposal = Proposal.objects.within(space).select_for_update(of=("self",)).select_related("space").get(number=number)
    published = _published(space, proposal.path)
    base = (published.revision, published.sha256) if published else (None, "")
    same = bytes(proposal.content or b"") == content and (proposal.base_revision, proposal.base_sha256) == base
    if proposal.state not in (State.PENDING, State.OUTDATED) or same:
        return
    before = published.content if published else None
    found = findings.findings_of(space, proposal.path, before, content)
    spaces.refuse_secrets(space, found, detectable(content))
    proposal.content, (proposal.base_revision, proposal.base_sha256) = content, base
    proposal.findings, proposal.approvals = [one.as_json() for one in found], []
    proposal.risk = kind_of(proposal).risk(proposal, found, before, content)
    proposal.state, proposal.note, proposal.updated_at = State.PENDING, "", timezone.now()
    proposal.save()


@transaction.atomic
def outdate_write(space: Space, number: int, why: str) -> None:
    """Closes a waiting write that its program no longer asks for, or cannot be made any more."""
    for proposal in (
        Proposal.objects.within(space).select_for_update(of=("self",)).filter(number=number).select_related("space")
    ):
        outdate(proposal, why)


def changes_of_program(space: Space, program: str) -> list[Proposal]:
    """The proposals for changes that a program itself keeps until somebody decides, whatever became of them; newest first."""
    mine = Proposal.objects.within(space).filter(agent_name=program, change__has_key="pending")
    return list(mine.defer("content").order_by("-number")[:MAX_KEPT])


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
    space = proposal.space
    proposal.reviewers, proposal.expires_at = reviewers_for(space, _rule_at(space, proposal.path)), deadline(space)
    if len(writes_waiting(space, proposal.agent_name, proposal.path)) >= MAX_WAITING:
        raise Conflict(
            f"{MAX_WAITING} changes of {proposal.path} wait for a person already; this one was not recorded. Stop changing it.",
            code="too_many_waiting",
        )

    def record() -> None:
        activity.record(
            space, Actor("agent", None, proposal.agent_name), "proposals.propose", "asked to write", proposal.path,
            url=f"proposals/{proposal.number}/", adds=f"in proposal {proposal.number}, before it was on disk",
            path=proposal.path, details={"proposal": proposal.number},
        )  # fmt: skip

    return insert_numbered(proposal, record, _waits_already)


def _rule_at(space: Space, path: str) -> PolicyRule | None:
    """The rule of the space that counts at a path; none where nothing is mounted."""
    try:
        return files.resolve_path(space, path).rule
    except HubError:
        return None


def asked_since(agent: Agent, moment: datetime) -> datetime | None:
    """When this agent last got a prompt since a moment, None if it did not."""
    asked = Delivery.objects.within(agent.space_id).filter(agent_id=agent.pk, last_at__gte=moment)
    return asked.aggregate(last=Max("last_at"))["last"]


def problem_on_disk(proposal: Proposal) -> str:
    """Why a proposal from disk cannot be approved any more: something else stands there, so nobody has seen it."""
    if "put_back_at" in proposal.change:
        return ""
    file = File.objects.within(proposal.space_id).filter(path=proposal.path, thread_id="").first()
    return "" if file is not None and file.held_proposal == proposal.number else AGAIN
