"""The texts that retrieval gives out, as an answer shows them; this process keeps those that it gave out lately."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from memoryhub.db import cache, statements

# What stands in the chunk, then number, moment, scope, promoter, session and check of its entry.
Text = Sequence[Any]

# The space's number stands in the SQL text: as a parameter, the planner would not know it. What is looked up by key is
# lateral, or the planner walks whole tables.
READ = """
SELECT s.longterm_mark, f.chunk_id, t.* FROM memoryhub_space s
LEFT JOIN unnest(%(chunks)s::bigint[]) AS f(chunk_id) ON true LEFT JOIN LATERAL (
    SELECT c.text, e.number, e.created_at, c.scope, e.actor_name, e.session_id, e.checked_at
    FROM (SELECT * FROM memoryhub_chunk WHERE id = f.chunk_id AND space_id = {space} LIMIT 1) c
    CROSS JOIN LATERAL (SELECT * FROM memoryhub_longtermentry WHERE id = c.entry_id LIMIT 1) e
) t ON true WHERE s.id = {space}
"""

kept: cache.Kept[Text] = cache.Kept(most=10_000)  # of 500 characters at most


def of(space: int, mark: int, chunks: Iterable[int]) -> tuple[int, dict[int, Text]]:
    """The texts of these chunks under the mark that the space has now, and the mark that it has when they are read."""
    return kept.of(space, mark, chunks, lambda missing: read(space, missing))


def read(space: int, chunks: list[int]) -> tuple[int, dict[int, Text]]:
    """The texts of these chunks as they stand now, as far as they are there, and the mark of the space."""
    rows = statements.rows(sql_of(space), {"chunks": chunks}, binary=True)
    return cache.mark_in(rows), {chunk: text for _, chunk, *text in rows if text[0] is not None}


@lru_cache(maxsize=256)
def sql_of(space: int) -> str:
    return READ.format(space=int(space))
