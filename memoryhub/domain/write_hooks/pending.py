"""Changes of memory that Hermes keeps until somebody decides: taken in as proposals, and taken out of its folder once decided."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from memoryhub.domain import coding_agents, files, jobs, proposals, spaces
from memoryhub.domain.coding_agents import Format, PendingWrite
from memoryhub.errors import HubError
from memoryhub.models import File, Mount, Proposal, Space

log = logging.getLogger("memoryhub.hooks")
PROGRAM, TOOL = "hermes", "memory"
State = Proposal.State
DECIDED_THERE = "It was decided on in Hermes itself."


@dataclass(frozen=True)
class Waiting:
    """What waits in the homes of Hermes that a space shows: how many changes, and those that cannot be proposed, with why."""

    count: int = 0
    refused: tuple[tuple[str, str], ...] = ()


def hermes_mounts(space: Space | None = None) -> Iterator[tuple[Mount, str]]:
    """The mounts that show a home of Hermes, with its real path."""
    rows = Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space")
    for mount in rows.filter(space=space) if space else rows:
        home = os.path.realpath(mount.directory)
        known = coding_agents.format_of(os.path.join(home, coding_agents.HERMES_TARGETS["memory"]))
        if known is not None and known.agent == PROGRAM:
            yield mount, home


def take_in_pending(space: Space) -> Waiting:
    """Brings proposals and Hermes' folders in step: what waits there is a proposal, and what was decided here is gone there."""
    count, refused = 0, []
    for mount, home in hermes_mounts(space):
        known = {
            one.change["pending"]: one
            for one in proposals.kept_by_program(space, PROGRAM)
            if one.path.startswith(mount.prefix)
        }
        found, odd = coding_agents.pending_writes(home)
        refused += [(name, "It is no change that Hermes writes.") for name in odd]
        for pending in found:
            try:
                count += _take_in(space, mount, home, pending, known.get(pending.id))
            except HubError as refusal:
                refused.append((pending.id, refusal.message))
        there = {one.id for one in found}
        for known_id, proposal in known.items():
            if known_id not in there and proposal.state == State.PENDING:
                proposals.outdate_write(space, proposal.number, DECIDED_THERE)
    return Waiting(count, tuple(refused))


def _take_in(space: Space, mount: Mount, home: str, pending: PendingWrite, proposal: Proposal | None) -> int:
    """Answers whether it waits for a decision."""
    path = mount.prefix + pending.file
    if proposal is not None and proposal.state in (State.APPROVED, State.REJECTED, State.WITHDRAWN):
        if proposal.state != State.APPROVED or _is_on_disk(space, path):
            coding_agents.discard_pending(home, pending.id)
        return 0
    if proposal is not None and proposal.state == State.EXPIRED:
        return 0
    try:
        after = _text_after(space, mount, path, pending)
    except HubError as refusal:
        if proposal is not None:
            proposals.outdate_write(space, proposal.number, refusal.message)
            return 0
        raise
    if proposal is not None:
        proposals.renew_write(space, proposal.number, after)
        return 1
    made = proposals.propose_before_write(
        space, PROGRAM, path=path, content=after, tool=TOOL, pending=pending.id, reason=pending.summary
    )
    return int(made is not None)


def _is_on_disk(space: Space, path: str) -> bool:
    file = File.objects.within(space).filter(path=path, thread_id="").first()
    return file is not None and file.written_revision == file.revision and not file.problem


def _text_after(space: Space, mount: Mount, path: str, pending: PendingWrite) -> bytes:
    files.sync_path(space, path)
    published = files.read_many(space, [path])[path]
    text = published.content.decode("utf-8", "replace") if isinstance(published, files.Published) else ""
    known: Format | None = coding_agents.format_of(os.path.join(os.path.realpath(mount.directory), pending.file))
    assert known is not None  # the mount was chosen by it
    after = coding_agents.text_after_pending(known, pending, text).encode()
    return files.storable_text(space, published.content if isinstance(published, files.Published) else None, after)


@spaces.on_event("proposal_closed")
def settle(proposal: Proposal) -> None:
    """After a decision: the file of the change goes, and others that wait are made anew on the text as it is now."""
    transaction.on_commit(lambda: _quietly(proposal.space))


@jobs.periodic("hooks.pending", every=timedelta(minutes=1))
def take_in_everywhere() -> None:
    """Looks into every home of Hermes that is mounted."""
    for space in {mount.space_id: mount.space for mount, _ in hermes_mounts()}.values():
        _quietly(space)


def _quietly(space: Space) -> None:
    try:
        take_in_pending(space)
    except (HubError, OSError) as error:
        log.warning("Changes that Hermes keeps were not looked at: %s", error)
