"""Which long-term chunks a query brings up, by their words and by their meaning: one hot statement behind retrieval.

What the words speak for is reckoned in this process (`postings`); the statement takes the nearest vectors, the cosines of
what the words brought up, and the texts, and says how the space's words stand, so that a process whose postings are of
yesterday sees it and asks again. The embedder's name, its dimensions, the space and the limits stand in the SQL text: a
prepared plan could not use the partial index otherwise, nor know how small the space is. Distances are fenced off, and
what is looked up by key is lateral, or the planner walks whole tables.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from memoryhub.domain import hot, lexemes, meaning, postings
from memoryhub.domain.ranking import Candidate
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import Agent, Space

EXACT_UP_TO = 2000  # vectors of one space; above, the embedder's index (made by `reembed`) is quicker and right enough
LEAST = 20  # candidates by words, at least; four for each one asked for above that
MOST_LEXEMES = 64
LONGEST_QUERY = 4000  # characters
INDEX_KNOWN_FOR = 30.0  # seconds
TRIES = 3  # what changes between two statements of one query is asked for again, but not for ever

FIND = f"""
WITH near AS MATERIALIZED ({{near}}), found AS (
    SELECT chunk_id, cosine FROM near
    UNION ALL SELECT w.chunk_id, {{its_cosine}} FROM unnest(%(words)s::bigint[]) AS w(chunk_id)
)
SELECT NULL::bigint, NULL::float8, ({postings.STANDING}), NULL::bigint, NULL::timestamptz, NULL, NULL, NULL, NULL::timestamptz
UNION ALL
SELECT f.chunk_id, f.cosine, t.* FROM found f CROSS JOIN LATERAL (
    SELECT c.text, e.number, e.created_at, c.scope, e.actor_name, e.session_id, e.checked_at FROM memoryhub_chunk c
    CROSS JOIN LATERAL (SELECT * FROM memoryhub_longtermentry WHERE id = c.entry_id LIMIT 1) e
    WHERE c.id = f.chunk_id AND c.space_id = {{space}} LIMIT 1
) t
"""  # noqa: S608 (only numbers and names of ours are put in)
NEAR_EXACTLY = """
SELECT chunk_id, cosine FROM (
    SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %(vector)s::halfvec({d})) AS cosine FROM memoryhub_embedding
    WHERE space_id = {space} AND embedded_by = '{by}' AND {mine} OFFSET 0
) all_of_them ORDER BY cosine DESC LIMIT {wanted}
"""
NEAR_BY_INDEX = """
SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %(vector)s::halfvec({d})) AS cosine FROM memoryhub_embedding
WHERE space_id = {space} AND embedded_by = '{by}' AND {mine} ORDER BY vector::halfvec({d}) <=> %(vector)s::halfvec({d}) LIMIT {wanted}
"""
ITS_COSINE = """(
    SELECT 1 - (e.vector::halfvec({d}) <=> %(vector)s::halfvec({d})) FROM memoryhub_embedding e
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
    limit = max(LEAST, 4 * int(wanted))
    try:
        embedder = embedder or meaning.serving(space)
        vector = meaning.query_vector(embedder, query)
    except EmbedderUnavailable as away:
        says = f"{away.message} These results are by words alone."
        return Sought(*settled(space, asked, mine, limit, by_words(space.pk), None), warnings=[says])
    standing = postings.standing(space.pk, asked)
    is_large = standing.chunks > EXACT_UP_TO and has_index(embedder)
    sql = by_both(space.pk, mine, int(wanted), int(embedder.dimensions), embedder.embedded_by, is_large)
    found = settled(space, asked, mine, limit, sql, vector)
    return Sought(*found, embedder.threshold, embedder.embedded_by)


def settled(
    space: Space, asked: list[str], mine: str, limit: int, sql: str, vector: Any
) -> tuple[list[Candidate], dict[int, tuple[Any, ...]]]:
    """Candidates and texts of one statement whose words were reckoned from the postings that it saw itself."""
    assumed = postings.standing(space.pk, asked)
    words = postings.best(space.pk, mine, assumed, limit)
    for _ in range(TRIES):
        given = {"words": list(words), "asked": asked, "vector": vector}
        (_, _, told, *_), *rows = hot.rows(sql, given, binary=True)  # an Append gives its first part first
        standing = postings.Standing.read(told, asked)
        if standing == assumed:
            break
        postings.kept.note(space.pk, standing)
        assumed, before = standing, words
        words = postings.best(space.pk, mine, assumed, limit)
        if words.keys() <= before.keys():
            break
    return gathered(words, rows)


@lru_cache(maxsize=1024)
def by_both(space: int, mine: str, wanted: int, dimensions: int, embedded_by: str, is_large: bool) -> str:
    names = {"space": int(space), "mine": mine, "wanted": wanted, "d": dimensions, "by": embedded_by}
    near = (NEAR_BY_INDEX if is_large else NEAR_EXACTLY).format(**names)
    return FIND.format(near=near, its_cosine=ITS_COSINE.format(**names), **names)


@lru_cache(maxsize=256)
def by_words(space: int) -> str:
    return FIND.format(near=NOTHING_NEAR, its_cosine="NULL::float8", space=int(space))


def gathered(
    words: dict[int, tuple[float, float]], rows: list[tuple[Any, ...]]
) -> tuple[list[Candidate], dict[int, tuple[Any, ...]]]:
    """The candidates, once each, with what the words say for them; and their texts."""
    found = {chunk: Candidate(chunk, cosine, *words.get(chunk, (0.0, 0.0))) for chunk, cosine, *_ in rows}
    return list(found.values()), {chunk: tuple(text) for chunk, _, *text in rows}


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
