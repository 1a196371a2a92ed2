"""How quick the layers are: `python -m tests.bench.layers [--rows 100000] [--records 0] [--keep DIR] [--only part …]`.

Starts a database of its own, fills spaces of 0.1 to 100 % of the rows, and prints each figure beside what it is measured
against, in the same run: the raw prepared statement, a raw durable insert, Redis where it is; with `--records` whole pages
over so many quarantine records and the largest space.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench import layers_filled, stub
from tests.bench.environments import Unavailable
from tests.bench.redis_server import redis
from tests.bench.served import database
from tests.bench.table import Row, finish, not_measured, row
from tests.bench.turns import Call, against, in_turns, medians, ratios

DIMENSIONS = stub.DIMENSIONS
RECALL_ROUNDS = 12  # single rounds of 37 questions find .78 to 1, by how the index came out
PARTS = ("retrieve", "recall", "embedding", "working", "pages")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.layers")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=0, help="quarantine records to look at pages with")
    parser.add_argument("--keep", type=Path, help="a directory whose database is kept and used again")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts alone")
    given = parser.parse_args(arguments)
    place = given.keep or Path(tempfile.mkdtemp(prefix="memoryhub-bench-", dir="/tmp"))
    try:
        with database(place, SECRET_KEY="b" * 40, ALLOWED_HOSTS="testserver"):
            return finish(run(given))
    finally:
        if not given.keep:
            shutil.rmtree(place, ignore_errors=True)


def run(given: argparse.Namespace) -> list[Row]:
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
        rows += working_memory(spaces["1 %"])
    if "pages" in given.only and given.records:
        from tests.bench import layers_pages

        layers_filled.quarantine(spaces["100 %"], given.records)
        rows += layers_pages.run(spaces["100 %"], given.records)
    return rows


# ---- retrieval ----


def queries(space: object, count: int = 37, seed: int = 3) -> list[Any]:
    """Vectors near to stored ones, as questions are near to their answers; in binary, as the hub and the raw statement take them.

    So many that all that is measured in turns of ten meets each of them, and not always the same.
    """
    from django.db import connection

    from memoryhub.db import statements

    rng = np.random.default_rng(seed)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT vector::text FROM memoryhub_embedding WHERE space_id = %s ORDER BY chunk_id LIMIT %s",
            [space.pk, count],
        )
        found = [np.array([float(x) for x in row[0][1:-1].split(",")]) for row in cursor.fetchall()]
    return [statements.Half.of(one + rng.normal(scale=0.025, size=DIMENSIONS)) for one in found]


RAW = (
    "SELECT chunk_id, 1 - (vector::halfvec({d}) <=> %s::halfvec({d})) FROM memoryhub_embedding WHERE space_id = {space} "
    "AND embedded_by = '{by}' AND {inside} ORDER BY vector::halfvec({d}) <=> %s::halfvec({d}) LIMIT 5"
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
    names = {"d": embedder.dimensions, "by": embedder.embedded_by, "space": space.pk, "inside": vector_index.IN_OWN}
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
        kept = in_turns({"raw": raw, **acts})
        anew = in_turns({"raw": raw, "rare words": for_the_first_time})
    finally:
        rank.query_vector = whole
    what, warm = f"`retrieve` over {chunks_in(space):,} chunks", "vectors, postings"
    limit = 1.5 if chunks_in(space) >= 1000 else None
    return [
        *(against_raw(f"{what}, {label}", kept[label], kept["raw"], f"{warm}, texts", limit) for label in acts),
        against_raw(f"{what}, rare words, texts anew", anew["rare words"], anew["raw"], warm),
    ]


def against_raw(what: str, taken: list[float], raw: list[float], warm: str, at_most: float | None = None) -> Row:
    each, detail = ratios(taken, raw), against(taken, raw)
    return row(what, each, baseline="raw pgvector statement", unit="x", warm=warm, at_most=at_most, detail=detail)


def recall(space: object) -> Row:
    """The share of the exact search's top five that comes up, in each round with other vectors."""
    chunks = chunks_in(space)
    found = [found_of_exact(space, queries(space, seed=seed)) for seed in range(3, 3 + RECALL_ROUNDS)]
    return row(
        f"recall@5 over {chunks:,} chunks", found, baseline="exact search", warm="vectors",
        at_least=1.0 if chunks <= 2000 else 0.97,
    )  # fmt: skip


def found_of_exact(space: object, vectors: list[Any]) -> float:
    from memoryhub.db import statements
    from memoryhub.domain import retrieval

    embedder = retrieval.serving_embedder(space)
    exactly = EXACTLY.format(d=embedder.dimensions, by=embedder.embedded_by, space=space.pk)
    rank = importlib.import_module("memoryhub.domain.retrieval.rank")
    whole, hits, wanted = rank.query_vector, 0, 0
    try:
        for vector in vectors:
            rank.query_vector = lambda embedder, text, vector=vector: vector
            found = {item.id for item in retrieval.retrieve(space, "zzqq", hot=0, cold=5, threshold=-1).cold}
            truth = {row[0] for row in statements.rows(exactly, [vector])}
            hits, wanted = hits + len(truth & found), wanted + len(truth)
    finally:
        rank.query_vector = whole
    return hits / wanted


def embedding() -> list[Row]:
    """A query's vector, which the rows of `retrieve` are given."""
    from memoryhub import embedders

    rows = []
    for name in ("wordllama", "hashing"):
        one = embedders.load(name, {})
        took = medians(lambda one=one: one.embed(["How long do card refunds take to show at the bank?"]))
        rows.append(row(f"embedding a query, {name}", took, unit=" ms", warm="the model, not the query"))
    return rows


# ---- working memory ----

INSERT = (
    "INSERT INTO memoryhub_workingentry (space_id, agent_key, agent_name, scope, content, metadata, findings, session_id, is_pinned, "
    "created_at, expires_at) VALUES (%s, 0, '', 'raw', %s, '{}', '[]', '', false, now(), now()) RETURNING id"
)


def working_memory(space: Any) -> list[Row]:
    from memoryhub.db import statements
    from memoryhub.models import WorkingEntry
    from tests.outputs import admit

    text = "Customer of invoice 20931 asks for the refund of 12 November; it left on the 13th by card. " * 3
    for _ in range(60):
        admit(space, text)
    taken = in_turns({"raw": lambda: statements.rows(INSERT, [0, text]), "push": lambda: admit(space, text)}, times=100)
    WorkingEntry.objects.filter(space_id=0).delete()
    pushes = row(
        "push and trim, working memory", ratios(taken["push"], taken["raw"]), baseline="raw durable insert", unit="x",
        warm="50 entries", detail=against(taken["push"], taken["raw"]),
    )  # fmt: skip
    return [pushes, *newest_entries(space, text)]


def newest_entries(space: Any, text: str) -> list[Row]:
    """The newest ten entries, beside a list of the same in Redis."""
    from memoryhub.domain import working

    what = "newest 10 of working memory, in process"
    try:
        with redis() as clients:
            taken = in_turns({"hub": lambda: working.newest(space, limit=10), **redis_lists(clients, text)}, times=400)
    except Unavailable as why:
        alone = medians(lambda: working.newest(space, limit=10), times=200)
        return [row(what, alone, unit=" ms", warm="50 entries"), not_measured(what, "Redis LRANGE", str(why))]
    return [
        row(
            what, ratios(taken["hub"], each), baseline=f"Redis LRANGE with hiredis, by {name}", unit="x",
            warm="50 entries in both", at_most=1.4, detail=against(taken["hub"], each),
        )
        for name, each in taken.items() if name != "hub"
    ]  # fmt: skip


def redis_lists(clients: dict[str, Any], text: str) -> dict[str, Call]:
    """What reads the newest ten of fifty entries, by each way to the server."""
    client = clients["TCP"]
    client.delete("w")
    for n in range(50):
        one = {"id": n, "content": text, "metadata": {}, "created_at": "2026-11-18T10:00:00"}
        client.lpush("w", json.dumps(one))
    return {
        name: lambda client=client: [json.loads(one) for one in client.lrange("w", 0, 9)]
        for name, client in clients.items()
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
