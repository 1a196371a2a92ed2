"""The texts that retrieval gives out, as an answer shows them; this process keeps those that it gave out lately."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.domain.retrieval.index import TEXT_COLUMNS, Changed, Text, mark_in

# The space's number stands in the SQL text: as a parameter, the planner would not know it. What is looked up by key is
# lateral, or the planner walks whole tables.
READ = f"""
SELECT s.longterm_mark, f.chunk_id, t.* FROM memoryhub_space s
LEFT JOIN unnest(%(chunks)s::bigint[]) AS f(chunk_id) ON true LEFT JOIN LATERAL (
    SELECT {TEXT_COLUMNS}
    FROM (SELECT * FROM memoryhub_chunk WHERE id = f.chunk_id AND space_id = {{space}} LIMIT 1) c
    CROSS JOIN LATERAL (SELECT * FROM memoryhub_longtermentry WHERE id = c.entry_id AND space_id = {{space}} LIMIT 1) e
) t ON true WHERE s.id = {{space}}
"""  # noqa: S608 (columns of our own)

texts: Cache[Text] = Cache(
    "chunk texts", key="space, chunk", max_items=10_000,  # of 500 characters, unless the space has another size
    invalidated_by="the space's longterm_mark", saves="a statement for each query",
)  # fmt: skip


def load(space: int, mark: int, chunks: Sequence[int]) -> dict[int, Text]:
    """The texts of these chunks under the mark of the space; `Changed` where those that are read are of another one."""
    found = texts.get_each(space, chunks, mark)
    if missing := [chunk for chunk in chunks if chunk not in found]:
        rows = statements.rows(sql(space), {"chunks": statements.as_numbers(missing)}, binary=True)
        new = {chunk: tuple(text) for _, chunk, *text in rows if text[0] is not None}
        now = mark_in(rows)
        for chunk, text in new.items():
            texts.put((space, chunk), text, now)
        if now != mark:
            raise Changed
        found |= new
    return found


@lru_cache(maxsize=256)
def sql(space: int) -> str:
    return READ.format(space=int(space))
