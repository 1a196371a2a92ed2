"""Long-term memory's index as one plain statement: exact, of one moment, and slow in large spaces.

Tests compare `in_memory` with it, and it answers where that cannot (`rank`).
"""

from __future__ import annotations

from functools import lru_cache

from memoryhub.db import statements
from memoryhub.domain.retrieval import query_words
from memoryhub.domain.retrieval.index import MAX_LEXEMES, MIN_WEIGHT, TEXT_COLUMNS, Hits, Query, Readers, SearchOptions
from memoryhub.domain.retrieval.word_rank import K1, B, Candidate

# The cosine with a text that says nothing is no number: nothing is like nothing.
COSINE = "coalesce(nullif(1 - (vector <=> %(vector)s::halfvec), 'NaN'), 0)"
VECTORS = (
    "memoryhub_embedding WHERE space_id = {space} AND embedded_by = %(embedded_by)s "
    "AND vector_dims(vector) = vector_dims(%(vector)s::halfvec)"
)
BEST = f"""
WITH counted AS MATERIALIZED (
    SELECT c.id, c.agent_id, c.length, u.lexeme, cardinality(u.positions) AS times
    FROM memoryhub_chunk c, unnest(c.words) u
    WHERE c.space_id = {{space}} AND c.words @@ %(any_word)s::tsquery AND u.lexeme = ANY(%(lexemes)s)
), space AS (
    SELECT count(*) AS chunks, coalesce(nullif(avg(length), 0), 1)::float8 AS mean FROM memoryhub_chunk WHERE space_id = {{space}}
), lexeme AS (
    SELECT lexeme, count(c.id) AS chunks, ln(1 + (space.chunks - count(c.id) + 0.5::float8) / (count(c.id) + 0.5)) AS weight
    FROM space, unnest(%(lexemes)s::text[]) lexeme LEFT JOIN counted c USING (lexeme) GROUP BY lexeme, space.chunks
), heavy AS (
    SELECT * FROM lexeme WHERE chunks > 0 AND weight >= {MIN_WEIGHT} * (SELECT max(weight) FROM lexeme WHERE chunks > 0)
), by_words AS (
    SELECT id, sum(weight) / (SELECT sum(weight) FROM lexeme) AS coverage,
        sum(weight * times * {K1 + 1} / (times + {K1} * (1 - {B} + {B} * length / mean))) AS words
    FROM counted JOIN heavy USING (lexeme), space WHERE {{readable}} GROUP BY id ORDER BY words DESC, id LIMIT %(by_words)s
), by_meaning AS (
    SELECT chunk_id AS id FROM {VECTORS} AND {{readable}} ORDER BY {COSINE} DESC, chunk_id LIMIT %(by_meaning)s
)
SELECT c.id, v.cosine, coalesce(w.words, 0), coalesce(w.coverage, 0), {TEXT_COLUMNS}
FROM by_words w FULL JOIN by_meaning m ON m.id = w.id
JOIN memoryhub_chunk c ON c.id = coalesce(w.id, m.id) JOIN memoryhub_longtermentry e ON e.id = c.entry_id AND e.space_id = {{space}}
LEFT JOIN LATERAL (SELECT {COSINE} AS cosine FROM {VECTORS} AND chunk_id = c.id) v ON true WHERE c.space_id = {{space}}
"""  # noqa: S608 (numbers and parts of our own are put in)


def best(space: int, query: Query, readers: Readers, wanted: SearchOptions) -> Hits:
    lexemes = query_words.lexemes_of(query.text)[:MAX_LEXEMES]
    values = {
        "lexemes": lexemes, "any_word": query_words.any_of(lexemes), "by_words": wanted.by_words,
        "by_meaning": wanted.by_meaning, "embedded_by": query.embedded_by, "vector": query.vector,
    }  # fmt: skip
    rows = statements.rows(_sql(space, readers.condition), values, binary=True)
    hits = wanted.choose([Candidate(*row[:4]) for row in rows], query.embedder)
    return hits.with_texts({row[0]: row[4:] for row in rows})


@lru_cache(maxsize=256)
def _sql(space: int, readable: str) -> str:
    return BEST.format(space=int(space), readable=readable)
