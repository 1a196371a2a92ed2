"""Which long-term chunks a query brings up, by their words and by their meaning: one hot statement behind retrieval.

It weighs the query's lexemes by how rare they are in the space, adds up BM25 over their postings, takes the nearest
vectors, and brings the texts along: under load each round trip saved counts more than the work. The embedder's name, its
dimensions, the space and the limits stand in the SQL text: a prepared plan could not use the partial index otherwise, nor
know how small the space is. Distances are fenced off, and what is looked up by key is lateral, or the planner walks whole
tables.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from memoryhub.domain import hot, lexemes, meaning
from memoryhub.domain.ranking import K1, B, Candidate, Corpus
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import Agent, Space

EXACT_UP_TO = 2000  # vectors of one space; above, the embedder's index (made by `reembed`) is quicker and right enough
LEAST = 20  # candidates by words, at least; four for each one asked for above that
MOST_POSTINGS = 1000  # of one lexeme: a word that more chunks hold says next to nothing
LEAST_WEIGHT = 0.1  # of the heaviest lexeme's: lighter ones change no order, and stand in most chunks
MOST_LEXEMES = 64
LONGEST_QUERY = 4000  # characters
INDEX_KNOWN_FOR = 30.0  # seconds

# The weight of a lexeme is `ranking.Corpus.weight`, reckoned where the counts are; a test holds both to one result.
FIND = f"""
WITH size AS MATERIALIZED (
    SELECT chunks::float8 AS n, lexemes::float8 / greatest(chunks, 1) AS mean FROM memoryhub_chunkcount WHERE space_id = {{space}}
), weighed AS MATERIALIZED (
    SELECT l.lexeme, s.mean, ln(1 + (s.n - least(l.chunks, s.n) + 0.5) / (least(l.chunks, s.n) + 0.5)) AS weight
    FROM size s, memoryhub_lexemecount l WHERE l.space_id = {{space}} AND l.lexeme = ANY(%s) AND l.chunks > 0
), worded AS MATERIALIZED (
    SELECT p.chunk_id, sum(w.weight) AS weight,
        sum(w.weight * p.count * ({K1} + 1) / (p.count + {K1} * (1 - {B} + {B} * p.length / w.mean))) AS words
    FROM weighed w CROSS JOIN LATERAL (
        SELECT chunk_id, count, length FROM memoryhub_posting
        WHERE space_id = {{space}} AND lexeme = w.lexeme AND {{mine}} LIMIT {MOST_POSTINGS}
    ) p WHERE w.weight >= {LEAST_WEIGHT} * (SELECT max(weight) FROM weighed)
    GROUP BY p.chunk_id ORDER BY words DESC, p.chunk_id LIMIT {{limit}}
), near AS MATERIALIZED ({{near}}), found AS (
    SELECT chunk_id, cosine, 0::float8 AS words, 0::float8 AS weight FROM near
    UNION ALL SELECT w.chunk_id, {{its_cosine}}, w.words, w.weight FROM worded w
)
SELECT f.chunk_id, f.cosine, f.words, f.weight, s.n, (SELECT sum(weight) FROM weighed), (SELECT count(*) FROM weighed), t.*
FROM size s, found f CROSS JOIN LATERAL (
    SELECT c.text, e.number, e.created_at, c.scope, e.actor_name, e.session_id, e.checked_at FROM memoryhub_chunk c
    CROSS JOIN LATERAL (SELECT * FROM memoryhub_longtermentry WHERE id = c.entry_id LIMIT 1) e
    WHERE c.id = f.chunk_id AND c.space_id = {{space}} LIMIT 1
) t
"""  # noqa: S608 (only numbers and names of ours are put in)
NEAR_EXACTLY = """
SELECT chunk_id, cosine FROM (
    SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %s::halfvec({d})) AS cosine FROM memoryhub_embedding
    WHERE space_id = {space} AND embedded_by = '{by}' AND {mine} OFFSET 0
) all_of_them ORDER BY cosine DESC LIMIT {wanted}
"""
NEAR_BY_INDEX = """
SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %s::halfvec({d})) AS cosine FROM memoryhub_embedding
WHERE space_id = {space} AND embedded_by = '{by}' AND {mine} ORDER BY vector::halfvec({d}) <=> %s::halfvec({d}) LIMIT {wanted}
"""
ITS_COSINE = """(
    SELECT 1 - (e.vector::halfvec({d}) <=> %s::halfvec({d})) FROM memoryhub_embedding e
    WHERE e.space_id = {space} AND e.embedded_by = '{by}' AND e.chunk_id = w.chunk_id LIMIT 1
)"""
NOTHING_NEAR = "SELECT NULL::bigint AS chunk_id, NULL::float8 AS cosine WHERE false"
MINE = {
    "group": "agent_id IS NULL",
    "agent": "agent_id = {agent}",
    "both": "(agent_id IS NULL OR agent_id = {agent})",
    "all": "true",
}


@dataclass(frozen=True)
class Sought:
    """What was found for a query, with its texts, under which embedder, and what to say about it."""

    candidates: list[Candidate]
    texts: dict[int, tuple[Any, ...]]
    threshold: float = 0.0
    embedded_by: str = ""
    warnings: list[str] = field(default_factory=list)


def whose(agent: Agent | None, scope: str | None, everyone: bool) -> str:
    """The SQL condition for what may be read: the group's, an agent's own, both, or (people) all of it."""
    if agent is None:
        kind = "all" if everyone and scope is None else "group"
    else:
        kind = scope if scope in ("group", "agent") else "both"
    return MINE[kind].format(agent=int(agent.pk) if agent else 0)


def seek(space: Space, query: str, mine: str, wanted: int, embedder: Embedder | None = None) -> Sought:
    """What words and meaning bring up; while the embedder is away, what the words alone do.

    By meaning no more than are wanted: what has none of the words can only come in by being among the nearest.
    """
    query = query[:LONGEST_QUERY]
    asked = lexemes.cached(query)[:MOST_LEXEMES]
    scope = (int(space.pk), mine, max(LEAST, 4 * int(wanted)), int(wanted))
    try:
        embedder = embedder or meaning.serving(space)
        vector = meaning.query_vector(embedder, query)
    except EmbedderUnavailable as away:
        says = f"{away.message} These results are by words alone."
        return Sought(*gathered(space, asked, hot.rows(by_words(*scope), [asked])), warnings=[says])
    is_large = _sizes.get(space.pk, 0) > EXACT_UP_TO and has_index(embedder)
    sql = by_both(*scope, int(embedder.dimensions), embedder.embedded_by, is_large)
    rows = hot.rows(sql, [asked, *[vector] * (3 if is_large else 2)])
    return Sought(*gathered(space, asked, rows), embedder.threshold, embedder.embedded_by)


@lru_cache(maxsize=1024)
def by_both(space: int, mine: str, limit: int, wanted: int, dimensions: int, embedded_by: str, is_large: bool) -> str:
    names = {"space": space, "mine": mine, "limit": limit, "wanted": wanted, "d": dimensions, "by": embedded_by}
    near = (NEAR_BY_INDEX if is_large else NEAR_EXACTLY).format(**names)
    return FIND.format(near=near, its_cosine=ITS_COSINE.format(**names), **names)


@lru_cache(maxsize=256)
def by_words(space: int, mine: str, limit: int, wanted: int) -> str:
    return FIND.format(near=NOTHING_NEAR, its_cosine="NULL::float8", space=space, mine=mine, limit=limit)


# How large each space was when it was last asked: only to choose between an exact search and the index.
_sizes: dict[int, float] = {}


def gathered(
    space: Space, asked: list[str], rows: list[tuple[Any, ...]]
) -> tuple[list[Candidate], dict[int, tuple[Any, ...]]]:
    """The candidates, once each, with the share of the query's weight that their words carry; and their texts."""
    found: dict[int, Candidate] = {}
    texts: dict[int, tuple[Any, ...]] = {}
    whole = 0.0
    for chunk, cosine, words, weight, size, known_weight, known, *text in rows:
        if not whole:
            _sizes[space.pk] = size
            unknown = Corpus(int(size), 1.0, {}).weight("")
            whole = (known_weight or 0.0) + unknown * (len(asked) - known)
        if words or chunk not in found:
            found[chunk] = Candidate(chunk, cosine, words, weight / whole if whole else 0.0)
            texts[chunk] = tuple(text)
    return list(found.values()), texts


# ---- the embedder's own index ----

INDEX = "SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = %s AND i.indisvalid"
_known: dict[str, tuple[float, bool]] = {}


def has_index(embedder: Embedder) -> bool:
    """Whether the embedder's index is there; each process asks again after half a minute."""
    name, now = index_name(embedder.embedded_by), time.monotonic()
    known = _known.get(name)
    if known is None or now - known[0] > INDEX_KNOWN_FOR:
        known = _known[name] = (now, bool(hot.rows(INDEX, [name])))
    return known[1]


def forget_indexes() -> None:
    _known.clear()


@lru_cache(maxsize=32)
def index_name(embedded_by: str) -> str:
    """The name of an embedder's own vector index; PostgreSQL cuts names at 63 bytes."""
    return f"embedding_hnsw_{sha256(embedded_by.encode()).hexdigest()[:16]}"
