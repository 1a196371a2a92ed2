"""What memory gives to a question: the newest of working memory (hot), then what long-term memory knows (cold).

Quarantine is never read here. Words and meaning are ranked together; the score that is shown is the cosine alone, and
`why` says what else spoke for an item.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from memoryhub.domain import hot as hot_sql
from memoryhub.domain import meaning, ranking, working
from memoryhub.domain.ranking import Candidate
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Space

MOST = 50
EXACT_UP_TO = 2000  # vectors of one space; above, the embedder's index (made by `reembed`) is quicker and right enough
CANDIDATES = 60
LONGEST_QUERY = 4000  # characters of a query that are looked at
SCOPES = ("group", "agent")

# `{mine}` keeps to the chunks that may be read; `{near}` fills `near` with chunk and cosine, exactly or by index.
FIND = f"""
WITH asked AS MATERIALIZED (SELECT array_agg(lexeme) AS lexemes FROM unnest({ranking.TSVECTOR})),
size AS MATERIALIZED (
    SELECT greatest(chunks, 1)::float8 AS n, greatest(lexemes, 1)::float8 / greatest(chunks, 1) AS mean
    FROM memoryhub_chunkcount WHERE space_id = %s
),
posted AS MATERIALIZED (
    SELECT lexeme, chunk_id, agent_id, count::float8, length::float8,
        least(count(*) OVER (PARTITION BY lexeme), n) AS held, n, mean
    FROM memoryhub_posting, size WHERE space_id = %s AND lexeme = ANY(ARRAY(SELECT unnest(lexemes) FROM asked))
),
whole AS (
    SELECT coalesce(sum(weight), 0) AS weight FROM (
        SELECT DISTINCT lexeme, ln(1 + (n - held + 0.5) / (held + 0.5)) AS weight FROM posted
        UNION ALL
        SELECT u, ln(1 + (n + 0.5) / 0.5) FROM asked, size, unnest(lexemes) u WHERE u NOT IN (SELECT lexeme FROM posted)
    ) weights
),
worded AS MATERIALIZED (
    SELECT chunk_id, sum(ln(1 + (n - held + 0.5) / (held + 0.5))
        * count * ({ranking.K1} + 1)
        / (count + {ranking.K1} * (1 - {ranking.B} + {ranking.B} * length / mean))) AS words,
        sum(ln(1 + (n - held + 0.5) / (held + 0.5))) AS weight
    FROM posted WHERE {{mine}} GROUP BY chunk_id ORDER BY words DESC, chunk_id LIMIT {CANDIDATES}
),
{{near}}
"""  # noqa: S608 (only names of configurations and numbers of ours are put in)
EXACT = """
distances AS MATERIALIZED (
    SELECT chunk_id, 1 - (vector::halfvec({dimensions}) <=> %s::halfvec({dimensions})) AS cosine
    FROM memoryhub_embedding WHERE space_id = %s AND embedded_by = '{embedded_by}' AND {mine}
),
near AS (SELECT chunk_id FROM distances ORDER BY cosine DESC LIMIT {candidates})
SELECT chunk_id, d.cosine, coalesce(w.words, 0), coalesce(w.weight / nullif((SELECT weight FROM whole), 0), 0)
FROM (SELECT chunk_id FROM near UNION SELECT chunk_id FROM worded) c
LEFT JOIN distances d USING (chunk_id) LEFT JOIN worded w USING (chunk_id)
"""
BY_INDEX = """
near AS MATERIALIZED (
    SELECT chunk_id FROM memoryhub_embedding WHERE space_id = %s AND embedded_by = '{embedded_by}' AND {mine}
    ORDER BY vector::halfvec({dimensions}) <=> %s::halfvec({dimensions}) LIMIT {candidates}
)
SELECT c.chunk_id, 1 - (e.vector::halfvec({dimensions}) <=> %s::halfvec({dimensions})), coalesce(w.words, 0),
    coalesce(w.weight / nullif((SELECT weight FROM whole), 0), 0)
FROM (SELECT chunk_id FROM near UNION SELECT chunk_id FROM worded) c
LEFT JOIN memoryhub_embedding e ON e.space_id = %s AND e.embedded_by = '{embedded_by}' AND e.chunk_id = c.chunk_id
LEFT JOIN worded w ON w.chunk_id = c.chunk_id
"""
WORDS_ALONE = """
nothing AS (SELECT 1)
SELECT chunk_id, NULL, words, weight / nullif((SELECT weight FROM whole), 0) FROM worded
"""
TEXTS = """
SELECT c.id, c.text, e.number, e.created_at, c.scope, e.actor_name, e.session_id, e.checked_at
FROM memoryhub_chunk c JOIN memoryhub_longtermentry e ON e.id = c.entry_id AND e.space_id = c.space_id
WHERE c.id = ANY(%s) AND c.space_id = %s
"""
MINE = {
    "group": "agent_id IS NULL",
    "agent": "agent_id = {agent}",
    "both": "(agent_id IS NULL OR agent_id = {agent})",
    "all": "true",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing retrieval gives out. `number` names the long-term entry; working entries have none."""

    content: str
    source: str
    score: float
    id: int
    created_at: datetime
    scope: str = "group"
    number: int | None = None
    is_truncated: bool = False
    why: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """A whole retrieval, with what the playground shows: what the threshold cut off, and under which embedder."""

    items: list[Item]
    cut_off: list[Item]
    threshold: float
    embedded_by: str
    warnings: list[str]

    @property
    def hot(self) -> list[Item]:
        return [item for item in self.items if item.source == "hot"]

    @property
    def cold(self) -> list[Item]:
        return [item for item in self.items if item.source == "cold"]


def retrieve(
    space: Space,
    query: str,
    *,
    agent: Agent | None = None,
    hot: int = 10,
    cold: int = 5,
    threshold: float | None = None,
    max_chars: int = 500,
    scope: str | None = None,
) -> list[Item]:
    """The newest working entries, then the long-term chunks that fit the query best, as this agent may read them."""
    return explore(
        space, query, agent=agent, hot=hot, cold=cold, threshold=threshold, max_chars=max_chars, scope=scope
    ).items


def explore(
    space: Space,
    query: str,
    *,
    agent: Agent | None = None,
    hot: int = 10,
    cold: int = 5,
    threshold: float | None = None,
    max_chars: int = 500,
    scope: str | None = None,
    embedder: Embedder | None = None,
    everyone: bool = False,
    show_cut: int = 0,
) -> Found:
    """Retrieval with its reasons. `everyone` reads every agent's own memory too, for people; `embedder` asks another one."""
    check(hot, cold, threshold, max_chars, scope)
    first = [as_hot(one, max_chars) for one in working.newest(space, agent=agent, limit=hot, scope=scope)]
    whose = MINE[readers(agent, scope, everyone)].format(agent=int(agent.pk) if agent else 0)
    if not query.strip() or (cold == 0 and not show_cut) or (scope == "agent" and agent is None):
        return Found(first, [], threshold or 0.0, "", [])
    candidates, least, embedded_by, warnings = candidates_for(space, query[:LONGEST_QUERY], whose, embedder)
    limit_at = least if threshold is None else threshold
    strict = threshold is not None and embedded_by != ""
    kept, cut = ranking.choose(candidates, limit_at, cold, strict=strict)
    texts = texts_of(space, [*kept, *cut[:show_cut]])
    give = [as_cold(one, texts, max_chars) for one in kept if one.id in texts]
    left = [as_cold(one, texts, max_chars) for one in cut[:show_cut] if one.id in texts]
    return Found(first + give, left, limit_at, embedded_by, warnings)


def check(hot: int, cold: int, threshold: float | None, max_chars: int, scope: str | None) -> None:
    for name, value in (("hot", hot), ("cold", cold)):
        if not 0 <= value <= MOST:
            raise Invalid(f"{name} is a number from 0 to {MOST}.", code="invalid", field=name)
    if threshold is not None and not -1 <= threshold <= 1:
        raise Invalid("threshold is a number from -1 to 1.", code="invalid", field="threshold")
    if not 1 <= max_chars <= 1 << 20:
        raise Invalid("max_chars is a number from 1 to 1048576.", code="invalid", field="max_chars")
    if scope is not None and scope not in SCOPES:
        raise Invalid(f"scope is one of {', '.join(SCOPES)}.", code="unknown_scope", field="scope")


def readers(agent: Agent | None, scope: str | None, everyone: bool) -> str:
    if everyone and agent is None and scope is None:
        return "all"
    if agent is None or scope == "group":
        return "group"
    return "agent" if scope == "agent" else "both"


def candidates_for(
    space: Space, query: str, whose: str, embedder: Embedder | None
) -> tuple[list[Candidate], float, str, list[str]]:
    """What words and meaning bring up; while the embedder is away, what the words alone do."""
    asked = [*ranking.by_configuration(query), space.pk, space.pk]
    try:
        embedder = embedder or meaning.serving(space)
        vector = meaning.query_vector(embedder, query)
    except EmbedderUnavailable as away:
        rows = hot_sql.rows(FIND.format(mine=whose, near=WORDS_ALONE), asked)
        return [Candidate(*row) for row in rows], 0.0, "", [f"{away.message} These results are by words alone."]
    names = {
        "dimensions": int(embedder.dimensions), "embedded_by": embedder.embedded_by, "mine": whose, "candidates": CANDIDATES,
    }  # fmt: skip
    if vectors_in(space, embedder) <= EXACT_UP_TO or not has_index(embedder):
        sql, values = EXACT.format(**names), [vector, space.pk]
    else:
        sql, values = BY_INDEX.format(**names), [space.pk, vector, vector, space.pk]
    rows = hot_sql.rows(FIND.format(mine=whose, near=sql), asked + values)
    return [Candidate(*row) for row in rows], embedder.threshold, embedder.embedded_by, []


def vectors_in(space: Space, embedder: Embedder) -> int:
    """How many chunks the space has: one row, kept as chunks come and go."""
    found = hot_sql.rows("SELECT chunks FROM memoryhub_chunkcount WHERE space_id = %s", [space.pk])
    return found[0][0] if found else 0


def has_index(embedder: Embedder) -> bool:
    sql = "SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = %s AND i.indisvalid"
    return bool(hot_sql.rows(sql, [index_name(embedder)]))


def index_name(embedder: Embedder) -> str:
    """The name of an embedder's own vector index; PostgreSQL cuts names at 63 bytes."""
    return f"embedding_hnsw_{sha256(embedder.embedded_by.encode()).hexdigest()[:16]}"


def texts_of(space: Space, candidates: list[Candidate]) -> dict[int, tuple[Any, ...]]:
    if not candidates:
        return {}
    return {row[0]: row[1:] for row in hot_sql.rows(TEXTS, [[one.id for one in candidates], space.pk])}


def as_hot(one: working.Fresh, max_chars: int) -> Item:
    why = {"by": "newest", "agent": one.agent}
    return Item(
        one.content[:max_chars], "hot", 1.0, one.id, one.created_at, one.scope,
        is_truncated=len(one.content) > max_chars, why=why,
    )  # fmt: skip


def as_cold(one: Candidate, texts: dict[int, tuple[Any, ...]], max_chars: int) -> Item:
    text, number, created_at, scope, promoted_by, session_id, checked_at = texts[one.id]
    has_words, cosine = one.words > 0, None if one.cosine is None else round(one.cosine, 4)
    why = {
        "by": "words" if cosine is None else "words and meaning" if has_words else "meaning",
        "rank": one.rank, "mixed": round(one.mixed, 4), "cosine": cosine, "words": round(one.words, 4),
        "coverage": round(one.coverage, 4), "promoted_by": promoted_by, "session_id": session_id,
        "checked_at": checked_at.isoformat() if checked_at else None,
    }  # fmt: skip
    return Item(text[:max_chars], "cold", cosine or 0.0, one.id, created_at, scope, number, len(text) > max_chars, why)


def as_text(items: list[Item]) -> str:
    """The items as a summary that can stand in a prompt."""
    parts = []
    hot = [f"- {flat(item.content)}" for item in items if item.source == "hot"]
    cold = [f"- {flat(item.content)} [L-{item.number}]" for item in items if item.source == "cold"]
    if hot:
        parts.append("Recent (working memory, newest first):\n" + "\n".join(hot))
    if cold:
        parts.append("Known (long-term memory, best match first):\n" + "\n".join(cold))
    return "\n\n".join(parts) + "\n" if parts else "Nothing in memory fits.\n"


def flat(text: str) -> str:
    """One item is one bullet: its own lines are indented below it."""
    return text.strip().replace("\n", "\n  ")
