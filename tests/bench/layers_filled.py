"""Fills spaces with what the layers are measured on: long-term chunks by the hundred thousand, a million quarantine records.

Written by COPY and in bulk past the domain, which cuts, embeds and notes one entry at a time; what stands in the tables
afterwards is what the domain would have left there.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tests.bench import stub

VOCABULARY = 5000
WORDS = 40
CHUNKS_OF_ENTRY = 2


def say(text: str) -> None:
    print(f"\n{text}", flush=True)


def longterm_spaces(rows: int) -> dict[str, Any]:
    """Spaces with 0.1, 1, 10 and 100 % of so many chunks, under one index of their vectors."""
    from memoryhub.domain import spaces
    from memoryhub.models import HUB, Space

    sizes = {
        "0.1 %": rows // 1000,
        "1 %": rows // 100,
        "2 %": rows // 50,
        "10 %": rows // 10,
        "20 %": rows // 5,
        "100 %": rows,
    }
    if Space.objects.filter(slug=f"bench-{len(sizes) - 1}").exists():
        return {name: Space.objects.get(slug=f"bench-{at}") for at, name in enumerate(sizes)}
    say(f"filling {sum(sizes.values()):,} chunks")
    made = {}
    for at, (name, size) in enumerate(sizes.items()):
        made[name] = space = spaces.create(HUB, f"bench-{at}")
        start = time.perf_counter()
        fill_space(space, size, at)
        print(f"  {name:>6}: {size:,} in {time.perf_counter() - start:.0f} s", flush=True)
    settle(list(made.values()))
    return made


def settle(spaces: list[Any]) -> None:
    """The indexes of vectors, and tables as PostgreSQL leaves them after a while."""
    from django.db import connection

    from memoryhub.domain import retrieval
    from memoryhub.domain.retrieval import vector_index

    with connection.cursor() as cursor:
        start = time.perf_counter()
        cursor.execute("SET maintenance_work_mem = '512MB'")
        for space in spaces:
            vector_index.make_vector_index(space, retrieval.serving_embedder(space))
        for table in ("embedding", "chunk", "posting", "telltale", "lexemecount", "longtermentry", "entryrevision"):
            cursor.execute(f"VACUUM ANALYZE memoryhub_{table}")
        print(f"  index and vacuum in {time.perf_counter() - start:.0f} s", flush=True)


def texts(count: int, seed: int) -> list[str]:
    """Texts of invented words, of which few are common and most are rare."""
    picked = np.minimum(np.random.default_rng(seed).zipf(1.3, size=(count, WORDS)), VOCABULARY)
    return [" ".join(f"w{n}x" for n in row) for row in picked.tolist()]


def as_halfvec(vectors: np.ndarray) -> list[str]:
    return [str(row) for row in np.round(vectors, 4).tolist()]


FILL = (
    # What is joined is counted first: by what was counted before, the planner may walk all of a space for each row.
    "ANALYZE given",
    # One entry for every two chunks, as its own text and its first revision have it.
    "INSERT INTO memoryhub_longtermentry (space_id, number, content, scope, revision, state, session_id, reason, metadata, checked_by, "
    "actor_kind, actor_name, created_at, modified_at) SELECT %(space)s, n / %(each)s + 1, string_agg(text, ' ' ORDER BY n), 'group', 1, "
    "'active', 's-' || min(n) / 20, '', '{}', '', 'person', 'rk', now() - make_interval(secs => %(size)s - min(n)), now() "
    "FROM given GROUP BY n / %(each)s ORDER BY 2",
    "INSERT INTO memoryhub_entryrevision (space_id, entry_id, number, content, state, reason, created_at, actor_kind, actor_name) "
    "SELECT space_id, id, 1, content, 'active', '', created_at, 'person', 'rk' FROM memoryhub_longtermentry WHERE space_id = %(space)s",
    "ANALYZE memoryhub_longtermentry",
    'INSERT INTO memoryhub_chunk (space_id, entry_id, scope, position, start, "end", text, words, length) '
    "SELECT e.space_id, e.id, 'group', g.n %% %(each)s, 0, length(g.text), g.text, to_tsvector('english', g.text), %(words)s "
    "FROM given g JOIN memoryhub_longtermentry e ON e.space_id = %(space)s AND e.number = g.n / %(each)s + 1 ORDER BY g.n",
    "ANALYZE memoryhub_chunk",
    # The raw query that is measured beside ours has the index from some 2,000 vectors on; the hub uses it only above 12,000.
    "INSERT INTO memoryhub_embedding (space_id, chunk_id, embedded_by, vector, in_index) "
    "SELECT c.space_id, c.id, %(by)s, g.vector::halfvec, %(size)s > 2000 "
    "FROM given g JOIN memoryhub_longtermentry e ON e.space_id = %(space)s AND e.number = g.n / %(each)s + 1 "
    "JOIN memoryhub_chunk c ON c.space_id = e.space_id AND c.entry_id = e.id AND c.position = g.n %% %(each)s ORDER BY g.n",
    "INSERT INTO memoryhub_posting (space_id, lexeme, chunk_id, count, length) "
    "SELECT c.space_id, u.lexeme, c.id, cardinality(u.positions), c.length FROM memoryhub_chunk c, unnest(c.words) u "
    "WHERE c.space_id = %(space)s ORDER BY u.lexeme, c.id",
    "INSERT INTO memoryhub_lexemecount (space_id, lexeme, chunks, mark) SELECT space_id, lexeme, count(*), 1 FROM memoryhub_posting "
    "WHERE space_id = %(space)s GROUP BY space_id, lexeme",
    "INSERT INTO memoryhub_chunkcount (space_id, chunks, lexemes) VALUES (%(space)s, %(size)s, %(size)s * %(words)s)",
    "UPDATE memoryhub_space SET last_entry = (%(size)s - 1) / %(each)s + 1 WHERE id = %(space)s",
)


def fill_space(space: Any, size: int, seed: int) -> None:
    from django.db import connection, transaction

    from memoryhub.detectors import fingerprints
    from memoryhub.domain import retrieval

    space.settings["embedder"] = retrieval.embedder_choice(space)
    space.save(update_fields=["settings"])
    names = {
        "space": space.pk, "size": size, "each": CHUNKS_OF_ENTRY, "words": WORDS,
        "by": retrieval.serving_embedder(space).embedded_by,
    }  # fmt: skip
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '256MB'")
        cursor.execute("CREATE TEMP TABLE given (n int, text text, vector text) ON COMMIT DROP")
        with cursor.copy("COPY given FROM STDIN") as copy:
            for n, row in enumerate(zip(texts(size, seed), as_halfvec(stub.vectors(size, seed)), strict=True)):
                copy.write_row((n, *row))
        for statement in FILL:
            cursor.execute(statement, names)
        cursor.execute("SELECT id, text FROM memoryhub_chunk WHERE space_id = %s ORDER BY id", [space.pk])
        chunks = cursor.fetchall()
        with cursor.copy("COPY memoryhub_telltale (space_id, chunk_id, code, size, mask) FROM STDIN") as copy:
            for chunk, text in chunks:
                for one in fingerprints.to_store(text):
                    copy.write_row((space.pk, chunk, *one))


RECORDS = (
    'INSERT INTO "quarantine"."record" (space_id, agent_name, session_id, node_id, node_kind, scope, content, sha256, metadata, '
    "findings, codes, created_at, words) SELECT %(space)s, CASE WHEN n %% 3 = 0 THEN 'counter' ELSE 'forge' END, 's-' || n / 20, "
    "'answer', CASE WHEN n %% 50 = 0 THEN 'fact_check' ELSE 'agent' END, 'group', t, '', '{}', '[]', "
    "CASE WHEN n %% 500 = 0 THEN '{injection}' ELSE '{}' END::varchar[], now() - make_interval(secs => (%(size)s - n) * 0.5), "
    "to_tsvector('english', t) FROM (SELECT n, 'Order ' || n || ' of shop ' || n %% 977 || ' stands in ledger ' || n %% 31 || "
    "' and was paid by card on day ' || n %% 365 AS t FROM generate_series(1, %(size)s) n) g",
    'INSERT INTO "quarantine"."state" (space_id, record_id, state, is_newest, reason, created_at, actor_kind, actor_name) '
    "SELECT space_id, id, CASE WHEN codes = '{}' THEN 'admitted' ELSE 'held' END, true, "
    "CASE WHEN codes = '{}' THEN '' ELSE 'injection' END, "
    "created_at, 'hub', 'hub' FROM \"quarantine\".\"record\" WHERE space_id = %(space)s",
    'INSERT INTO "activity"."line" (space_id, at, actor_kind, actor_name, verb, says, thing, url, adds, aside, path, details, request_id) '
    "SELECT space_id, created_at, 'agent', agent_name, 'quarantine.log', 'logged', 'an answer', 'quarantine/' || id || '/', "
    "'; the gate admitted it', session_id, '', '{}', '' FROM \"quarantine\".\"record\" WHERE space_id = %(space)s",
    'VACUUM ANALYZE "quarantine"."record"',
    'VACUUM ANALYZE "quarantine"."state"',
    'VACUUM ANALYZE "activity"."line"',
)


def quarantine(space: Any, size: int) -> None:
    """So many records, their states, and the lines of activity that logging them would have left."""
    from django.db import connection

    from memoryhub.models import Record

    if Record.objects.within(space).exists():
        return
    start = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '512MB'")
        for statement in RECORDS:
            cursor.execute(statement, {"space": space.pk, "size": size} if "%(" in statement else None)
    say(f"{size:,} quarantine records made in {time.perf_counter() - start:.0f} s")
