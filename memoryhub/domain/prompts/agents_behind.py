"""The last prompt of each agent of a space, and the threads that still run on an older text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import F, Q
from django.utils import timezone

from memoryhub import dialects
from memoryhub.domain.prompts import sources
from memoryhub.domain.prompts.assemble import dialect_of
from memoryhub.models import Agent, Delivery, PromptText, Source, Space, Token

# A thread that has not asked for its prompt for this long counts as ended.
THREAD_LIFETIME = timedelta(days=7)
LAYER_OF_PART = {"source": "source", "working": "working", "longterm": "longterm"}


@dataclass
class Segment:
    """One segment of a bar: its layer and tokens, where it begins and how wide it is in per cent."""

    layer: str
    tokens: int
    x: float = 0.0
    width: float = 0.0


@dataclass
class AgentRow:
    """One agent as a row of the list of agents."""

    agent: Agent
    delivery: Delivery | None = None
    tokens: int = 0
    segments: Sequence[Segment] = ()
    behind: int = 0
    token: Token | None = None  # the one it used last

    @property
    def dialect(self) -> dialects.Dialect:
        """The dialect of its prompt, in the version that its client reported."""
        return dialect_of("", self.agent)

    @property
    def spoken(self) -> str:
        budget = f" of {self.agent.budget:,}" if self.agent.budget else ""
        parts = ", ".join(f"{s.layer} {s.tokens:,}" for s in self.segments)
        return f"{self.agent.name}: {self.tokens:,}{budget} tokens; {parts}"


def agent_rows(space: Space, *, words: str = "", after: str = "", limit: int = 100) -> list[AgentRow]:
    """Agents in the order of their address, each with its last prompt: five statements for any number of them."""
    found = Agent.objects.within(space).order_by("slug")
    if words:
        found = found.filter(name__icontains=words) | found.filter(description__icontains=words)
    if after:
        found = found.filter(slug__gt=after)
    return rows_for(space, list(found[:limit]))


def agent_row(space: Space, agent: Agent) -> AgentRow:
    return rows_for(space, [agent])[0]


def rows_for(space: Space, agents: list[Agent]) -> list[AgentRow]:
    last = last_deliveries(space, [agent.pk for agent in agents])
    texts = PromptText.objects.within(space).filter(sha256__in={d.sha256 for d in last.values()}).defer("text")
    by_sha = {text.sha256: text for text in texts}
    behind: dict[int, int] = {}
    for thread in threads_behind(space):
        behind[thread.agent_id] = behind.get(thread.agent_id, 0) + 1
    out = []
    for agent in agents:
        delivery = last.get(agent.pk)
        text = by_sha.get(delivery.sha256) if delivery else None
        tokens = text.tokens if text else 0
        segments = segments_of(text.parts, tokens, agent.budget) if text else ()
        out.append(AgentRow(agent, delivery, tokens, segments, behind.get(agent.pk, 0)))
    return out


def rows_with_tokens(space: Space, rows: list[AgentRow]) -> list[AgentRow]:
    """The rows with the valid token that each agent used last, else its newest."""
    good = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    found = Token.objects.within(space).filter(good, agent_id__in=[row.agent.pk for row in rows])
    latest = found.order_by("agent_id", F("used_at").desc(nulls_last=True), "-pk").distinct("agent_id")
    by_agent = {token.agent_id: token for token in latest}
    return [replace(row, token=by_agent.get(row.agent.pk)) for row in rows]


def last_deliveries(space: Space, agent_ids: list[int]) -> dict[int, Delivery]:
    found = Delivery.objects.within(space).filter(agent_id__in=agent_ids).order_by("agent_id", "-last_at")
    return {delivery.agent_id: delivery for delivery in found.distinct("agent_id")}


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


@dataclass
class BehindThread:
    agent_id: int
    agent: str
    thread_id: str
    path: str
    has: int
    now: int
    last_at: datetime


THREADS_BEHIND = """
SELECT DISTINCT ON (d.agent_id, d.thread_id) d.agent_id, a.slug, d.thread_id, f.path, r.value::bigint, f.revision, d.last_at
FROM (SELECT DISTINCT ON (agent_id, thread_id) agent_id, thread_id, revisions, last_at FROM memoryhub_delivery
      WHERE space_id = %(space)s AND thread_id <> '' AND last_at > %(since)s
      ORDER BY agent_id, thread_id, last_at DESC) d
JOIN memoryhub_agent a ON a.id = d.agent_id
CROSS JOIN LATERAL jsonb_each_text(d.revisions) r
JOIN memoryhub_file f ON f.space_id = %(space)s AND f.path = r.key AND f.thread_id = ''
WHERE r.value <> '' AND r.value::bigint < f.revision AND (%(agent)s::bigint IS NULL OR d.agent_id = %(agent)s)
ORDER BY d.agent_id, d.thread_id, f.revision - r.value::bigint DESC
"""


def threads_behind(space: Space, agent: Agent | None = None) -> list[BehindThread]:
    """Live threads whose newest prompt shows an older revision of a file than the newest, newest threads first."""
    with connection.cursor() as cursor:
        since = timezone.now() - THREAD_LIFETIME
        cursor.execute(THREADS_BEHIND, {"space": space.pk, "since": since, "agent": agent.pk if agent else None})
        found = [BehindThread(*row) for row in cursor.fetchall()]
    return sorted(found, key=lambda thread: thread.last_at, reverse=True)


@dataclass(frozen=True)
class SourceRow:
    path: str
    is_on: bool
    whose: str
    status: str  # as in `sources.SourceStatus`
    problem: str
    number: int  # its position in prompts


MAX_SOURCES = 50


def listed_sources(space: Space, agent: Agent | None = None) -> tuple[list[SourceRow], int]:
    """The first sources in the order of the prompt, of the whole space and of each agent, or those that one agent uses; and
    how many more there are."""
    every = Source.objects.within(space)
    found = every
    if agent:
        found = every.filter(agent=agent) if every.filter(agent=agent).exists() else every.filter(agent=None)
    ordered = found.select_related("agent").order_by(F("agent__slug").asc(nulls_first=True), "position", "pk")
    first = list(ordered[: MAX_SOURCES + 1])  # the space's own stand before those of agents
    more = found.count() - MAX_SOURCES if len(first) > MAX_SOURCES else 0
    has_own = any(one.agent_id for one in first) or bool(more and found.exclude(agent=None).exists())
    everyone = "every other agent" if has_own else "every agent"
    place: dict[int | None, int] = {}
    rows = []
    for one in sources.check_sources(space, first[:MAX_SOURCES]):
        source = one.source
        place[source.agent_id] = number = place.get(source.agent_id, 0) + 1
        whose = source.agent.name if source.agent else everyone
        rows.append(SourceRow(source.shown, source.is_on, whose, one.status, one.problem, number))
    return rows, more
