"""Which long-term chunks a query brings up, by their words and by their meaning: the hot statements behind retrieval.

Two round trips: one for the query's lexemes (how many chunks hold each, so that a lexeme's weight is known before any
posting is read), one for the candidates. The embedder's name, its dimensions and the space stand in the SQL text: a prepared
plan could not use the partial index otherwise, nor know how small the space is; distances are fenced off, or the planner
walks the wrong index.
"""

from __future__ import annotations

import time
from functools import lru_cache
from hashlib import sha256

from memoryhub.domain import hot, lexemes, meaning
from memoryhub.domain.ranking import K1, B, Candidate, Corpus
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import Agent, Space

EXACT_UP_TO = 2000  # vectors of one space; above, the embedder's index (made by `reembed`) is quicker and right enough
LEAST = 30  # candidates by words, at least; four for each one asked for above that
MOST_POSTINGS = 2000  # of one lexeme: a word that more chunks hold says next to nothing
LEAST_WEIGHT = 0.1  # of the heaviest lexeme's: lighter ones change no order, and stand in most chunks
MOST_LEXEMES = 64
LONGEST_QUERY = 4000  # characters
INDEX_KNOWN_FOR = 30.0  # seconds

STATISTICS = """
SELECT '', chunks, lexemes FROM memoryhub_chunkcount WHERE space_id = %s
UNION ALL SELECT lexeme, chunks, 0 FROM memoryhub_lexemecount WHERE space_id = %s AND lexeme = ANY(%s)
"""
WORDED = f"""
SELECT p.chunk_id, sum(w.weight * p.count * ({K1} + 1) / (p.count + {K1} * (1 - {B} + {B} * p.length / %s::float8))) AS words,
    sum(w.weight) AS weight
FROM unnest(%s::text[], %s::float8[]) AS w(lexeme, weight) CROSS JOIN LATERAL (
    SELECT chunk_id, count, length FROM memoryhub_posting
    WHERE space_id = %s AND lexeme = w.lexeme AND {{mine}} LIMIT {MOST_POSTINGS}
) p GROUP BY p.chunk_id ORDER BY words DESC, p.chunk_id LIMIT %s
"""  # noqa: S608 (only numbers of ours are put in)
NEAR_EXACTLY = """
SELECT chunk_id, cosine FROM (
    SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %s::halfvec({d})) AS cosine FROM memoryhub_embedding
    WHERE space_id = {space} AND embedded_by = '{by}' AND {mine} OFFSET 0
) all_of_them ORDER BY cosine DESC LIMIT %s
"""
NEAR_BY_INDEX = """
SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %s::halfvec({d})) AS cosine FROM memoryhub_embedding
WHERE space_id = {space} AND embedded_by = '{by}' AND {mine} ORDER BY vector::halfvec({d}) <=> %s::halfvec({d}) LIMIT %s
"""
BOTH = """
WITH worded AS MATERIALIZED ({worded}), near AS MATERIALIZED ({near})
SELECT chunk_id, cosine, 0::float8, 0::float8 FROM near
UNION ALL
SELECT w.chunk_id, 1 - (e.vector::halfvec({d}) <=> %s::halfvec({d})), w.words, w.weight
FROM worded w LEFT JOIN memoryhub_embedding e ON e.space_id = {space} AND e.embedded_by = '{by}' AND e.chunk_id = w.chunk_id
"""
MINE = {
    "group": "agent_id IS NULL",
    "agent": "agent_id = {agent}",
    "both": "(agent_id IS NULL OR agent_id = {agent})",
    "all": "true",
}


class Sought:
    """What was found for a query, under which embedder, and what to say about it."""

    def __init__(self, candidates: list[Candidate], threshold: float, embedded_by: str, warnings: list[str]) -> None:
        self.candidates, self.threshold, self.embedded_by, self.warnings = candidates, threshold, embedded_by, warnings


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
    query, limit = query[:LONGEST_QUERY], max(LEAST, 4 * wanted)
    corpus, asked = statistics(space, query)
    try:
        embedder = embedder or meaning.serving(space)
        vector = meaning.query_vector(embedder, query)
    except EmbedderUnavailable as away:
        says = f"{away.message} These results are by words alone."
        return Sought(by_words(space, corpus, asked, mine, limit), 0.0, "", [says])
    found = by_both(space, embedder, vector, corpus, asked, mine, wanted)
    return Sought(found, embedder.threshold, embedder.embedded_by, [])


def statistics(space: Space, query: str) -> tuple[Corpus, list[str]]:
    """The query's lexemes, and what BM25 must know of the space about them."""
    asked = lexemes.cached(query)[:MOST_LEXEMES]
    rows = hot.rows(STATISTICS, [space.pk, space.pk, asked])
    held = {lexeme: chunks for lexeme, chunks, _ in rows if lexeme}
    chunks, length = next(((chunks, length) for lexeme, chunks, length in rows if not lexeme), (0, 0))
    return Corpus(chunks, length / chunks if chunks else 1.0, held), asked


def worded(space: Space, corpus: Corpus, asked: list[str], limit: int) -> tuple[list[object], float]:
    """The parameters of the words' part, and the weight of the whole query; no parameters when no chunk has any of them."""
    whole = sum(corpus.weight(lexeme) for lexeme in asked)
    weights = {lexeme: corpus.weight(lexeme) for lexeme in asked if corpus.frequencies.get(lexeme)}
    least = LEAST_WEIGHT * max(weights.values(), default=0.0)
    weights = {lexeme: weight for lexeme, weight in weights.items() if weight >= least}
    if not weights:
        return [], whole
    return [corpus.mean_length, list(weights), list(weights.values()), space.pk, limit], whole


def by_words(space: Space, corpus: Corpus, asked: list[str], mine: str, limit: int) -> list[Candidate]:
    values, whole = worded(space, corpus, asked, limit)
    rows = hot.rows(WORDED.format(mine=mine), values) if values else []
    return [Candidate(chunk, None, words, weight / whole) for chunk, words, weight in rows]


def by_both(
    space: Space, embedder: Embedder, vector: str, corpus: Corpus, asked: list[str], mine: str, wanted: int
) -> list[Candidate]:
    names = {"d": int(embedder.dimensions), "by": embedder.embedded_by, "mine": mine, "space": int(space.pk)}
    if corpus.documents > EXACT_UP_TO and has_index(embedder):
        near, near_values = NEAR_BY_INDEX, [vector, vector, wanted]
    else:
        near, near_values = NEAR_EXACTLY, [vector, wanted]
    values, whole = worded(space, corpus, asked, max(LEAST, 4 * wanted))
    if not values:
        return [Candidate(chunk, cosine) for chunk, cosine in hot.rows(near.format(**names), near_values)]
    sql = BOTH.format(worded=WORDED.format(mine=mine), near=near.format(**names), **names)
    found: dict[int, Candidate] = {}
    for chunk, cosine, words, weight in hot.rows(sql, [*values, *near_values, vector]):
        if words or chunk not in found:
            found[chunk] = Candidate(chunk, cosine, words, weight / whole if whole else 0.0)
    return list(found.values())


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
