"""What happened in a space on each of the last days: deliveries, decisions, and what the gate let in or held."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain.activity.log import start_of_day
from memoryhub.models import Space

DAYS = 30
MAX_COUNTED = 20_000  # rows of each kind: beyond that the newest are counted
SQL = """
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
        "space": space.pk, "since": starts[0], "starts": starts, "most": MAX_COUNTED, "proposals": space.last_proposal,
    }  # fmt: skip
    found = Daily(dates)
    for picture, kind, day, count in statements.rows(SQL, values):
        if 1 <= day <= days:  # the first day is 1; what a clock that was ahead wrote is on none
            found.counts.setdefault(picture, {}).setdefault(kind, [0] * days)[day - 1] += count
    return found
