"""Makes long-term entries findable: cuts them into chunks, lists their words, stores their vectors; and takes that back."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from memoryhub.domain import meaning, ranking, spaces, splitting
from memoryhub.embedders import Embedder
from memoryhub.models import Chunk, LongtermEntry

NOBODY = 0  # whose own an entry is after its agent was deleted; without a number it would be the whole group's
INSERT_CHUNK = f"""
INSERT INTO memoryhub_chunk (space_id, entry_id, scope, agent_id, position, start, "end", text, words, length)
SELECT %s, %s, %s, %s, %s, %s, %s, %s, w.words, (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(w.words))
FROM (SELECT {ranking.TSVECTOR} AS words) w
"""  # noqa: S608 (only names of text search configurations are put in)
INSERT_POSTINGS = """
INSERT INTO memoryhub_posting (space_id, lexeme, chunk_id, agent_id, count, length)
SELECT c.space_id, u.lexeme, c.id, c.agent_id, cardinality(u.positions), c.length
FROM memoryhub_chunk c, unnest(c.words) u WHERE c.space_id = %s AND c.entry_id = %s
"""
DELETE_POSTINGS = """
DELETE FROM memoryhub_posting p USING memoryhub_chunk c, unnest(c.words) u
WHERE c.space_id = %s AND c.entry_id = %s AND p.space_id = c.space_id AND p.lexeme = u.lexeme AND p.chunk_id = c.id
"""
DELETE_VECTORS = """
DELETE FROM memoryhub_embedding e USING memoryhub_chunk c
WHERE c.space_id = %s AND c.entry_id = %s AND e.space_id = c.space_id AND e.chunk_id = c.id
"""
COUNT = """
INSERT INTO memoryhub_chunkcount AS t (space_id, chunks, lexemes)
SELECT %(space)s, %(sign)s * count(*), %(sign)s * coalesce(sum(length), 0)
FROM memoryhub_chunk WHERE space_id = %(space)s AND entry_id = %(entry)s
ON CONFLICT (space_id) DO UPDATE SET chunks = t.chunks + excluded.chunks, lexemes = t.lexemes + excluded.lexemes
"""
COUNT_LEXEMES = f"""
INSERT INTO memoryhub_lexemecount AS t (space_id, lexeme, chunks, mark)
SELECT p.space_id, p.lexeme, %(sign)s * count(*), {spaces.NEW_MARK} FROM memoryhub_chunk c, unnest(c.words) u, memoryhub_posting p
WHERE c.space_id = %(space)s AND c.entry_id = %(entry)s
  AND p.space_id = c.space_id AND p.lexeme = u.lexeme AND p.chunk_id = c.id
GROUP BY p.space_id, p.lexeme ORDER BY p.lexeme
ON CONFLICT (space_id, lexeme) DO UPDATE SET chunks = t.chunks + excluded.chunks, mark = excluded.mark
"""  # noqa: S608 (a word of ours is put in)
INSERT_VECTOR = """
INSERT INTO memoryhub_embedding (space_id, chunk_id, embedded_by, agent_id, vector)
SELECT c.space_id, c.id, %s, c.agent_id, %s::halfvec FROM memoryhub_chunk c WHERE c.id = %s AND c.space_id = %s
ON CONFLICT (space_id, embedded_by, chunk_id) DO UPDATE SET vector = excluded.vector, agent_id = excluded.agent_id
"""


def add(entry: LongtermEntry) -> list[Chunk]:
    """Cuts an entry and lists its words (in the caller's transaction); vectors are a step of their own."""
    agent_id = (entry.agent_id or NOBODY) if entry.scope == "agent" else None
    with connection.cursor() as cursor:
        for position, piece in enumerate(splitting.split(entry.content)):
            place = [entry.space_id, entry.pk, entry.scope, agent_id, position, piece.start, piece.end, piece.text]
            cursor.execute(INSERT_CHUNK, [*place, *ranking.by_configuration(piece.text)])
        cursor.execute(INSERT_POSTINGS, [entry.space_id, entry.pk])
        cursor.execute(COUNT, {"space": entry.space_id, "entry": entry.pk, "sign": 1})
        cursor.execute(COUNT_LEXEMES, {"space": entry.space_id, "entry": entry.pk, "sign": 1})
    return chunks(entry)


def remove(entry: LongtermEntry) -> None:
    """Takes an entry out of everything that finds (in the caller's transaction)."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT_LEXEMES, {"space": entry.space_id, "entry": entry.pk, "sign": -1})
        cursor.execute(DELETE_POSTINGS, [entry.space_id, entry.pk])
        cursor.execute(DELETE_VECTORS, [entry.space_id, entry.pk])
        cursor.execute(COUNT, {"space": entry.space_id, "entry": entry.pk, "sign": -1})
    Chunk.objects.within(entry.space_id).filter(entry_id=entry.pk).delete()


def chunks(entry: LongtermEntry) -> list[Chunk]:
    return list(Chunk.objects.within(entry.space_id).filter(entry_id=entry.pk).defer("words").order_by("position"))


def embed(found: Sequence[Chunk], embedder: Embedder, *, seconds: float = meaning.SECONDS) -> None:
    """Stores the vectors of chunks; raises before anything is stored when the embedder is away."""
    if not found:
        return
    vectors = embedder.embed([chunk.text for chunk in found], seconds=seconds)
    values = [
        [embedder.embedded_by, meaning.as_sql(vector), chunk.pk, chunk.space_id]
        for chunk, vector in zip(found, vectors, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(INSERT_VECTOR, values)
