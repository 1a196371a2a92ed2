"""Fills spaces with so many records, lines of activity, chunks and a hundredth as many files, inside the database.

What stands in the tables afterwards is what the domain would have left there; texts are invented words, vectors the sums of
two real ones, so that a million of them differ.
"""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from typing import Any

WORDS = 12  # of a chunk
VOCABULARY = 5000
PARTS = 1000  # vectors of which each chunk's is the sum of two
CHUNKS_OF_ENTRY = 2
FILES_OF_FOLDER = 10
MAINTENANCE = "2GB"  # of memory, for the vector index

FILES = (
    "INSERT INTO memoryhub_file (space_id, path, thread_id, revision, is_deleted, size, sha256, author_kind, author_name, created_at, "
    "modified_at, used_at, written_sha256, problem) "
    "SELECT space, '/memories/d' || n / %(folder)s || '/f' || n || '.md', '', 1, false, 40, md5(n::text) || md5(n::text), 'hub', 'hub', "
    "now() - make_interval(mins => n), now() - make_interval(mins => n), now(), '', '' "
    "FROM unnest(%(spaces)s::bigint[]) space, generate_series(1, greatest(10, %(size)s / 100)) n",
    "INSERT INTO memoryhub_revision (space_id, file_id, number, kind, path, content, size, sha256, is_deleted, added, removed, reason, "
    "moved_from, actor_kind, actor_name, created_at) "
    "SELECT space_id, id, 1, 'create', path, convert_to('# File ' || path || E'\\n- A rule of the shop.\\n', 'UTF8'), size, sha256, "
    "false, 2, 0, '', '', 'hub', 'hub', created_at FROM memoryhub_file WHERE space_id = ANY(%(spaces)s) AND path LIKE '/memories/d%%'",
)
RECORDS = (
    'INSERT INTO "quarantine"."record" (space_id, agent_name, session_id, node_id, node_kind, scope, content, sha256, metadata, '
    "findings, codes, created_at, words) SELECT space, 'forge', 's-' || n / 20, 'answer', 'agent', 'group', t, '', '{}', '[]', "
    "CASE WHEN n %% 500 = 0 THEN '{injection}' ELSE '{}' END::varchar[], now() - make_interval(secs => (%(size)s - n) * 0.5), "
    "to_tsvector('english', t) FROM unnest(%(spaces)s::bigint[]) space, generate_series(1, %(size)s) n, "
    "LATERAL (SELECT 'Order ' || n || ' of shop ' || n %% 977 || ' stands in ledger ' || n %% 31 || ' and was paid on day ' || n %% 365 "
    "AS t) g",
    'INSERT INTO "quarantine"."state" (space_id, record_id, state, is_newest, reason, created_at, actor_kind, actor_name) '
    "SELECT space_id, id, CASE WHEN codes = '{}' THEN 'admitted' ELSE 'held' END, true, '', created_at, 'hub', 'hub' "
    'FROM "quarantine"."record" WHERE space_id = ANY(%(spaces)s)',
    'INSERT INTO "activity"."line" (space_id, at, actor_kind, actor_name, verb, says, thing, url, adds, aside, path, details, request_id) '
    "SELECT space_id, created_at, 'agent', agent_name, 'quarantine.log', 'logged', 'an answer', 'quarantine/' || id || '/', "
    "'; the gate admitted it', session_id, '', '{}', '' FROM \"quarantine\".\"record\" WHERE space_id = ANY(%(spaces)s)",
)
CHUNKS = (
    "CREATE TEMP TABLE given ON COMMIT DROP AS SELECT space, n, (SELECT string_agg('w' || floor(%(vocabulary)s * random() ^ 3)::int || "
    "'x', ' ') FROM generate_series(1, %(words)s) k WHERE n > 0) AS text FROM unnest(%(spaces)s::bigint[]) space, "
    "generate_series(1, %(size)s) n",
    "ANALYZE given",
    "INSERT INTO memoryhub_longtermentry (space_id, number, content, scope, revision, state, session_id, reason, metadata, checked_by, "
    "actor_kind, actor_name, created_at, modified_at) SELECT space, n / %(each)s + 1, string_agg(text, ' ' ORDER BY n), 'group', 1, "
    "'active', 's-' || min(n) / 20, '', '{}', '', 'person', 'rk', now() - make_interval(secs => %(size)s - min(n)), now() "
    "FROM given GROUP BY space, n / %(each)s ORDER BY 1, 2",
    "INSERT INTO memoryhub_entryrevision (space_id, entry_id, number, content, state, reason, created_at, actor_kind, actor_name) "
    "SELECT space_id, id, 1, content, 'active', '', created_at, 'person', 'rk' FROM memoryhub_longtermentry "
    "WHERE space_id = ANY(%(spaces)s)",
    "ANALYZE memoryhub_longtermentry",
    'INSERT INTO memoryhub_chunk (space_id, entry_id, scope, position, start, "end", text, words, length) '
    "SELECT e.space_id, e.id, 'group', g.n %% %(each)s, 0, length(g.text), g.text, to_tsvector('english', g.text), %(words)s "
    "FROM given g JOIN memoryhub_longtermentry e ON e.space_id = g.space AND e.number = g.n / %(each)s + 1 ORDER BY g.space, g.n",
    "ANALYZE memoryhub_chunk",
    "INSERT INTO memoryhub_embedding (space_id, chunk_id, embedded_by, vector, in_index) "
    "SELECT c.space_id, c.id, %(by)s, one.vector + other.vector, %(size)s > 2000 FROM memoryhub_chunk c "
    "JOIN part one ON one.n = c.id %% %(parts)s JOIN part other ON other.n = c.id / %(parts)s %% %(parts)s "
    "WHERE c.space_id = ANY(%(spaces)s)",
    "INSERT INTO memoryhub_posting (space_id, lexeme, chunk_id, count, length) "
    "SELECT c.space_id, u.lexeme, c.id, cardinality(u.positions), c.length FROM memoryhub_chunk c, unnest(c.words) u "
    "WHERE c.space_id = ANY(%(spaces)s) ORDER BY c.space_id, u.lexeme, c.id",
    "INSERT INTO memoryhub_lexemecount (space_id, lexeme, chunks, mark) SELECT space_id, lexeme, count(*), 1 FROM memoryhub_posting "
    "WHERE space_id = ANY(%(spaces)s) GROUP BY space_id, lexeme",
    "INSERT INTO memoryhub_chunkcount (space_id, chunks, lexemes) SELECT space, %(size)s, %(size)s * %(words)s "
    "FROM unnest(%(spaces)s::bigint[]) space",
    "UPDATE memoryhub_space SET last_entry = %(size)s / %(each)s + 1 WHERE id = ANY(%(spaces)s)",
)
TABLES = (
    "memoryhub_file", "memoryhub_revision", '"quarantine"."record"', '"quarantine"."state"', '"activity"."line"',
    "memoryhub_longtermentry", "memoryhub_entryrevision", "memoryhub_chunk", "memoryhub_embedding", "memoryhub_posting",
    "memoryhub_lexemecount", "memoryhub_telltale", "memoryhub_agent", "memoryhub_delivery", "memoryhub_space", "memoryhub_membership",
)  # fmt: skip


def fill(spaces: Sequence[Any], size: int) -> None:
    """So many of everything in each of these spaces, which have had nothing."""
    from django.db import connection, transaction

    from memoryhub.domain import retrieval

    began = time.perf_counter()
    embedder = retrieval.serving_embedder(spaces[0])
    for space in spaces:  # else a background process would set it, and raise the marks
        space.settings["embedder"] = retrieval.embedder_choice(space)
        space.save(update_fields=["settings"])
    names = {
        "spaces": [space.pk for space in spaces], "size": size, "each": CHUNKS_OF_ENTRY, "words": WORDS, "parts": PARTS,
        "vocabulary": VOCABULARY, "folder": FILES_OF_FOLDER, "by": embedder.embedded_by,
    }  # fmt: skip
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '256MB'")
        cursor.execute("SELECT setseed(0.5)")
        copy_parts(cursor, embedder)
        for statement in (*FILES, *RECORDS, *CHUNKS):
            cursor.execute(statement, names)
        copy_telltales(cursor, names["spaces"])
    print(f"  {len(spaces):,} x {size:,} filled in {time.perf_counter() - began:.0f} s", flush=True)


def copy_parts(cursor: Any, embedder: Any) -> None:
    """The vectors of short texts of the same words."""
    texts = [" ".join(f"w{(n * 7919 + k * 104_729) % VOCABULARY}x" for k in range(6)) for n in range(PARTS)]
    cursor.execute(f"CREATE TEMP TABLE part (n int PRIMARY KEY, vector halfvec({embedder.dimensions})) ON COMMIT DROP")
    with cursor.copy("COPY part FROM STDIN") as copy:
        for n, vector in enumerate(embedder.embed(texts).round(4).tolist()):
            copy.write_row((n, str(vector)))


def copy_telltales(cursor: Any, spaces: list[int]) -> None:
    from memoryhub.detectors import fingerprints

    cursor.execute("SELECT space_id, id, text FROM memoryhub_chunk WHERE space_id = ANY(%s) ORDER BY id", [spaces])
    rows = io.StringIO()
    for space, chunk, text in cursor.fetchall():
        for one in fingerprints.to_store(text):
            rows.write(f"{space}\t{chunk}\t{one.code}\t{one.size}\t{one.mask}\n")
    with cursor.copy("COPY memoryhub_telltale (space_id, chunk_id, code, size, mask) FROM STDIN") as copy:
        copy.write(rows.getvalue())


DELIVERIES = (
    "INSERT INTO memoryhub_delivery (space_id, agent_id, thread_id, sha256, dialect, revisions, first_at, last_at, count) "
    "SELECT space_id, id, 'thread', md5(id::text) || md5(id::text), 'hub', '{}', now(), now(), 3 FROM memoryhub_agent WHERE space_id = %s"
)


def settle() -> None:
    """The vector indexes, and statistics and visibility as a hub has them that has run for a while."""
    from django.db import connection

    from memoryhub.domain.retrieval import vector_index

    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute(f"SET maintenance_work_mem = '{MAINTENANCE}'")
        vector_index.let_in_all()
        for table in TABLES:
            cursor.execute(f"VACUUM ANALYZE {table}")
    print(f"  index and vacuum in {time.perf_counter() - began:.0f} s", flush=True)
