"""Lists of quarantine records for people, with what became of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.db.prepared import any_of, prepared
from memoryhub.domain import retrieval, working
from memoryhub.domain.quarantine.records import ADMITTED, HELD
from memoryhub.models import Record, RecordState, Space

UNSEEN = "unseen"  # admitted by the gate, in working memory, and looked at by nobody
MAX_COUNTED = 50_000
# The gate's own word on each record of a day: from the day's first record on, by the index of the states.
TODAY = """
SELECT state, reason, count(*) FROM (
    SELECT s.state, s.reason FROM "quarantine"."state" s, (
        SELECT id FROM "quarantine"."record" WHERE space_id = %s AND created_at >= %s ORDER BY created_at LIMIT 1
    ) first WHERE s.space_id = %s AND s.record_id >= first.id AND s.actor_kind = 'hub' ORDER BY s.record_id DESC LIMIT %s
) newest GROUP BY state, reason
"""


def find(
    space: Space,
    *,
    words: str = "",
    state: str = "",
    agent: str = "",
    session: str = "",
    node_kind: str = "",
    finding: str = "",
    before: int | None = None,
) -> QuerySet[Record]:
    """The records that fit, newest first; discarded ones only when asked for."""
    found = Record.objects.within(space).defer("words").order_by("-id")
    if before:
        found = found.filter(pk__lt=before)
    exact = {"agent_name": agent, "session_id": session, "node_kind": node_kind}
    found = found.filter(**{name: value for name, value in exact.items() if value})
    if finding:
        found = found.filter(codes__contains=[finding]).exclude(codes=[])  # which the index leaves out
    if words.strip():
        found = found.filter(retrieval.records_with(words))
    if state == UNSEEN:
        return found.filter(pk__in=working.unseen(space).values("record_id"))
    return found.in_state(space, state) if state else found.not_in_state(space, RecordState.DISCARDED)


NEWEST_STATES = prepared(
    lambda spaces, records: RecordState.objects.filter(
        any_of("space_id", spaces), any_of("record_id", records), is_newest=True
    )
)


def with_states(records: Iterable[Record]) -> list[Record]:
    """The records, each with `.state` (its newest row of history)."""
    records = list(records)
    rows = NEWEST_STATES(list({one.space_id for one in records}), [one.pk for one in records]) if records else ()
    states = {row.record_id: row for row in rows}
    live = [row.working_id for row in states.values() if row.state == ADMITTED and row.working_id]
    unseen = working.entries_unseen(live) if live else set()
    for one in records:
        one.state = states.get(one.pk)
        one.is_unseen = bool(one.state and one.state.working_id in unseen)
    return records


@dataclass(frozen=True)
class SessionPart:
    """Part of a session, oldest first, and whether it began before this and goes on after it."""

    records: list[Record]
    has_earlier: bool
    has_later: bool


@lru_cache(maxsize=16)
def _part(side: str, order: str, most: int) -> prepared:
    """Records of a session on one side of a record, the nearest first."""
    return prepared(
        lambda space, session_id, first: (
            Record.objects.within(space)
            .filter(session_id=session_id, **{side: first})
            .defer("words")
            .order_by(order)[:most]
        )
    )


def session(space: Space, session_id: str, limit: int = 200, around: Record | None = None) -> SessionPart:
    """A session as it went; of a long one the part around a record."""
    given = (space.pk, session_id, around.pk if around else 0)
    earlier = _part("pk__lt", "-id", limit + 1)(*given)[::-1]
    later = _part("pk__gte", "id", limit + 1)(*given)
    before = min(len(earlier), max(limit // 2, limit - len(later)))
    shown = earlier[len(earlier) - before :] + later[: limit - before]
    return SessionPart(with_states(shown), before < len(earlier), limit - before < len(later))


def today(space: Space) -> dict[str, Any]:
    """What the gate did in the last 24 hours: how many came in, each finding that held; of a flood its newest part."""
    rows = statements.rows(TODAY, [space.pk, timezone.now() - timedelta(hours=24), space.pk, MAX_COUNTED])
    held = {reason or "held": n for state, reason, n in rows if state == HELD}
    admitted = sum(n for state, _, n in rows if state == ADMITTED)
    return {"admitted": admitted, "held": held, "all": admitted + sum(held.values())}


def waiting(space: Space) -> int:
    """How many records the gate holds for a person."""
    return RecordState.objects.within(space).filter(state=HELD, is_newest=True).count()
