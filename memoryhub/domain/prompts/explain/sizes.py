"""How large the prompts of agents were, day by day, from what was delivered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.utils import timezone

from memoryhub.db import statements
from memoryhub.models import Agent, Space

DAYS = 30
# For each agent and day the newest delivery that was in use on it. Of the deliveries last asked for since then the first few
# are looked at: one walk of the index a day, however many there are.
SIZES = """
SELECT a.id, d.day, t.tokens, t.sha256
FROM unnest(%(agents)s::bigint[]) a(id)
CROSS JOIN unnest(%(starts)s::timestamptz[], %(ends)s::timestamptz[]) WITH ORDINALITY d(start, finish, day)
CROSS JOIN LATERAL (
  SELECT sha256 FROM (
    SELECT sha256, first_at FROM memoryhub_delivery
    WHERE space_id = %(space)s AND agent_id = a.id AND last_at >= d.start ORDER BY last_at LIMIT 50
  ) soon WHERE first_at < d.finish ORDER BY first_at DESC LIMIT 1
) got
JOIN memoryhub_prompttext t ON t.space_id = %(space)s AND t.sha256 = got.sha256
ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class SizeOfDay:
    """The tokens of an agent's prompt on a day, and whether its text was another one than on the day before."""

    day: date
    tokens: int
    is_change: bool


def prompt_sizes(space: Space, agents: Iterable[Agent]) -> dict[int, list[SizeOfDay]]:
    """For each agent, by its key, the days of the last month on which its prompt is known, oldest first."""
    wanted = [agent.pk for agent in agents]
    if not wanted:
        return {}
    dates, starts, ends = _days()
    values = {"space": space.pk, "agents": wanted, "starts": starts, "ends": ends}
    found: dict[int, list[SizeOfDay]] = {}
    before: dict[int, str] = {}
    for agent, day, tokens, sha256 in statements.rows(SIZES, values):
        is_change = before.get(agent, sha256) != sha256
        found.setdefault(agent, []).append(SizeOfDay(dates[day - 1], tokens, is_change))
        before[agent] = sha256
    return found


def _days() -> tuple[list[date], list[datetime], list[datetime]]:
    """The last days of the reader's time zone, with their beginnings and ends."""
    dates = [timezone.localdate() - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    starts = [timezone.make_aware(datetime.combine(one, time.min)) for one in dates]
    return dates, starts, [*starts[1:], starts[-1] + timedelta(days=1)]


# The parts of one prompt

LAYER_OF_PART = {"source": "source", "working": "working", "longterm": "longterm"}


@dataclass
class Segment:
    """One segment of a bar: its layer and tokens, where it begins and how wide it is in per cent."""

    layer: str
    tokens: int
    x: float = 0.0
    width: float = 0.0


def segments_of(parts: list[dict[str, Any]], tokens: int, budget: int | None) -> list[Segment]:
    """The parts of a prompt by layer, as segments of a bar that is as long as the budget."""
    size: dict[str, int] = {}
    for part in parts:
        layer = LAYER_OF_PART.get(part["kind"], "plain")
        size[layer] = size.get(layer, 0) + part["end"] - part["start"]
    all_bytes, whole = sum(size.values()) or 1, max(budget or tokens, tokens, 1)
    segments, x = [], 0.0
    for layer in ("plain", "source", "working", "longterm"):
        if layer in size:
            share = round(tokens * size[layer] / all_bytes)
            segments.append(Segment(layer, share, round(x, 2), round(100 * share / whole, 2)))
            x += 100 * share / whole
    return segments
