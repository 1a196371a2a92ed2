"""How quick the layers are: `python -m tests.bench.layers [--rows 100000] [--records 0] [--beside] [--keep DIR] [--only part …]`.

Starts a database of its own, fills spaces of 0.1 to 100 % of the rows, and prints each figure beside what it is measured
against, in the same run: the raw prepared statement, a raw durable insert; with `--beside` also mem0 and Redis, in an
environment of their own; with `--records` whole pages over so many quarantine records and the largest space.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench import layers_filled, layers_mem0, stub
from tests.bench.served import database
from tests.bench.table import Row, finish, row

DIMENSIONS = stub.DIMENSIONS
NOT_BESIDE = Row(
    "search, list and add against mem0; Redis", "mem0, Redis", "", "not measured: ask for it with --beside", ""
)
PARTS = ("retrieve", "recall", "embedding", "working", "mem0", "pages")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.layers")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=0, help="quarantine records to look at pages with")
    parser.add_argument(
        "--beside", action="store_true", help="measure mem0 and Redis in the same run (made with pip in /tmp)"
    )
    parser.add_argument("--keep", type=Path, help="a directory whose database is kept and used again")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts alone")
    given = parser.parse_args(arguments)
    place = given.keep or Path(tempfile.mkdtemp(prefix="memoryhub-bench-", dir="/tmp"))
    try:
        with database(place, SECRET_KEY="b" * 40, ALLOWED_HOSTS="testserver"):
            return finish(run(given, place))
    finally:
        if not given.keep:
            shutil.rmtree(place, ignore_errors=True)


def run(given: argparse.Namespace, place: Path) -> list[Row]:
    spaces = layers_filled.longterm_spaces(given.rows)
    rows: list[Row] = []
    if "retrieve" in given.only:
        for space in spaces.values():
            rows += retrieval_against_raw(space)
    if "recall" in given.only:
        rows += [recall(space) for space in spaces.values()]
    if "embedding" in given.only:
        rows += embedding()
    if "working" in given.only:
        rows += working_memory(spaces["1 %"], given.beside)
    if "mem0" in given.only:
        largest = spaces["100 %" if given.rows <= 10_000 else "10 %"]
        rows += layers_mem0.against_mem0(largest, place) if given.beside else [NOT_BESIDE]
    if "pages" in given.only and given.records:
        from tests.bench import layers_pages

        layers_filled.quarantine(spaces["100 %"], given.records)
        rows += layers_pages.run(spaces["100 %"], given.records)
    return rows


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
    """Medians in milliseconds, in turns of ten calls each, so that a busy machine slows all of them alike."""
    acts = {"raw": raw, **others}
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for turn in range(times // 10 + 2):
        for name, act in acts.items():
            for _ in range(10):
                start = time.perf_counter()
                act()
                if turn >= 2:
                    taken[name].append(time.perf_counter() - start)
    middle = {name: statistics.median(found) * 1000 for name, found in taken.items()}
    return middle.pop("raw"), middle


# ---- retrieval ----


def queries(space: object, count: int = 37) -> list[Any]:
    """Vectors near to stored ones, as questions are near to their answers; in binary, as the hub and the raw statement take them.

    So many that all that is measured in turns of ten meets each of them, and not always the same.
    """
    from django.db import connection

    from memoryhub.db import statements

    rng = np.random.default_rng(3)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT vector::text FROM memoryhub_embedding WHERE space_id = %s ORDER BY chunk_id LIMIT %s",
            [space.pk, count],
        )
        found = [np.array([float(x) for x in row[0][1:-1].split(",")]) for row in cursor.fetchall()]
    return [statements.Half.of(one + rng.normal(scale=0.025, size=DIMENSIONS)) for one in found]


RAW = (
    "SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %s::halfvec({d})) FROM memoryhub_embedding WHERE space_id = {space} "
    "AND embedded_by = '{by}' AND in_index ORDER BY vector::halfvec({d}) <=> %s::halfvec({d}) LIMIT 5"
)
EXACTLY = (
    "WITH d AS MATERIALIZED (SELECT chunk_id, vector::halfvec({d}) <=> %s::halfvec({d}) AS far FROM memoryhub_embedding "
    "WHERE space_id = {space} AND embedded_by = '{by}') SELECT chunk_id, 1 - far FROM d ORDER BY far LIMIT 5"
)


def chunks_in(space: object) -> int:
    from memoryhub.models import ChunkCount

    return ChunkCount.objects.get(space_id=space.pk).chunks


def retrieval_against_raw(space: object) -> list[Row]:
    """`retrieve` by meaning and by words, with the texts that it gives out in memory and, once more, read anew."""
    from memoryhub.db import statements
    from memoryhub.domain import retrieval
    from memoryhub.domain.retrieval import vector_index
    from memoryhub.domain.retrieval.in_memory import texts

    embedder = retrieval.serving_embedder(space)
    vectors = queries(space)
    names = {"d": embedder.dimensions, "by": embedder.embedded_by, "space": space.pk}
    is_exact = chunks_in(space) <= vector_index.MAX_EXACT
    sql = (EXACTLY if is_exact else RAW).format(**names)
    at = iter(range(10**9))

    def raw() -> object:
        vector = vectors[next(at) % len(vectors)]
        return statements.rows(sql, [vector] if is_exact else [vector, vector], binary=True)

    rank = importlib.import_module("memoryhub.domain.retrieval.rank")
    whole = rank.query_vector
    rank.query_vector = lambda embedder, text: vectors[next(at) % len(vectors)]
    asked = {"no words": "zzqq", "rare words": "w90x w700x w2500x", "common words": "w3x w40x w900x"}
    acts = {
        label: (lambda text=text: retrieval.retrieve(space, text, hot=0, threshold=-1)) for label, text in asked.items()
    }

    def for_the_first_time() -> object:
        """Nothing is kept of the texts that it brings up."""
        texts.texts.clear()
        return acts["rare words"]()

    try:
        base, service = beside(raw, acts)
        again, new = beside(raw, {"rare words": for_the_first_time})
    finally:
        rank.query_vector = whole
    what, warm = f"`retrieve` over {chunks_in(space):,} chunks", "vectors, postings"
    limit = 1.5 if chunks_in(space) >= 1000 else None
    return [
        *(against_raw(f"{what}, {label}", ms, base, f"{warm}, texts", limit) for label, ms in service.items()),
        *(against_raw(f"{what}, {label}, texts anew", ms, again, warm) for label, ms in new.items()),
    ]


def against_raw(what: str, ms: float, raw: float, warm: str, at_most: float | None = None) -> Row:
    detail = f"{ms:.2f} ms against {raw:.2f}"
    return row(what, ms / raw, baseline="raw pgvector statement", unit="x", warm=warm, at_most=at_most, detail=detail)


def recall(space: object) -> Row:
    from memoryhub.db import statements
    from memoryhub.domain import retrieval

    embedder = retrieval.serving_embedder(space)
    names = {"d": embedder.dimensions, "by": embedder.embedded_by, "space": space.pk}
    rank = importlib.import_module("memoryhub.domain.retrieval.rank")
    vectors, whole, hits, came = queries(space), rank.query_vector, 0, []
    try:
        for vector in vectors:
            rank.query_vector = lambda embedder, text, vector=vector: vector
            found = retrieval.retrieve(space, "zzqq", hot=0, cold=5, threshold=-1).cold
            truth = {row[0] for row in statements.rows(EXACTLY.format(**names), [vector])}
            hits += len(truth & {item.id for item in found})
            came.append(len(found))
    finally:
        rank.query_vector = whole
    chunks = chunks_in(space)
    return row(
        f"recall@5 over {chunks:,} chunks", hits / (min(5, chunks) * len(vectors)), baseline="exact search", warm="vectors",
        at_least=1.0 if chunks <= 2000 else 0.97, detail=f"{min(came)} to {max(came)} rows",
    )  # fmt: skip


def embedding() -> list[Row]:
    """A query's vector, which the rows of `retrieve` are given."""
    from memoryhub import embedders

    rows = []
    for name in ("wordllama", "hashing"):
        one = embedders.load(name, {})
        took = p50(lambda one=one: one.embed(["How long do card refunds take to show at the bank?"]))
        rows.append(row(f"embedding a query, {name}", took, unit=" ms", warm="the model, not the query"))
    return rows


# ---- working memory ----

INSERT = (
    "INSERT INTO memoryhub_workingentry (space_id, agent_key, agent_name, scope, content, metadata, findings, session_id, is_pinned, "
    "created_at, expires_at) VALUES (%s, 0, '', 'raw', %s, '{}', '[]', '', false, now(), now()) RETURNING id"
)


NO_REDIS = Row("newest 10 of working memory", "Redis LRANGE", "", "not measured: there is no redis-server", "")


def working_memory(space: Any, beside_redis: bool) -> list[Row]:
    from memoryhub.db import statements
    from memoryhub.domain import working
    from memoryhub.domain.working import entries
    from memoryhub.models import WorkingEntry

    text = "Customer of invoice 20931 asks for the refund of 12 November; it left on the 13th by card. " * 3
    for _ in range(60):
        entries.admit(space, text)
    raw, pushed = beside(lambda: statements.rows(INSERT, [0, text]), {"push": lambda: entries.admit(space, text)}, 600)
    push = pushed["push"]
    WorkingEntry.objects.filter(space_id=0).delete()
    pushes = row(
        "push and trim, working memory", push / raw, baseline="raw durable insert", unit="x", warm="50 entries",
        detail=f"{push:.3f} ms against {raw:.3f}",
    )  # fmt: skip
    if not beside_redis:
        took = p50(lambda: working.newest(space, limit=10), 1000)
        return [pushes, row("newest 10 of working memory, in process", took, unit=" ms", warm="50 entries")]
    from tests.bench import beside as others

    with others.redis() as clients:
        for client in clients.values():
            client.delete("w")
            for n in range(50):
                one = {"id": n, "content": text, "metadata": {}, "created_at": "2026-11-18T10:00:00"}
                client.lpush("w", json.dumps(one))
        asked = {
            f"Redis by {name}": lambda client=client: [json.loads(one) for one in client.lrange("w", 0, 9)]
            for name, client in clients.items()
        }
        newest, redis = beside(lambda: working.newest(space, limit=10), asked, 2000)
    if not redis:
        return [pushes, NO_REDIS]
    return [
        pushes,
        *(
            row(
                "newest 10 of working memory, in process", newest / ms, baseline=f"Redis LRANGE with hiredis, by {name}",
                unit="x", warm="50 entries in both", at_most=1.4, detail=f"{newest:.3f} ms against {ms:.3f}",
            )
            for name, ms in redis.items()
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
