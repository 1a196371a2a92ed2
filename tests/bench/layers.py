"""How quick the layers are: `python -m tests.bench.layers [--rows 100000] [--records 0] [--keep DIR]`.

Starts a database of its own, fills spaces of 0.1, 1, 10 and 100 % of the rows, and prints each figure beside what it is
measured against, in the same run: the raw prepared statement, a raw durable insert, and Redis where `redis-server` is found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

VOCABULARY = 5000
WORDS = 40
DIMENSIONS = 256
CLUSTERS = 400


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=0, help="quarantine records to look at the page with")
    parser.add_argument("--keep", type=Path, help="a directory whose database is kept and used again")
    given = parser.parse_args()
    place = given.keep or Path(tempfile.mkdtemp(prefix="memoryhub-bench-", dir="/tmp"))
    os.environ |= {
        "MEMORYHUB_DATA_DIR": str(place),
        "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
        "SECRET_KEY": "b" * 40,
    }
    from memoryhub import postgres

    try:
        with postgres.ensure_running(place):
            import django

            django.setup()
            from memoryhub.migrating import migrate_if_needed

            migrate_if_needed()
            run(given.rows, given.records)
    finally:
        if not given.keep:
            shutil.rmtree(place, ignore_errors=True)


def run(rows: int, records: int) -> None:
    spaces = fill(rows)
    say("retrieve: service p50 / raw prepared statement p50 (query vector given)")
    for name, space in spaces.items():
        retrieval_against_raw(name, space)
    say("recall@5 against an exact search, and how many rows come")
    for name, space in spaces.items():
        recall(name, space)
    embedding()
    working_memory(spaces["1 %"])
    if records:
        quarantine_pages(spaces["1 %"], records)


def say(text: str) -> None:
    print(f"\n{text}", flush=True)


def p50(act: Callable[[], object], times: int = 300) -> float:
    """Milliseconds of the middle run, after a warm-up that also lets PostgreSQL prepare the statement."""
    for _ in range(12):
        act()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def beside(
    raw: Callable[[], object], others: dict[str, Callable[[], object]], times: int = 200
) -> tuple[float, dict[str, float]]:
    """Medians in milliseconds, measured in turns, so that a busy machine slows all of them alike."""
    acts = {"raw": raw, **others}
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for turn in range(times + 12):
        for name, act in acts.items():
            start = time.perf_counter()
            act()
            if turn >= 12:
                taken[name].append(time.perf_counter() - start)
    middle = {name: statistics.median(found) * 1000 for name, found in taken.items()}
    return middle.pop("raw"), middle


# ---- data ----


def fill(rows: int) -> dict[str, object]:
    from django.db import connection

    from memoryhub.domain import meaning, reembedding
    from memoryhub.domain import spaces as made
    from memoryhub.domain.access import HUB
    from memoryhub.models import Space

    sizes = {"0.1 %": rows // 1000, "1 %": rows // 100, "10 %": rows // 10, "100 %": rows}
    if Space.objects.filter(slug="bench-0").exists():
        return {name: Space.objects.get(slug=f"bench-{at}") for at, name in enumerate(sizes)}
    say(f"filling {sum(sizes.values()):,} chunks")
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(CLUSTERS, DIMENSIONS))
    spaces = {}
    for at, (name, size) in enumerate(sizes.items()):
        spaces[name] = space = made.create(HUB, f"bench-{at}")
        start = time.perf_counter()
        fill_space(space, size, rng, centres)
        print(f"  {name:>6}: {size:,} in {time.perf_counter() - start:.0f} s", flush=True)
    with connection.cursor() as cursor:
        start = time.perf_counter()
        cursor.execute("SET maintenance_work_mem = '512MB'")
        reembedding.make_index(meaning.serving(spaces["1 %"]))
        for table in ("embedding", "chunk", "posting", "lexemecount"):
            cursor.execute(f"VACUUM ANALYZE memoryhub_{table}")
        print(f"  index and vacuum in {time.perf_counter() - start:.0f} s", flush=True)
    return spaces


def words(rng: np.random.Generator, size: int) -> list[str]:
    picked = np.minimum(rng.zipf(1.3, size=(size, WORDS)), VOCABULARY)
    return [" ".join(f"w{n}x" for n in row) for row in picked]


def fill_space(space: object, size: int, rng: np.random.Generator, centres: np.ndarray) -> None:
    """One entry with all chunks, written in bulk: the tables are what retrieval reads, however they were filled."""
    from django.db import connection

    from memoryhub.domain import indexing, longterm, meaning
    from memoryhub.domain.access import HUB

    entry = longterm.store(space, HUB, "The first chunk.")
    by = meaning.serving(space).embedded_by
    texts = words(rng, size)
    vectors = centres[rng.integers(0, CLUSTERS, size)] + rng.normal(scale=0.9, size=(size, DIMENSIONS))
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE given (n int, text text, vector text)")
        with cursor.copy("COPY given FROM STDIN") as copy:
            for n, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
                copy.write_row((n, text, "[" + ",".join(f"{x:.4g}" for x in vector) + "]"))
        cursor.execute(
            'INSERT INTO memoryhub_chunk (space_id, entry_id, scope, position, start, "end", text, words, length) '
            "SELECT %s, %s, 'group', n + 1, 0, length(text), text, to_tsvector('english', text), %s FROM given",
            [space.pk, entry.pk, WORDS],
        )
        cursor.execute(
            "INSERT INTO memoryhub_embedding (space_id, chunk_id, embedded_by, vector) SELECT c.space_id, c.id, %s, g.vector::halfvec "
            "FROM given g JOIN memoryhub_chunk c ON c.entry_id = %s AND c.position = g.n + 1",
            [by, entry.pk],
        )
        cursor.execute("DELETE FROM memoryhub_posting WHERE space_id = %s", [space.pk])
        cursor.execute("DELETE FROM memoryhub_lexemecount WHERE space_id = %s", [space.pk])
        cursor.execute(indexing.INSERT_POSTINGS, [space.pk, entry.pk])
        cursor.execute(indexing.COUNT_LEXEMES, {"space": space.pk, "entry": entry.pk, "sign": 1})
        cursor.execute(
            "UPDATE memoryhub_chunkcount SET chunks = %s, lexemes = %s WHERE space_id = %s",
            [size + 1, size * WORDS, space.pk],
        )
        cursor.execute("DROP TABLE given")


# ---- retrieval ----


def queries(space: object, count: int = 40) -> list[str]:
    """Vectors near to stored ones, as questions are near to their answers."""
    from django.db import connection

    rng = np.random.default_rng(3)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT vector::text FROM memoryhub_embedding WHERE space_id = %s ORDER BY chunk_id LIMIT %s",
            [space.pk, count],
        )
        found = [np.array([float(x) for x in row[0][1:-1].split(",")]) for row in cursor.fetchall()]
    return ["[" + ",".join(f"{x:.4g}" for x in one + rng.normal(scale=0.5, size=DIMENSIONS)) + "]" for one in found]


RAW = (
    "SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %s::halfvec({d})) FROM memoryhub_embedding WHERE space_id = {space} "
    "AND embedded_by = '{by}' ORDER BY vector::halfvec({d}) <=> %s::halfvec({d}) LIMIT 5"
)
EXACTLY = (
    "WITH d AS MATERIALIZED (SELECT chunk_id, vector::halfvec({d}) <=> %s::halfvec({d}) AS far FROM memoryhub_embedding "
    "WHERE space_id = {space} AND embedded_by = '{by}') SELECT chunk_id, 1 - far FROM d ORDER BY far LIMIT 5"
)


def retrieval_against_raw(name: str, space: object) -> None:
    from memoryhub.domain import candidates, hot, meaning, retrieval
    from memoryhub.models import ChunkCount

    embedder = meaning.serving(space)
    vectors = queries(space)
    names = {"d": embedder.dimensions, "by": embedder.embedded_by, "space": space.pk}
    is_exact = ChunkCount.objects.get(space_id=space.pk).chunks <= candidates.EXACT_UP_TO
    sql = (EXACTLY if is_exact else RAW).format(**names)
    at = iter(range(10**9))

    def raw() -> object:
        vector = vectors[next(at) % len(vectors)]
        return hot.rows(sql, [vector] if is_exact else [vector, vector])

    whole = meaning.query_vector
    meaning.query_vector = lambda embedder, text: vectors[next(at) % len(vectors)]
    asked = {"no words": "zzqq", "rare words": "w90x w700x w2500x", "common words": "w3x w40x w900x"}
    acts = {
        label: (lambda text=text: retrieval.retrieve(space, text, hot=0, threshold=-1)) for label, text in asked.items()
    }
    try:
        base, service = beside(raw, acts)
    finally:
        meaning.query_vector = whole
    shown = ", ".join(f"{label} {ms:.2f} ms ({ms / base:.2f}x)" for label, ms in service.items())
    print(f"  {name:>6} of the rows: raw {base:.2f} ms; service {shown}", flush=True)


def recall(name: str, space: object) -> None:
    from memoryhub.domain import hot, meaning, retrieval

    embedder = meaning.serving(space)
    names = {"d": embedder.dimensions, "by": embedder.embedded_by, "space": space.pk}
    vectors, whole, hits, came = queries(space), meaning.query_vector, 0, []
    try:
        for vector in vectors:
            meaning.query_vector = lambda embedder, text, vector=vector: vector
            found = retrieval.retrieve(space, "zzqq", hot=0, cold=5, threshold=-1)
            truth = {row[0] for row in hot.rows(EXACTLY.format(**names), [vector])}
            hits += len(truth & {item.id for item in found})
            came.append(len(found))
    finally:
        meaning.query_vector = whole
    print(f"  {name:>6}: recall {hits / (5 * len(vectors)):.3f}, rows {min(came)} to {max(came)}", flush=True)


def embedding() -> None:
    from memoryhub import embedders

    say("embedding a query, p50 (reported apart)")
    for name in ("wordllama", "hashing"):
        one = embedders.load(name, {})
        print(
            f"  {name}: {p50(lambda one=one: one.embed(['How long do card refunds take to show at the bank?'])):.2f} ms",
            flush=True,
        )


# ---- working memory ----

INSERT = (
    "INSERT INTO memoryhub_workingentry (space_id, agent_key, agent_name, scope, content, metadata, findings, session_id, is_pinned, "
    "created_at, expires_at) VALUES (%s, 0, '', 'raw', %s, '{}', '[]', '', false, now(), now()) RETURNING id"
)


def working_memory(space: object) -> None:
    from memoryhub.domain import hot, working
    from memoryhub.models import WorkingEntry

    say("working memory, p50")
    text = "Customer of invoice 20931 asks for the refund of 12 November; it left on the 13th by card. " * 3
    for _ in range(60):
        working.admit(space, text)
    raw, pushed = beside(lambda: hot.rows(INSERT, [0, text]), {"push": lambda: working.admit(space, text)}, 400)
    push = pushed["push"]
    WorkingEntry.objects.filter(space_id=0).delete()
    print(f"  push and trim {push:.2f} ms, a raw durable insert {raw:.2f} ms: {push / raw:.2f}x", flush=True)
    newest = p50(lambda: working.newest(space, limit=10), 1000)
    redis = redis_newest(text)
    redis_says = f"; Redis LRANGE {redis:.3f} ms: {newest / redis:.2f}x" if redis else "; no redis-server found"
    print(f"  newest 10 in {newest:.3f} ms{redis_says}", flush=True)


def redis_newest(text: str) -> float | None:
    """The same ten entries from a Redis of our own, through its Python client if there is one."""
    server = shutil.which("redis-server")
    try:
        import json

        import redis
    except ImportError:
        return None
    if server is None:
        return None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [server, "--port", str(port), "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL
    )
    try:
        time.sleep(0.5)
        client = redis.Redis(port=port)
        for n in range(50):
            client.lpush(
                "w", json.dumps({"id": n, "content": text, "metadata": {}, "created_at": "2026-11-18T10:00:00"})
            )
        return p50(lambda: [json.loads(one) for one in client.lrange("w", 0, 9)], 1000)
    finally:
        process.terminate()
        process.wait()


# ---- a large quarantine ----


def quarantine_pages(space: object, records: int) -> None:
    from django.db import connection

    from memoryhub.domain import quarantine

    with connection.cursor() as cursor:
        start = time.perf_counter()
        cursor.execute(
            'INSERT INTO "quarantine"."record" (space_id, agent_name, session_id, node_id, node_kind, scope, content, sha256, metadata, '
            "findings, codes, created_at, words) SELECT %s, 'forge', 's-' || n / 20, 'answer', 'agent', 'group', t, '', '{}', '[]', "
            "CASE WHEN n %% 500 = 0 THEN '{injection}' ELSE '{}' END::varchar[], now() - make_interval(secs => (%s - n)), "
            "to_tsvector('english', t) FROM (SELECT n, 'fact ' || n || ' about shop ' || n %% 977 || ' and ledger ' || n %% 31 AS t "
            "FROM generate_series(1, %s) n) g",
            [space.pk, records, records],
        )
        cursor.execute(
            'INSERT INTO "quarantine"."state" (space_id, record_id, state, is_newest, reason, created_at, actor_kind, actor_name) '
            "SELECT space_id, id, CASE WHEN codes = '{}' THEN 'admitted' ELSE 'held' END, true, '', created_at, 'hub', 'hub' "
            'FROM "quarantine"."record" WHERE space_id = %s',
            [space.pk],
        )
        cursor.execute('VACUUM ANALYZE "quarantine"."record"')
        cursor.execute('VACUUM ANALYZE "quarantine"."state"')
    say(f"{records:,} quarantine records (made in {time.perf_counter() - start:.0f} s), p50 of a page's list")
    looks = {
        "newest": {}, "held": {"state": "held"}, "discarded": {"state": "discarded"}, "a finding": {"finding": "injection"},
        "words": {"words": "shop 431"}, "rare words": {"words": "fact 77777"}, "a session": {"session": "s-1234"},
    }  # fmt: skip
    for name, filters in looks.items():
        print(
            f"  {name}: {p50(lambda f=filters: quarantine.with_states(quarantine.find(space, **f)[:31]), 20):.1f} ms",
            flush=True,
        )
    print(f"  what the gate did today: {p50(lambda: quarantine.today(space), 5):.1f} ms", flush=True)
    print(f"  how many wait: {p50(lambda: quarantine.waiting(space), 5):.1f} ms", flush=True)


if __name__ == "__main__":
    sys.exit(main())
