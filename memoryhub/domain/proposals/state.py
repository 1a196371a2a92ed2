"""The row of a proposal: found, locked, what it builds on and what builds on it, who may not decide, closed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from django.db.models import JSONField, Q
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.detectors import secrets
from memoryhub.domain import activity, spaces
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import DISK, Actor, Proposal, Space, Token

State = Proposal.State
OPEN = (State.PENDING, State.OUTDATED)
Parents = Callable[[Proposal], "Proposal | None"]


def get(space: Space, number: int) -> Proposal:
    """One proposal of the space."""
    proposal = _found(Proposal.objects.within(space).select_related("agent").filter(number=number).first(), number)
    proposal.space = space
    return proposal


FIELDS = [field.attname for field in Proposal._meta.concrete_fields]
JSON_FIELDS = [field.attname for field in Proposal._meta.concrete_fields if isinstance(field, JSONField)]
# Every decision asks this: prepared, because making such a query costs Django many times what the database needs for it.
LOCK = f"""
SELECT {", ".join(f"{name}::text" if name in JSON_FIELDS else name for name in FIELDS)}
FROM memoryhub_proposal WHERE space_id = %s AND number = %s FOR UPDATE
"""  # noqa: S608  only names of columns are put in


LOCK_IF_NO_RECORD = LOCK.replace("FOR UPDATE", "AND change ->> 'record_id' IS NULL FOR UPDATE")


def locked(space: Space, number: int) -> Proposal:
    """One proposal, its row locked until the transaction ends: of two decisions the second sees the first."""
    return _found(_locked(LOCK, space, number), number)


def locked_if_no_record(space: Space, number: int) -> Proposal | None:
    """The proposal as `locked` gives it; None, and no lock, where it promotes a record of quarantine, which is locked before."""
    return _locked(LOCK_IF_NO_RECORD, space, number)


def _locked(sql: str, space: Space, number: int) -> Proposal | None:
    for row in statements.rows(sql, [space.pk, number]):
        values = dict(zip(FIELDS, row, strict=True))
        values |= {name: json.loads(values[name]) for name in JSON_FIELDS}
        return statements.instance(Proposal, values.items(), space=space)
    return None


def _found(proposal: Proposal | None, number: int) -> Proposal:
    if proposal is None:
        raise NotFound(f"There is no proposal {number} in this space.")
    return proposal


def parent_of(proposal: Proposal) -> Proposal | None:
    """The proposal that this one builds on."""
    if proposal.stacked_on is None:
        return None
    return Proposal.objects.within(proposal.space_id).filter(number=proposal.stacked_on).first()


def parents_of(space: Space, chosen: Iterable[Proposal]) -> Parents:
    """`parent_of` for several proposals: one statement for each level of a stack that is not among them."""
    known = {one.number: one for one in chosen}
    missing = _parents_missing(known, known.values())
    while missing:
        rows = list(Proposal.objects.within(space).filter(number__in=missing))
        known |= {one.number: one for one in rows}
        missing = _parents_missing(known, rows)
    return lambda one: known.get(one.stacked_on)


def _parents_missing(known: dict[int, Proposal], rows: Iterable[Proposal]) -> set[int]:
    return {one.stacked_on for one in rows if one.stacked_on is not None} - known.keys()


def asked_by(proposal: Proposal) -> Actor:
    """Who wants the change: an agent, a person who leaves it to others to decide, or the disk."""
    if proposal.from_disk:
        return DISK
    id = proposal.change["person"] if proposal.asker == "person" else proposal.agent_id
    return Actor(proposal.asker, id, proposal.agent_name)


def is_late(proposal: Proposal, now: datetime | None = None) -> bool:
    """Whether it waits and its date is over: nobody decides on it any more."""
    ends = proposal.expires_at if proposal.state in OPEN else None
    return ends is not None and ends <= (now or timezone.now())


def ends_soon(proposal: Proposal) -> bool:
    """Whether so little of its time is left that its space wants people to be warned."""
    warn = timedelta(days=proposal.space.settings["warn_days"])
    return proposal.state in OPEN and proposal.expires_at is not None and proposal.expires_at - warn <= timezone.now()


def deadline(space: Space) -> datetime:
    """When a proposal that begins to wait now expires, by the database's clock, which ends it."""
    return statements.database_now() + timedelta(days=space.settings["proposal_days"])


def already_decided(proposal: Proposal) -> Conflict:
    who = f" by {proposal.decided_by_name}" if proposal.decided_by_name else ""
    ended = "expired because nobody decided. Reopen it to decide on it" if proposal.state == State.EXPIRED else ""
    return Conflict(
        f"Proposal {proposal.number} {ended or f'was {proposal.state} already{who}'}.",
        code="already_decided",
        state=proposal.state,
        decided_by=proposal.decided_by_name,
    )


def is_own(proposal: Proposal, actor: Actor) -> bool:
    """Whether the space wants another person to decide: whoever made a key of an agent can ask in its name."""
    if proposal.space.settings["who_decides"] == "others" and proposal.change.get("person") == actor.id:
        return True
    return bool(agents_barred(proposal.space, actor, [proposal.agent_id]))


def agents_barred(space: Space, actor: Actor, agents: Iterable[int | None]) -> set[int | None]:
    """Those of the agents on whose proposals this person may not decide, because they made a key of them."""
    if not actor.is_person or space.settings["who_decides"] != "others":
        return set()
    made = Token.objects.within(space).filter(agent__in=[pk for pk in agents if pk], made_by=actor.name)
    return set(made.values_list("agent_id", flat=True))


def count_to_decide(space: Space, actor: Actor, waiting: int) -> int:
    """How many of the waiting proposals this person may decide on: all but those of agents whose tokens they created."""
    if not actor.is_person or space.settings["who_decides"] != "others":
        return waiting
    made = Token.objects.within(space).filter(agent__isnull=False, made_by=actor.name).values("agent_id")
    mine = Q(agent_id__in=made) | Q(change__person=actor.id)
    barred = Proposal.objects.within(space).filter(mine, state__in=OPEN)
    return max(0, waiting - barred.count())


CLOSE = """
UPDATE memoryhub_proposal SET state = %s, note = %s, decided_at = %s, updated_at = %s, decided_by_id = %s,
    decided_by_name = %s, changes_requested = %s, with_edits = %s, applied_revision = %s, entry_number = %s
WHERE id = %s RETURNING EXISTS (
    SELECT FROM memoryhub_proposal WHERE space_id = %s AND path = %s AND path <> '' AND state = 'pending' AND id <> %s
)
"""


def close(
    proposal: Proposal, state: str, actor: Actor, verb: str, says: str, *, note: str = "", adds: str = ""
) -> None:
    """Stores the decision on a proposal, whose row is locked, and records it in the activity."""
    now = max(timezone.now(), proposal.created_at)  # another node, whose clock goes before, may have made it
    proposal.state, proposal.note = state, clean(note, 2000)
    proposal.decided_at, proposal.updated_at = now, now
    proposal.decided_by_id, proposal.decided_by_name = actor.id, actor.name
    values = (
        proposal.state, proposal.note, now, now, proposal.decided_by_id, proposal.decided_by_name, proposal.changes_requested,
        proposal.with_edits, proposal.applied_revision, proposal.entry_number, proposal.pk, proposal.space_id, proposal.path,
        proposal.pk,
    )  # fmt: skip
    mark_prompts(proposal.space, [proposal.kind])
    line = line_of(proposal, actor, verb, says, adds=adds, aside=proposal.note[:100])
    (proposal.others_wait,) = statements.together(statements.Change(CLOSE, values), activity.lines_as_change(line))
    if "pending" in proposal.change:  # its program keeps it as well, until it is decided
        spaces.send_event("proposal_closed", proposal)


def mark_prompts(space: Space, kinds: Iterable[str]) -> None:
    """After proposals of these kinds came to another state: prompts warn of templates that nobody let in."""
    if Proposal.Kind.TEMPLATE in kinds:
        spaces.mark_setup(space)


CHILDREN = """
UPDATE memoryhub_proposal SET state = 'outdated', note = 'It built on proposal ' || stacked_on || ', ' || %s || '.',
    decided_at = greatest(%s, created_at), updated_at = %s, decided_by_id = NULL, decided_by_name = ''
WHERE id IN (
    SELECT id FROM memoryhub_proposal WHERE space_id = %s AND state = 'pending' AND stacked_on = ANY(%s)
    ORDER BY number FOR UPDATE
) RETURNING number
"""


def outdate_children(space: Space, parents: Iterable[int], ended: str) -> None:
    """What built on these has nothing to stand on any more, nor has what built on that."""
    numbers = list(parents)
    while numbers:
        now = timezone.now()
        numbers = [number for (number,) in statements.changed(CHILDREN, [ended, now, now, space.pk, numbers])]
        ended = State.OUTDATED


def record(proposal: Proposal, actor: Actor, verb: str, says: str, *, adds: str = "", aside: str = "") -> None:
    """Writes the line of activity about something that happened to a proposal."""
    activity.record_line(line_of(proposal, actor, verb, says, adds=adds, aside=aside))


def line_of(proposal: Proposal, actor: Actor, verb: str, says: str, *, adds: str, aside: str) -> activity.Line:
    return activity.make_line(
        proposal.space, actor, verb, says, f"proposal {proposal.number}", url=f"proposals/{proposal.number}/",
        adds=adds, aside=aside, path=proposal.path, details={"proposal": proposal.number},
    )  # fmt: skip


def clean(text: str, limit: int) -> str:
    """A remark as it is stored: without secrets and characters that no column takes, and not longer than this."""
    if not text:
        return ""
    text = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return secrets.redact(text[: limit * 2])[0][:limit]
