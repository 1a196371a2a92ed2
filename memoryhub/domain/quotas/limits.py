"""The limits of an agent: how many logs and changes a minute, how many bytes for it and for its space.

No query: what is stored comes with the rows that authentication reads anyway (`stored_bytes`, which a job counts), and what
was added since is counted in this process. So several workers let through somewhat more than the limit, never less.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from memoryhub.errors import TooLarge, TooMany
from memoryhub.models import Agent, Space

MEGABYTE = 1024 * 1024
WINDOW = 60.0  # seconds
FORGET_AFTER = 1800.0  # seconds; the job has counted everything by then
MAX_COUNTERS = 10_000  # agents and spaces; beyond, this process begins anew


@dataclass
class Counter:
    """Calls of the minute that began at `since`, or bytes since the job counted `base`."""

    since: float
    base: int = 0
    count: int = 0


@dataclass
class Counters:
    """All counters of this process, by what they count."""

    calls: dict[int, Counter] = field(default_factory=dict)
    stored: dict[tuple[str, int], Counter] = field(default_factory=dict)

    def clear(self) -> None:
        self.calls.clear()
        self.stored.clear()


counters = Counters()


def count_call(space: Space, agent: Agent) -> None:
    """Counts a log or a change of an agent; TooMany above the limit of a minute."""
    now, limit = time.monotonic(), space.settings["agent_calls_a_minute"]
    counter = counters.calls.get(agent.pk)
    if counter is None or now - counter.since >= WINDOW:
        _make_room(counters.calls)
        counter = counters.calls[agent.pk] = Counter(now)
    if counter.count >= limit:
        seconds = max(1, round(WINDOW - (now - counter.since)))
        raise TooMany(
            f"{agent.name} has sent {limit:,} logs and changes within a minute, the limit of this space. "
            f"Wait {seconds} seconds; an owner can raise it under Settings, Usage and limits.",
            retry_after=seconds, limit=limit,
        )  # fmt: skip
    counter.count += 1


def count_bytes(space: Space, agent: Agent, size: int) -> None:
    """Counts what an agent is about to store; TooLarge where it or its space would have more than the space allows."""
    own = _counter(("agent", agent.pk), agent.stored_bytes)
    all_of_space = _counter(("space", space.pk), space.stored_bytes)
    for counter, key, whose in (
        (own, "agent_megabytes", agent.name),
        (all_of_space, "space_megabytes", "this space"),
    ):
        limit = space.settings[key]
        if counter.base + counter.count + size > limit * MEGABYTE:
            raise TooLarge(
                f"What {whose} has stored reaches the limit of {limit:,} MB. An owner can raise it under Settings, Usage and limits, "
                "or erase what is not needed.",
                code="storage_full", limit_bytes=limit * MEGABYTE, stored_bytes=counter.base + counter.count,
            )  # fmt: skip
    own.count += size
    all_of_space.count += size


def _counter(key: tuple[str, int], base: int) -> Counter:
    """The bytes since the job last counted; what it has counted is not counted twice."""
    now, counter = time.monotonic(), counters.stored.get(key)
    if counter is None or counter.base != base or now - counter.since > FORGET_AFTER:
        _make_room(counters.stored)
        counter = counters.stored[key] = Counter(now, base)
    return counter


def _make_room(held: dict) -> None:  # type: ignore[type-arg]
    if len(held) >= MAX_COUNTERS:
        held.clear()
