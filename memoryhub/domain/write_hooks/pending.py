"""Changes of memory that agents keep themselves until somebody decides: taken in as proposals, taken out of their folders once decided.

Hermes keeps them in `pending/memory/`, Gemini CLI in the inbox of each project. Both are homes that a mount shows.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db import transaction

from memoryhub.domain import coding_agents, files, jobs, proposals, spaces
from memoryhub.errors import HubError
from memoryhub.models import File, Mount, Proposal, Space

log = logging.getLogger("memoryhub.hooks")
State = Proposal.State
DECIDED_THERE = "It was decided on in the agent itself."
ODD = "It is no change that this agent writes, or one that it alone can make."


@dataclass(frozen=True)
class PendingChange:
    """A change that a program keeps: its name there with a digest of it, the file inside of the program's home, what it makes of a
    text (None: there is no file), and how it is taken out."""

    program: str
    id: str
    file: str
    summary: str
    make: Callable[[str | None], str]
    discard: Callable[[], None]


@dataclass(frozen=True)
class Waiting:
    """What waits in the homes that a space shows: how many changes, and those that cannot be proposed, with why."""

    count: int = 0
    refused: tuple[tuple[str, str], ...] = ()


def _of_hermes(home: str) -> tuple[list[PendingChange], list[str]]:
    found, odd = coding_agents.pending_writes(home)
    kept = []
    for one in found:
        known = coding_agents.format_of(os.path.join(home, one.file))
        if known is not None:
            make = partial(_hermes_text, known, one)
            take_out = partial(coding_agents.discard_pending, home, one)
            kept.append(PendingChange("hermes", f"{one.id}@{one.digest}", one.file, one.summary, make, take_out))
    return kept, odd


def _hermes_text(known: coding_agents.Format, pending: coding_agents.PendingWrite, text: str | None) -> str:
    return coding_agents.text_after_pending(known, pending, text or "")


def _of_gemini(home: str) -> tuple[list[PendingChange], list[str]]:
    found, odd = coding_agents.inbox_patches(home)
    kept = []
    for one in found:
        make, take_out = partial(coding_agents.text_after_patch, one), partial(coding_agents.discard_patch, home, one)
        says = f"Drafted from past sessions: {one.id}"
        kept.append(PendingChange("gemini-cli", f"{one.id}@{one.digest}", one.file, says, make, take_out))
    return kept, odd


HOMES = {".hermes": ("hermes", _of_hermes), ".gemini": ("gemini-cli", _of_gemini)}


def homes(
    space: Space | None = None,
) -> Iterator[tuple[Mount, str, str, Callable[[str], tuple[list[PendingChange], list[str]]]]]:
    """The mounts that show the home of an agent which keeps changes, with its real path, the program, and how to read them."""
    rows = Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space")
    for mount in rows.filter(space=space) if space else rows:
        if not files.is_mine(mount):
            continue
        home = os.path.realpath(mount.directory)
        if os.path.basename(home) in HOMES:
            yield mount, home, *HOMES[os.path.basename(home)]


def take_in_pending(space: Space) -> Waiting:
    """Brings proposals and the agents' folders in step: what waits there is a proposal, and what was decided here is gone there."""
    count, refused = 0, []
    for mount, home, program, read in homes(space):
        known = {
            one.change["pending"]: one
            for one in proposals.changes_of_program(space, program)
            if one.path.startswith(mount.prefix)
        }
        found, odd = read(home)
        refused += [(name, ODD) for name in odd]
        for kept in found:
            try:
                count += _take_in(space, mount, kept, known.get(kept.id))
            except HubError as refusal:
                refused.append((kept.id, refusal.message))
        there = {one.id for one in found}
        for known_id, proposal in known.items():
            if known_id not in there and proposal.state == State.PENDING:
                proposals.outdate_write(space, proposal.number, DECIDED_THERE)
    return Waiting(count, tuple(refused))


def _take_in(space: Space, mount: Mount, kept: PendingChange, proposal: Proposal | None) -> int:
    """Answers whether it waits for a decision."""
    path = mount.prefix + kept.file
    if proposal is not None and proposal.state in (State.APPROVED, State.REJECTED, State.WITHDRAWN):
        if proposal.state != State.APPROVED or _is_on_disk(space, path):
            kept.discard()
        return 0
    if proposal is not None and proposal.state == State.EXPIRED:
        return 0
    try:
        after = _text_after(space, path, kept)
    except HubError as refusal:
        if proposal is not None:
            proposals.outdate_write(space, proposal.number, refusal.message)
            return 0
        raise
    if proposal is not None:
        proposals.renew_write(space, proposal.number, after)
        return 1
    made = proposals.propose_before_write(
        space, kept.program, path=path, content=after, tool="memory", pending=kept.id, reason=kept.summary
    )
    return int(made is not None)


def _is_on_disk(space: Space, path: str) -> bool:
    file = File.objects.within(space).filter(path=path, thread_id="").first()
    return file is not None and file.written_revision == file.revision and not file.problem


def _text_after(space: Space, path: str, kept: PendingChange) -> bytes:
    files.sync_path(space, path)
    published = files.read_many(space, [path])[path]
    before = published.content if isinstance(published, files.Published) else None
    after = kept.make(None if before is None else before.decode("utf-8", "replace"))
    return files.storable_text(space, before, after.encode("utf-8", "replace"))


@spaces.on_event("proposal_closed")
def settle(proposal: Proposal) -> None:
    """After a decision: the change is taken out of its folder, and others that wait are made anew on the text as it is now."""
    transaction.on_commit(lambda: _quietly(proposal.space))


@jobs.periodic("hooks.pending", every=timedelta(minutes=1))
def take_in_everywhere() -> None:
    """Looks into every home of an agent that keeps changes and that is mounted."""
    for space in {mount.space_id: mount.space for mount, *_ in homes()}.values():
        _quietly(space)


def _quietly(space: Space) -> None:
    try:
        take_in_pending(space)
    except (HubError, OSError) as error:
        log.warning("Changes that agents keep were not looked at: %s", error)
