"""The threads of agents that are still running, as deliveries tell, and what each agent asked for last."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain.prompts.requests import LastCall, StoredRequest, stored_texts
from memoryhub.models import Agent, Delivery, Space

# A thread that has not asked for its prompt for this long counts as ended.
THREAD_LIFETIME = timedelta(days=7)
THREADS_SHOWN = 20  # of an agent's threads that are alike
MAX_DELIVERIES = 100  # the newest of an agent, among which its threads are looked for

COLUMNS = tuple(one.attname for one in Delivery._meta.concrete_fields)
NEWEST_DELIVERIES = f"""
SELECT {", ".join(f"d.{name}" for name in COLUMNS)} FROM unnest(%s::bigint[]) a(id) CROSS JOIN LATERAL (
  SELECT * FROM memoryhub_delivery WHERE space_id = %s AND agent_id = a.id ORDER BY last_at DESC, id DESC LIMIT {MAX_DELIVERIES}
) d ORDER BY d.last_at DESC, d.id DESC
"""  # noqa: S608 (a number of ours)


def live_threads(space: Space, agents: Iterable[Agent]) -> list[Delivery]:
    """The last delivery of each thread of the last days, and of each agent its very last, newest first."""
    ids = [agent.pk for agent in agents]
    since, seen, met = timezone.now() - THREAD_LIFETIME, set(), set()
    out = []
    for row in statements.rows(NEWEST_DELIVERIES, [ids, space.pk]) if ids else ():
        one = _delivery(row)
        place = (one.agent_id, one.thread_id)
        if place not in seen and (one.last_at >= since or one.agent_id not in met):
            out.append(one)
        seen.add(place)
        met.add(one.agent_id)
    return out


def _delivery(row: tuple[Any, ...]) -> Delivery:
    values = dict(zip(COLUMNS, row, strict=True))
    in_json = {name: json.loads(values[name]) for name in ("revisions", "asked")}
    return statements.instance(Delivery, {**values, **in_json}.items())


GROUPED_THREADS = f"""
SELECT agent_id, sha256, dialect, revisions, asked, count(*),
  (array_agg(thread_id ORDER BY place))[1:{THREADS_SHOWN}], (array_agg(last_at ORDER BY place))[1:{THREADS_SHOWN}]
FROM (
  SELECT DISTINCT ON (d.agent_id, d.thread_id) d.* FROM unnest(%(agents)s::bigint[]) a(id) CROSS JOIN LATERAL (
    SELECT *, row_number() OVER () AS place FROM (
      SELECT * FROM memoryhub_delivery WHERE space_id = %(space)s AND agent_id = a.id
      ORDER BY last_at DESC, id DESC LIMIT {MAX_DELIVERIES}
    ) newest
  ) d ORDER BY d.agent_id, d.thread_id, d.place
) live WHERE last_at >= %(since)s OR place = 1
GROUP BY agent_id, sha256, dialect, revisions, asked ORDER BY min(place)
"""  # noqa: S608 (numbers of ours)


def grouped_threads(
    space: Space, agents: Iterable[Agent]
) -> list[tuple[Delivery, int, tuple[tuple[str, datetime], ...]]]:
    """The live threads of agents, those that asked the same and got the same as one: the newest of them, how many they are, and
    which are the newest. The very last call of an agent is in its first group."""
    values = {"agents": [one.pk for one in agents], "space": space.pk, "since": timezone.now() - THREAD_LIFETIME}
    out = []
    for agent_id, sha256, dialect, revisions, asked, count, threads, times in statements.rows(GROUPED_THREADS, values):
        delivery = Delivery(
            space_id=space.pk, agent_id=agent_id, thread_id=threads[0], sha256=sha256, dialect=dialect,
            revisions=json.loads(revisions), asked=json.loads(asked), last_at=times[0],
        )  # fmt: skip
        out.append((delivery, count, tuple(zip(threads, times, strict=True))))
    return out


def count_live_threads(space: Space, agents: Iterable[Agent]) -> int:
    return sum(count for _, count, _ in grouped_threads(space, agents))


def last_calls(space: Space, agents: Iterable[Agent]) -> dict[int, LastCall]:
    """What each agent asked for last of the present, by its key; agents that never asked are left out."""
    newest: dict[int, StoredRequest] = {}
    for delivery in live_threads(space, agents):
        stored = StoredRequest(delivery)
        if not stored.looks_back:
            newest.setdefault(delivery.agent_id, stored)
    texts = stored_texts(space.pk, newest.values())
    return {
        pk: LastCall(stored.request(texts.get(stored.delivery.sha256, b"")), stored.delivery)
        for pk, stored in newest.items()
    }
