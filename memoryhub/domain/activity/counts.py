"""The counts of a space: of all it holds for the overview, of what waits for the navigation, and of each of the last days."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain.activity.log import start_of_day
from memoryhub.models import Space

# Counting a large table exactly takes too long for a number on a page: beyond this pages show "and more".
MAX_COUNTED = 10_000

HELD = """(SELECT count(*) FROM (
     SELECT 1 FROM "quarantine"."state" WHERE space_id = %(space)s AND state = 'held' AND is_newest LIMIT %(max)s) h)"""
PROPOSALS = "(SELECT count(*) FROM memoryhub_proposal WHERE space_id = %(space)s AND state IN ('pending', 'outdated'))"
SQL = f"""
SELECT
  (SELECT count(*) FROM memoryhub_file WHERE space_id = %(space)s AND NOT is_deleted AND thread_id = '' AND revision > 0),
  (SELECT count(*) FROM (SELECT 1 FROM "quarantine"."record" WHERE space_id = %(space)s LIMIT %(max)s) r),
  {HELD},
  (SELECT count(*) FROM memoryhub_workingentry
     WHERE space_id = %(space)s AND removed_at IS NULL AND (is_pinned OR expires_at > now())),
  (SELECT count(*) FROM (
     SELECT 1 FROM memoryhub_longtermentry WHERE space_id = %(space)s AND state <> 'retired' LIMIT %(max)s) l),
  (SELECT count(*) FROM memoryhub_agent WHERE space_id = %(space)s),
  {PROPOSALS},
  (SELECT count(*) FROM memoryhub_membership WHERE space_id = %(space)s)
"""  # noqa: S608 (SQL of ours)
WAITING = f"SELECT {HELD}, {PROPOSALS}"


@dataclass(frozen=True)
class Counts:
    files: int
    quarantine: int
    held: int
    working: int
    longterm: int
    agents: int
    proposals: int
    people: int


def counts_of_space(space: Space) -> Counts:
    """The counts of a space; records and long-term entries are counted up to a limit."""
    return Counts(*statements.row(SQL, {"space": space.pk, "max": MAX_COUNTED}))


class Waiting(NamedTuple):
    held: int
    proposals: int


def counts_of_waiting(space: Space) -> Waiting:
    """The numbers beside the entries of the navigation, which every page shows: none of them needs a large table."""
    return Waiting(*statements.row(WAITING, {"space": space.pk, "max": MAX_COUNTED}))


WAITING_BY_SPACE = """
SELECT space_id, sum(held)::int, sum(proposals)::int FROM (
  SELECT space_id, 1 AS held, 0 AS proposals FROM "quarantine"."state"
   WHERE space_id = ANY(%(spaces)s) AND state = 'held' AND is_newest
  UNION ALL
  SELECT space_id, 0, 1 FROM memoryhub_proposal WHERE space_id = ANY(%(spaces)s) AND state IN ('pending', 'outdated')
) waiting GROUP BY space_id
"""


def waiting_by_space(spaces: Collection[int]) -> dict[int, Waiting]:
    """What waits in each of these spaces, by the space's id; those in which nothing waits are left out."""
    rows = statements.rows(WAITING_BY_SPACE, {"spaces": list(spaces)})
    return {space: Waiting(held, proposals) for space, held, proposals in rows}


FLOW = """
SELECT EXISTS (SELECT 1 FROM memoryhub_delivery WHERE space_id = %(space)s)
  OR EXISTS (SELECT 1 FROM "quarantine"."record" WHERE space_id = %(space)s)
  OR EXISTS (SELECT 1 FROM memoryhub_proposal WHERE space_id = %(space)s AND agent_id IS NOT NULL)
"""


def has_flow(space: Space) -> bool:
    """Whether an agent ever got a prompt, logged output or proposed a change in this space."""
    return bool(statements.row(FLOW, {"space": space.pk})[0])


DAYS = 30
MAX_DAILY = 20_000  # rows of each kind: beyond that the newest are counted
DAILY = """
SELECT 'deliveries', 'new', width_bucket(first_at, %(starts)s::timestamptz[]), count(*) FROM (
  SELECT first_at FROM memoryhub_delivery WHERE space_id = %(space)s AND last_at >= %(since)s LIMIT %(most)s) d
WHERE first_at >= %(since)s GROUP BY 3
UNION ALL
SELECT 'proposals', state, width_bucket(decided_at, %(starts)s::timestamptz[]), count(*) FROM memoryhub_proposal
WHERE space_id = %(space)s AND number > %(proposals)s - %(most)s AND decided_at >= %(since)s GROUP BY 2, 3
UNION ALL
SELECT 'gate', state, width_bucket(created_at, %(starts)s::timestamptz[]), count(*) FROM (
  SELECT first.state, r.created_at FROM "quarantine"."record" r, LATERAL (
    SELECT state FROM "quarantine"."state" s WHERE s.space_id = %(space)s AND s.record_id = r.id ORDER BY s.id LIMIT 1
  ) first WHERE r.space_id = %(space)s AND r.created_at >= %(since)s ORDER BY r.created_at DESC LIMIT %(most)s) q
GROUP BY 2, 3
"""


@dataclass
class Daily:
    """Counts by day, the oldest day first: for each picture a row of numbers for each of its kinds."""

    days: list[date]
    counts: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def total(self, picture: str) -> int:
        return sum(sum(row) for row in self.counts.get(picture, {}).values())


def daily(space: Space, days: int = DAYS) -> Daily:
    """The last days of the reader's time zone; of very many rows the newest."""
    today = timezone.localdate()
    dates = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    starts = [start_of_day(one) for one in [*dates, today + timedelta(days=1)]]
    values: dict[str, Any] = {
        "space": space.pk, "since": starts[0], "starts": starts, "most": MAX_DAILY, "proposals": space.last_proposal,
    }  # fmt: skip
    found = Daily(dates)
    for picture, kind, day, count in statements.rows(DAILY, values):
        if 1 <= day <= days:  # the first day is 1; what a clock that was ahead wrote is on none
            found.counts.setdefault(picture, {}).setdefault(kind, [0] * days)[day - 1] += count
    return found
