"""Makes long-term entries findable: cuts them into chunks, lists their words, stores their vectors; and takes that back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from memoryhub.db import statements
from memoryhub.detectors import fingerprints
from memoryhub.domain import retrieval, spaces
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import Chunk, LongtermEntry, Space
from memoryhub.text import split

NO_AGENT = 0  # whose own an entry is after its agent was deleted; without a number it would be the whole group's
# The chunks come as one document, whatever their number; words are made once (OFFSET 0) and read by what follows.
INSERT_CHUNKS = f"""
INSERT INTO memoryhub_chunk (space_id, entry_id, scope, agent_id, position, start, "end", text, words, length)
SELECT %s, entry.id, %s, %s, g.position, g.start, g."end", g.text, g.words,
    (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(g.words))
FROM entry, (
    SELECT *, {" || ".join(f"to_tsvector('pg_catalog.{name}', {name})" for name in retrieval.CONFIGURATIONS)} AS words
    FROM json_to_recordset(%s::json)
        AS g(position int, start int, "end" int, text text, {", ".join(f"{name} text" for name in retrieval.CONFIGURATIONS)})
    OFFSET 0
) g ORDER BY g.position
RETURNING id, space_id, agent_id, position, words, length
"""  # noqa: S608 (only names of text search configurations are put in)
GIVEN_ENTRY = "SELECT %s::bigint AS id"  # in the place of what stores a new entry
INSERT_POSTINGS = """
INSERT INTO memoryhub_posting (space_id, lexeme, chunk_id, agent_id, count, length)
SELECT c.space_id, u.lexeme, c.id, c.agent_id, cardinality(u.positions), c.length FROM chunk c, unnest(c.words) u
"""
# The words of chunks that come or go, as what stands in the same statement returns them.
COUNT_LEXEMES = f"""
INSERT INTO memoryhub_lexemecount AS t (space_id, lexeme, chunks, mark)
SELECT c.space_id, u.lexeme, %s * count(*), {spaces.NEW_MARK} FROM chunk c, unnest(c.words) u
GROUP BY c.space_id, u.lexeme ORDER BY u.lexeme
ON CONFLICT (space_id, lexeme) DO UPDATE SET chunks = t.chunks + excluded.chunks, mark = excluded.mark
"""  # noqa: S608 (a word of ours is put in)
COUNT = """
INSERT INTO memoryhub_chunkcount AS t (space_id, chunks, lexemes)
SELECT %s, %s * count(*), %s * coalesce(sum(length), 0) FROM chunk HAVING count(*) > 0
ON CONFLICT (space_id) DO UPDATE SET chunks = t.chunks + excluded.chunks, lexemes = t.lexemes + excluded.lexemes
"""
INSERT_VECTORS = """
INSERT INTO memoryhub_embedding (space_id, chunk_id, embedded_by, agent_id, vector)
SELECT c.space_id, c.id, %s, c.agent_id, v.vector FROM {chunks} c JOIN (VALUES {values}) v (key, vector) ON v.key = c.{key}
"""
# A vector that takes another one's place takes a number of its own: by it, processes know those that they keep (`vectors`).
# Those of chunks that are new take nobody's, and need not look.
REPLACE_VECTORS = """
ON CONFLICT (space_id, embedded_by, chunk_id) DO UPDATE
    SET id = excluded.id, vector = excluded.vector, agent_id = excluded.agent_id, in_index = false
"""
INSERT_FINGERPRINTS = """
INSERT INTO memoryhub_telltale (space_id, code, size, chunk_id, agent_id, mask)
SELECT c.space_id, g.code, g.size, c.id, c.agent_id, g.mask
FROM chunk c JOIN json_to_recordset(%s::json) AS g(position int, code int, size int, mask bigint) USING (position)
"""
DELETE_CHUNKS = (
    "DELETE FROM memoryhub_chunk WHERE space_id = %s AND entry_id = %s RETURNING id, space_id, words, length"
)
# Each by its whole key, which its chunk tells, one after the other: joined freely, all postings of its words would be read. Nobody
# moves a row from its place while the space is locked. Citus, for which a place is one only within a space, takes it as a
# statement of its own.
POSTING = """
SELECT ctid FROM memoryhub_posting WHERE space_id = %s AND lexeme = u.lexeme AND {of} AND count = cardinality(u.positions)
AND length = c.length AND chunk_id = c.id
"""
DELETE_POSTINGS = f"""
DELETE FROM memoryhub_posting WHERE space_id = %s AND ctid = ANY (ARRAY(
    SELECT p.ctid FROM memoryhub_chunk c, unnest(c.words) u CROSS JOIN LATERAL (
        {POSTING.format(of="agent_id = c.agent_id")} UNION ALL {POSTING.format(of="agent_id IS NULL AND c.agent_id IS NULL")}
    ) p WHERE c.space_id = %s AND c.entry_id = %s
))
"""  # noqa: S608 (conditions of ours)
DELETE_FINGERPRINTS = (
    "DELETE FROM memoryhub_telltale t USING chunk c WHERE t.space_id = %s AND t.code = ANY(%s) AND t.chunk_id = c.id"
)
DELETE_VECTORS = "DELETE FROM memoryhub_embedding e USING chunk c WHERE e.space_id = c.space_id AND e.chunk_id = c.id"


@dataclass(frozen=True)
class Cut:
    """A text as it will be found: its pieces with their vectors, which are missing while the embedder is away."""

    pieces: list[split.Piece]
    embedded_by: str = ""
    vectors: list[statements.Half] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        return not self.embedded_by


def chunk_size(space: Space) -> tuple[int, int]:
    """How many characters a chunk of this space has at most, and how many it shares with its neighbour."""
    chosen = space.settings["chunks"]
    return chosen.get("size", split.SIZE), chosen.get("overlap", split.OVERLAP)


def cut_text(space: Space, content: str) -> list[split.Piece]:
    """The pieces that a text becomes in this space."""
    return split.split(content, *chunk_size(space))


def cut_chunks(space: Space, content: str, *, seconds: float = retrieval.EMBEDDER_SECONDS) -> Cut:
    """Cuts a text and asks the space's embedder for the vectors of its pieces; nothing is stored."""
    pieces = cut_text(space, content)
    try:
        embedder = retrieval.serving_embedder(space)
        vectors = embedder.embed([piece.text for piece in pieces], seconds=seconds)
    except EmbedderUnavailable:
        return Cut(pieces)
    return Cut(pieces, embedder.embedded_by, [statements.Half.of(vector) for vector in vectors])


def insert_changes(entry: LongtermEntry, made: Cut) -> list[statements.Change]:
    """The changes that make an entry findable as it was cut; they travel together, and with `entry`, which stores it, if it is
    new and has no key yet."""
    agent_id = (entry.agent_id or NO_AGENT) if entry.scope == "agent" else None
    given = json.dumps([_row(position, piece) for position, piece in enumerate(made.pieces)])
    chunk = statements.Change(INSERT_CHUNKS, [entry.space_id, entry.scope, agent_id, given], "chunk", follows=True)
    prints = statements.Change(INSERT_FINGERPRINTS, [_fingerprints(made.pieces)], follows=True)
    changes = [] if entry.pk is None else [statements.Change(GIVEN_ENTRY, [entry.pk], "entry")]
    changes += [chunk, statements.Change(INSERT_POSTINGS, [], follows=True), prints, *_count_changes(entry, 1)]
    if made.vectors:
        changes.append(_vector_change("chunk", "position", made.embedded_by, dict(enumerate(made.vectors))))
    return changes


def _vector_change(
    chunks: str, key: str, embedded_by: str, vectors: dict[int, statements.Half], otherwise: str = ""
) -> statements.Change:
    """The vectors of chunks, each by its key, as a change."""
    values = ", ".join(["(%s::bigint, %s::halfvec)"] * len(vectors))
    given = [value for pair in vectors.items() for value in pair]
    sql = INSERT_VECTORS.format(chunks=chunks, key=key, values=values) + otherwise
    return statements.Change(sql, [embedded_by, *given], follows=True)


def _row(position: int, piece: split.Piece) -> dict[str, object]:
    words = dict(zip(retrieval.CONFIGURATIONS, retrieval.words_by_configuration(piece.text), strict=True))
    return {"position": position, "start": piece.start, "end": piece.end, "text": piece.text, **words}


def _fingerprints(pieces: list[split.Piece]) -> str:
    """What the pieces are known again by, as JSON."""
    each = (
        fingerprints.as_json(fingerprints.to_store(piece.text), f'"position": {n}, ') for n, piece in enumerate(pieces)
    )
    return f"[{', '.join(filter(None, each))}]"


def _count_changes(entry: LongtermEntry, sign: int) -> list[statements.Change]:
    numbers = [entry.space_id, sign, sign]
    return [statements.Change(COUNT, numbers, follows=True), statements.Change(COUNT_LEXEMES, [sign], follows=True)]


def remove_chunks(entry: LongtermEntry) -> None:
    """Takes an entry out of everything that finds (in the caller's transaction)."""
    gone = statements.Change(DELETE_CHUNKS, [entry.space_id, entry.pk], "chunk")
    codes = {one.code for chunk in chunks_of(entry) for one in fingerprints.to_store(chunk.text)}
    prints = statements.Change(DELETE_FINGERPRINTS, [entry.space_id, list(codes)])
    others = [statements.Change(DELETE_VECTORS, []), prints, *_count_changes(entry, -1)]
    statements.send_change(statements.Change(DELETE_POSTINGS, [*[entry.space_id] * 4, entry.pk]))
    statements.together(gone, *others, answer="SELECT count(*) FROM chunk")


def chunks_of(entry: LongtermEntry) -> list[Chunk]:
    return list(Chunk.objects.within(entry.space_id).filter(entry_id=entry.pk).defer("words").order_by("position"))


def embed_chunks(found: Sequence[Chunk], embedder: Embedder, *, seconds: float = retrieval.EMBEDDER_SECONDS) -> None:
    """Stores the vectors of chunks; raises before anything is stored when the embedder is away."""
    store_vectors(embedder, vectors_of(found, embedder, seconds=seconds))


def vectors_of(found: Sequence[Chunk], embedder: Embedder, *, seconds: float) -> dict[int, statements.Half]:
    """The vectors of chunks by the chunks' ids; nothing is stored."""
    if not found:
        return {}
    vectors = embedder.embed([chunk.text for chunk in found], seconds=seconds)
    return {chunk.pk: statements.Half.of(vector) for chunk, vector in zip(found, vectors, strict=True)}


def store_vectors(embedder: Embedder, by_id: dict[int, statements.Half]) -> None:
    if by_id:
        statements.send_change(_vector_change("memoryhub_chunk", "id", embedder.embedded_by, by_id, REPLACE_VECTORS))
