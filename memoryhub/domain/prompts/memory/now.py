"""What working and long-term memory give to a query now."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache

from memoryhub import dialects
from memoryhub.db.cache import Cache
from memoryhub.dialects import Entry
from memoryhub.domain import retrieval
from memoryhub.domain.prompts.memory.then import as_warnings
from memoryhub.domain.retrieval import Limits
from memoryhub.models import Agent, Space


@lru_cache(maxsize=256)
def parse_entries(text: str) -> tuple[tuple[Entry, ...], str]:
    """Working entries from JSON, and their ids as an array. Times come as numbers: parsing those is ten times quicker."""
    found = json.loads(text)
    entries = (Entry(pk, text, datetime.fromtimestamp(at, UTC), own=own) for pk, text, at, own in found)
    return tuple(entries), "{" + ",".join(str(pk) for pk, *_ in found) + "}"


def longterm_entries(
    space: Space, agent: Agent, query: str, mark: int, limits: Limits
) -> tuple[tuple[Entry, ...], list[dialects.Warn]]:
    """What long-term memory gives to a query; cached until the space's long-term mark or embedder changes."""
    key = (space.pk, retrieval.embedder_choice(space), agent.pk, query, limits)
    if (found := _longterm_cache.get(key, mark)) is not None:
        return found, []
    sought = retrieval.retrieve(
        space, query, agent=agent, hot=0, cold=limits.cold, threshold=limits.threshold, max_chars=limits.max_chars,
        words=limits.words, mark=mark,
    )  # fmt: skip
    found = tuple(entry_of(item) for item in sought.cold)
    if not sought.warnings:  # by words alone, while the embedder is away
        _longterm_cache.put(key, found, mark)
    return found, as_warnings(sought.warnings)


_longterm_cache: Cache[tuple[Entry, ...]] = Cache(
    "long-term memory in prompts", key="space, embedder, agent, query, limits", max_items=2000,
    invalidated_by="the space's longterm_mark", saves="searching again for a query that was asked before",
)  # fmt: skip


def entry_of(item: retrieval.Item) -> Entry:
    return Entry(item.id, item.content, item.created_at, item.score, own=item.scope == "agent", number=item.number or 0)
