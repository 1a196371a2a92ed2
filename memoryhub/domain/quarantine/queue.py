"""Quarantine as a queue: pages of records grouped by session, what is held first, and which record comes next."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from memoryhub.db import statements
from memoryhub.db.prepared import any_of, prepared
from memoryhub.domain.quarantine.queries import find, with_states
from memoryhub.domain.quarantine.records import HELD
from memoryhub.models import Record, RecordState, Space

PAGE = 40
MAX_COUNTED = 10_000  # of each state
REST, OPEN = "rest", ""
STATES = (HELD, RecordState.ADMITTED, RecordState.PROMOTED, RecordState.DISCARDED)
COUNTS = """
SELECT (SELECT count(*) FROM (
    SELECT 1 FROM "quarantine"."state" WHERE space_id = %(space)s AND state = s.state AND is_newest LIMIT %(most)s) c)
FROM unnest(%(states)s::text[]) WITH ORDINALITY s(state, place) ORDER BY place
"""
# By the index of states: a page costs the same among ten records and a million.
NEWEST = """
SELECT r.record_id FROM unnest(%(states)s::text[]) s(state) CROSS JOIN LATERAL (
    SELECT record_id FROM "quarantine"."state"
     WHERE space_id = %(space)s AND state = s.state AND is_newest AND record_id < %(before)s
     ORDER BY record_id DESC LIMIT %(most)s) r
 ORDER BY r.record_id DESC LIMIT %(most)s
"""
NO_RECORD = 1 << 62
RECORDS = prepared(
    lambda space, ids: Record.objects.within(space).filter(any_of("id", ids)).defer("words").order_by("-id")
)


@dataclass
class SessionGroup:
    """Records of one session that stand together, the held ones first, each newest first."""

    session_id: str
    records: list[Record] = field(default_factory=list)

    @property
    def agent_name(self) -> str:
        return self.records[0].agent_name

    @property
    def newest_at(self) -> datetime:
        return max(one.created_at for one in self.records)

    @property
    def held(self) -> list[Record]:
        return [one for one in self.records if is_held(one)]


@dataclass(frozen=True)
class QueuePage:
    """A page of the queue, and where the older records begin."""

    groups: list[SessionGroup]
    older: dict[str, Any] | None  # of the address of the next page
    following: Record | None  # the first record of the next page

    @property
    def records(self) -> list[Record]:
        return [one for group in self.groups for one in group.records]


def is_held(record: Record) -> bool:
    return bool(record.state and record.state.state == HELD)


def queue_page(
    space: Space, *, state: str = OPEN, before: int | None = None, part: str = "", limit: int = PAGE, **filters: str
) -> QueuePage:
    """Records in groups by session: what is held first, then newest first. Without a state, discarded ones are left out.

    `before` and `part` are those of `older`: in the held part or in the rest of the queue.
    """
    if state:
        found, held = _records(space, (state,), before, limit, filters), 0
    else:
        held_ones = [] if part == REST else _records(space, (HELD,), before, limit, filters)
        held = min(limit, len(held_ones))
        found = held_ones
        if len(held_ones) <= limit:
            beneath = before if part == REST else None
            found = held_ones + _records(space, STATES[1:3], beneath, limit - held, filters)
    shown, further = with_states(found[:limit]), found[limit : limit + 1]
    older = None
    if further:
        # On the border the next page begins with the newest of the rest, however new that is.
        part = "" if state or limit < len(held_ones) else REST
        last = shown[-1].pk if len(shown) > held or not part else None
        older = {"before": last, "part": part}
    return QueuePage(_grouped(shown), older, further[0] if further else None)


def _records(
    space: Space, states: Sequence[str], before: int | None, limit: int, filters: dict[str, Any]
) -> list[Record]:
    """The newest records in any of these states, one more than the limit."""
    if any(filters.values()):
        lists = [find(space, state=state, before=before, **filters)[: limit + 1] for state in states]
        return list(islice(heapq.merge(*lists, key=lambda one: -one.pk), limit + 1))
    known = [state for state in states if state in STATES]
    if len(known) < len(states):  # "unseen" is no state of its own
        return list(find(space, state=states[0], before=before)[: limit + 1])
    given = {"space": space.pk, "states": known, "before": before or NO_RECORD, "most": limit + 1}
    ids = [pk for (pk,) in statements.rows(NEWEST, given)]
    return RECORDS(space.pk, ids) if ids else []


def _grouped(records: Iterable[Record]) -> list[SessionGroup]:
    """The records by session: sessions with something held first, then by their newest record."""
    groups: dict[str, SessionGroup] = {}
    for one in records:
        groups.setdefault(one.session_id, SessionGroup(one.session_id)).records.append(one)
    return sorted(groups.values(), key=lambda group: (bool(group.held), group.newest_at), reverse=True)


@dataclass(frozen=True)
class StateCounts:
    """How many records are in each state, each counted up to a limit."""

    held: int
    admitted: int
    promoted: int
    discarded: int

    @property
    def open(self) -> int:
        return self.held + self.admitted + self.promoted

    @property
    def is_cut(self) -> bool:
        return MAX_COUNTED in (self.held, self.admitted, self.promoted)


def count_states(space: Space) -> StateCounts:
    rows = statements.rows(COUNTS, {"space": space.pk, "most": MAX_COUNTED, "states": list(STATES)})
    return StateCounts(*(count for (count,) in rows))


def next_held(space: Space, record_id: int, wanted: int | None = None, **filters: Any) -> Record | None:
    """The held record to look at after this one: the wanted one if it still waits, else the next older one, else the newest."""
    if wanted:
        held = RecordState.objects.within(space).filter(record_id=wanted, is_newest=True, state=HELD)
        if held.exists():
            return Record.objects.within(space).filter(pk=wanted).first()
    waiting = find(space, state=HELD, **filters)
    return waiting.filter(pk__lt=record_id).first() or waiting.exclude(pk=record_id).first()
