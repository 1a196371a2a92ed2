"""The texts that retrieval gave out lately, kept in this process: the same chunks answer many questions.

Nothing kept here is ever taken on trust. It is of one `longterm_mark` of its space, which whatever may change what an answer
shows changes in the same transaction; and with every answer the database says which mark the space has now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from memoryhub.domain import hot

MOST_KEPT = 10_000  # texts in one process, of 500 characters at most
NO_SPACE = 0  # in place of a mark: the space is gone

# A text as an answer shows it: what stands in the chunk, then number, moment, scope, promoter, session and check of its entry.
Text = Sequence[Any]

MARK = "SELECT longterm_mark FROM memoryhub_space WHERE id = {space}"
# What is looked up by key is lateral, or the planner walks whole tables.
READ = """
SELECT s.longterm_mark, f.chunk_id, t.* FROM memoryhub_space s
LEFT JOIN unnest(%(chunks)s::bigint[]) AS f(chunk_id) ON true LEFT JOIN LATERAL (
    SELECT c.text, e.number, e.created_at, c.scope, e.actor_name, e.session_id, e.checked_at
    FROM (SELECT * FROM memoryhub_chunk WHERE id = f.chunk_id AND space_id = {space} LIMIT 1) c
    CROSS JOIN LATERAL (SELECT * FROM memoryhub_longtermentry WHERE id = c.entry_id LIMIT 1) e
) t ON true WHERE s.id = {space}
"""


@dataclass(slots=True)
class Shelf:
    """The texts of one space, all of them under one mark."""

    mark: int
    texts: dict[int, Text] = field(default_factory=dict)


@dataclass(slots=True)
class Kept:
    """What this process has read; too many, and it begins anew."""

    shelves: dict[int, Shelf] = field(default_factory=dict)
    size: int = 0

    def of(self, space: int, mark: int) -> dict[int, Text]:
        """The texts of a space under this mark; those under another are dropped."""
        shelf = self.shelves.get(space)
        if shelf is None or shelf.mark != mark:
            self.size -= len(shelf.texts) if shelf else 0
            shelf = self.shelves[space] = Shelf(mark)
        return shelf.texts

    def put(self, space: int, mark: int, texts: dict[int, Text]) -> None:
        if self.size > MOST_KEPT:
            self.clear()
        known = self.of(space, mark)
        before = len(known)
        known.update(texts)
        self.size += len(known) - before

    def clear(self) -> None:
        self.shelves.clear()
        self.size = 0


kept = Kept()


def of(space: int, mark: int, chunks: Iterable[int], *, is_confirmed: bool) -> tuple[int, dict[int, Text]]:
    """The texts of these chunks, and the mark that the space has now; where it is not this one, the texts are worth nothing.

    What is not kept is read. The database is asked in any case, unless it has just confirmed the mark.
    """
    known = kept.of(space, mark)
    found = {chunk: known[chunk] for chunk in chunks if chunk in known}
    if missing := [chunk for chunk in chunks if chunk not in found]:
        now, read = rows_of(space, missing)
        kept.put(space, now, read)
        return now, found | read
    return (mark if is_confirmed else mark_of(space)), found


def mark_of(space: int) -> int:
    """Which mark the space has now."""
    rows = hot.rows(sql_of(MARK, space), binary=True)
    return rows[0][0] if rows else NO_SPACE


def rows_of(space: int, chunks: list[int]) -> tuple[int, dict[int, Text]]:
    """The texts of these chunks as they stand now, as far as they are there, and the mark of the space."""
    rows = hot.rows(sql_of(READ, space), {"chunks": chunks}, binary=True)
    return (rows[0][0] if rows else NO_SPACE), {chunk: text for _, chunk, *text in rows if text[0] is not None}


@lru_cache(maxsize=512)
def sql_of(sql: str, space: int) -> str:
    """The space's number stands in the SQL text: as a parameter, the planner would not know it."""
    return sql.format(space=int(space))
