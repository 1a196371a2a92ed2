"""What spaces and agents have stored: counted by a job, shown on a page."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from memoryhub.domain import jobs
from memoryhub.domain.quotas.limits import MEGABYTE
from memoryhub.models import Agent, Space

# Whole texts, wherever agents' words are kept. `octet_length` reads the length of a long text without the text.
SIZES = """
SELECT space_id, agent_id, 'quarantine', sum(octet_length(content) + pg_column_size(metadata)), count(*)
  FROM "quarantine"."record" GROUP BY space_id, agent_id
UNION ALL
SELECT space_id, agent_id, 'proposals', sum(coalesce(octet_length(content), 0) + pg_column_size(change)), count(*)
  FROM memoryhub_proposal GROUP BY space_id, agent_id
UNION ALL
SELECT space_id, CASE WHEN actor_kind = 'agent' THEN actor_id END, 'revisions', sum(octet_length(content)), count(*)
  FROM memoryhub_revision GROUP BY 1, 2
UNION ALL
SELECT space_id, NULL, 'longterm', sum(octet_length(content)), count(*) FROM memoryhub_longtermentry GROUP BY space_id
"""
KINDS = {
    "quarantine": "Quarantine", "proposals": "Proposals", "revisions": "Revisions of files", "longterm": "Long-term memory",
}  # fmt: skip
EVERY = timedelta(minutes=10)
SHARE_OF_TIME = 100  # counting takes at most a hundredth of it

_not_before = 0.0


@jobs.periodic("quotas.count", every=EVERY)
def count_regularly() -> None:
    """Counts, unless the last time took so long that it has to wait."""
    global _not_before
    began = time.monotonic()
    if began < _not_before:
        return
    count_stored_bytes()
    _not_before = began + SHARE_OF_TIME * (time.monotonic() - began) - EVERY.total_seconds() / 2


def count_stored_bytes() -> None:
    """Counts the stored bytes of every space and agent anew."""
    with connection.cursor() as cursor:
        cursor.execute(SIZES)
        rows = cursor.fetchall()
    of_spaces, of_agents = _sums(rows)
    now = timezone.now().isoformat()
    for space in Space.objects.only("pk", "stored_bytes").order_by("pk"):
        kinds = of_spaces.get(space.pk, {})
        total = sum(one["bytes"] for one in kinds.values())
        Space.objects.filter(pk=space.pk).update(stored_bytes=total, stored={"kinds": kinds, "at": now})
    for agent in Agent.objects.only("pk", "stored_bytes").order_by("pk"):
        if agent.stored_bytes != (found := of_agents.get(agent.pk, 0)):
            Agent.objects.filter(pk=agent.pk).update(stored_bytes=found)


def _sums(rows: Iterable[tuple[Any, ...]]) -> tuple[dict[int, dict[str, dict[str, int]]], dict[int, int]]:
    """Bytes and rows by space and kind, and bytes by agent (pure)."""
    of_spaces: dict[int, dict[str, dict[str, int]]] = defaultdict(dict)
    of_agents: dict[int, int] = defaultdict(int)
    for space, agent, kind, size, count in rows:
        one = of_spaces[space].setdefault(kind, {"bytes": 0, "rows": 0})
        one["bytes"] += int(size or 0)
        one["rows"] += count
        if agent is not None:
            of_agents[agent] += int(size or 0)
    return of_spaces, of_agents


@dataclass(frozen=True)
class Share:
    """How much of a limit is used."""

    name: str
    used: int  # bytes
    limit: int
    url: str = ""

    @property
    def percent(self) -> int:
        return min(100, self.used * 100 // self.limit)


@dataclass(frozen=True)
class Usage:
    """What a space has stored, for its page."""

    space: Share
    agents: list[Share]
    kinds: list[dict[str, Any]]
    counted_at: str


@transaction.atomic
def usage_of_space(space: Space) -> Usage:
    """Use and limits of a space and its agents, as the job last counted them."""
    fresh = Space.objects.get(pk=space.pk)
    of_agent = fresh.settings["agent_megabytes"] * MEGABYTE
    agents = [
        Share(agent.name, agent.stored_bytes, of_agent, f"/s/{fresh.slug}/agents/{agent.slug}/")
        for agent in Agent.objects.within(fresh).order_by("-stored_bytes", "name")[:200]
    ]
    counted = fresh.stored.get("kinds", {})
    kinds = [{"label": label, **counted.get(key, {"bytes": 0, "rows": 0})} for key, label in KINDS.items()]
    whole = Share(fresh.name, fresh.stored_bytes, fresh.settings["space_megabytes"] * MEGABYTE)
    return Usage(whole, agents, kinds, fresh.stored.get("at", ""))
