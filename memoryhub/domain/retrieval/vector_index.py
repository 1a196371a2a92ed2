"""The vector index of large spaces: each embedder's own, over those vectors alone that have been let in.

To enter it costs more than all the rest of keeping a text, and spaces that are not large are searched without it. So nothing
enters as it is stored: the background process lets in what large spaces have. A search looks through the index and, one by
one, at what still stands outside, so it misses nothing that is new.

The embedder's name, its dimensions, the space and the limits stand in the SQL text: a prepared plan could not use the partial
index otherwise, nor know how small the space is. What is looked at one by one is fenced off (OFFSET 0).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any

from django.db import connection

from memoryhub.db import locks, statements
from memoryhub.db.cache import Cache
from memoryhub.domain import jobs
from memoryhub.domain.retrieval.embedder import serving_embedder
from memoryhub.domain.retrieval.index import Changed, Query, Readers, fits_in_memory, mark_in
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import ChunkCount, Embedding, Space

MAX_EXACT = 2000  # vectors of one space, whatever their length; above, the index is quicker and right enough
BATCH = 200  # rows that are let in at once, so that nobody waits for them long

DISTANCE = "vector::halfvec({d}) <=> %(vector)s::halfvec({d})"
OF_SPACE = "FROM memoryhub_embedding WHERE space_id = {space} AND embedded_by = '{by}' AND {readable}"
ONE_BY_ONE = f"SELECT chunk_id, {DISTANCE} AS distance {OF_SPACE}"
EXACT = (
    f"SELECT chunk_id, 1 - distance AS cosine FROM ({ONE_BY_ONE} OFFSET 0) each_one ORDER BY distance LIMIT {{limit}}"  # noqa: S608
)
BY_INDEX = f"""
SELECT chunk_id, 1 - distance AS cosine FROM (
    (SELECT chunk_id, {DISTANCE} AS distance {OF_SPACE} AND in_index ORDER BY {DISTANCE} LIMIT {{limit}})
    UNION ALL
    (SELECT * FROM ({ONE_BY_ONE} AND NOT in_index OFFSET 0) outside ORDER BY distance LIMIT {{limit}})
) nearest ORDER BY distance LIMIT {{limit}}
"""  # noqa: S608 (parts of our own)
# The nearest, and besides how near some others are. Those are lateral, or the planner scans all vectors of the space.
NEAREST = f"""
WITH nearest AS MATERIALIZED ({{nearest}})
SELECT s.longterm_mark, f.is_nearest, f.chunk_id, f.cosine FROM memoryhub_space s LEFT JOIN (
    SELECT true AS is_nearest, chunk_id, cosine FROM nearest UNION ALL
    SELECT false, w.chunk_id, 1 - one.distance FROM unnest(%(others)s::bigint[]) AS w(chunk_id) CROSS JOIN LATERAL (
        {ONE_BY_ONE} AND chunk_id = w.chunk_id AND vector_dims(vector) = {{d}} LIMIT 1
    ) one
) f ON true WHERE s.id = {{space}}
"""  # noqa: S608 (parts of our own)
LET_IN = f"""
UPDATE memoryhub_embedding SET in_index = true WHERE space_id = %s AND id IN (
    SELECT id FROM memoryhub_embedding WHERE space_id = %s AND embedded_by = %s AND NOT in_index
    LIMIT {BATCH} FOR UPDATE SKIP LOCKED
)
"""  # noqa: S608 (a number of ours is put in)
# Of each that stands by one of these names, whether it can be used; if not, whether somebody is making it at this moment.
STATE = """
SELECT c.relname, i.indisvalid, EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = ANY(%s)
"""
# How many neighbours are weighed for each vector that enters. With pgvector's 64 a search has to look at twice as many
# (`hnsw.ef_search` 60 in place of 30) to find as much, and the index takes two thirds of the time to make.
EF_CONSTRUCTION = 128
WORK = "memoryhub.vector_index"  # of two on this table, whatever the embedder, PostgreSQL would end one as a deadlock
CHECKED_EACH = 30  # seconds
has_index: Cache[bool] = Cache(
    "vector indexes", key="index name", max_items=100, invalidated_by="half a minute; `forget_vector_index` in this process",
    saves="a look into PostgreSQL's catalogue for each query",
)  # fmt: skip


def cosines(
    space: int, mark: int, chunks: int, query: Query, readers: Readers, limit: int, others: list[int]
) -> dict[int, float]:
    """The cosines of so many of the nearest chunks and of these others, under the mark of the space; else `Changed`."""
    by_index = query.embedder is not None and is_index_used(chunks, query.dimensions, query.embedder)
    rows = _read_cosines(space, query, readers, limit, others, by_index=by_index)
    if by_index and sum(bool(is_nearest) for _, is_nearest, *_ in rows) < limit:
        # The index gives up where next to none of those that it comes upon are meant.
        rows = _read_cosines(space, query, readers, limit, others, by_index=False)
    if mark_in(rows) != mark:
        raise Changed
    # The cosine with a text that says nothing is no number: nothing is like nothing.
    return {chunk: 0.0 if cosine != cosine else cosine for *_, chunk, cosine in rows if cosine is not None}


def _read_cosines(
    space: int, query: Query, readers: Readers, limit: int, others: list[int], *, by_index: bool
) -> list[tuple[Any, ...]]:
    sql = _cosines_sql(space, query.embedded_by, query.dimensions, readers.condition, limit, by_index)
    return statements.rows(sql, {"vector": query.vector, "others": statements.as_numbers(others)}, binary=True)


def nearest_by_index(space: Space, embedder: Embedder, limit: int) -> str:
    """A query for the ids and cosines of the chunks nearest to `%(vector)s`; empty where the index is not used."""
    if not is_index_used(chunk_count(space), embedder.dimensions, embedder):
        return ""
    names = {"space": int(space.pk), "by": embedder.embedded_by, "d": int(embedder.dimensions)}
    return BY_INDEX.format(readable="true", limit=int(limit), **names)


@lru_cache(maxsize=1024)
def _cosines_sql(space: int, by: str, dimensions: int, readable: str, limit: int, by_index: bool) -> str:
    names = {"space": int(space), "by": by, "d": int(dimensions), "readable": readable, "limit": int(limit)}
    return NEAREST.format(nearest=(BY_INDEX if by_index else EXACT).format(**names), **names)


def is_large(chunks: int, dimensions: int) -> bool:
    """Whether the index is quicker than looking at every vector of a space with so many."""
    return chunks > MAX_EXACT and not fits_in_memory(chunks, dimensions)


def is_index_used(chunks: int, dimensions: int, embedder: Embedder) -> bool:
    """Whether such a space is searched by the embedder's index: it is worth it, and there."""
    return is_large(chunks, dimensions) and has_vector_index(embedder)


def has_vector_index(embedder: Embedder) -> bool:
    """Whether the embedder's index is there; each process asks again after half a minute."""
    names, half_minute = index_names(embedder.embedded_by), int(time.monotonic() // CHECKED_EACH)
    found = has_index.get(names, half_minute)
    if found is None:
        found = any(is_valid for _, is_valid, _ in _states(names))
        has_index.put(names, found, half_minute)
    return found


def forget_vector_index() -> None:
    has_index.clear()


@lru_cache(maxsize=32)
def index_names(embedded_by: str) -> tuple[str, str]:
    """The name of an embedder's own index, and that of one that an older version made; PostgreSQL cuts names at 63 bytes."""
    older = f"embedding_near_{sha256(embedded_by.encode()).hexdigest()[:16]}"
    return f"{older}_{EF_CONSTRUCTION}", older


def _states(names: Iterable[str]) -> list[tuple[str, bool, bool]]:
    return [(name, is_valid, is_made) for name, is_valid, is_made in statements.rows(STATE, [list(names)])]


@jobs.periodic("vector_index.let_in", every=timedelta(minutes=1))
def let_in_all() -> int:
    """Lets in what large spaces have stored since the last time."""
    counted = ChunkCount.objects.filter(chunks__gt=MAX_EXACT).values("space_id")
    asked = []
    for space in Space.objects.filter(pk__in=counted):
        with suppress(EmbedderUnavailable):
            asked.append((space, serving_embedder(space)))
    return add_to_vector_index(*asked)


def add_to_vector_index(*asked: tuple[Space, Embedder]) -> int:
    """Lets the vectors of spaces that are large into their embedder's index; where there is none it is made of them at once,
    which takes a tenth of the time that they would need to enter one by one."""
    large = [(space, one) for space, one in asked if is_large(chunk_count(space), one.dimensions)]
    entered = 0
    for space, embedder in large:
        while batch := _let_some_in(space, embedder):
            entered += batch
    for embedder in {one.embedded_by: one for _, one in large}.values():
        make_vector_index(embedder)
    return entered


def _let_some_in(space: Space, embedder: Embedder) -> int:
    with connection.cursor() as cursor:
        cursor.execute(LET_IN, [space.pk, space.pk, embedder.embedded_by])
        return cursor.rowcount


def chunk_count(space: Space) -> int:
    return ChunkCount.objects.within(space).values_list("chunks", flat=True).first() or 0


def make_vector_index(embedder: Embedder) -> None:
    """Makes the embedder's index unless it stands; nobody waits for it, and without it everything is looked at one by one.

    One that an older version made serves until this one stands.
    """
    (named, older), by, dimensions = index_names(embedder.embedded_by), embedder.embedded_by, int(embedder.dimensions)
    if not _is_wanted(named, older):
        return
    how = "" if connection.in_atomic_block else "CONCURRENTLY "
    with locks.try_exclusive(WORK) as is_first, connection.cursor() as cursor:
        if not is_first or not _is_wanted(named, older):  # somebody is at it, or just was; the next run looks again
            return
        if not any(is_valid for _, is_valid, _ in _states([named])):
            cursor.execute(f'DROP INDEX {how}IF EXISTS "{named}"')  # of a process that ended while it made it
            cursor.execute(
                f'CREATE INDEX {how}"{named}" ON memoryhub_embedding USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops) '
                f"WITH (ef_construction = {EF_CONSTRUCTION}) WHERE embedded_by = '{by}' AND in_index"
            )
        cursor.execute(f'DROP INDEX {how}IF EXISTS "{older}"')
    forget_vector_index()


def _is_wanted(named: str, older: str) -> bool:
    """Whether there is something to do: not while somebody makes the index, nor where it stands alone."""
    found = {name: is_valid or is_made for name, is_valid, is_made in _states([named, older])}
    return not found.get(named) or older in found


def drop_vector_index(embedded_by: str) -> None:
    """Drops the index of an embedder of which no space has vectors any more; where one makes some again, it is made again."""
    how = "" if connection.in_atomic_block else "CONCURRENTLY "
    with locks.try_exclusive(WORK) as is_first, connection.cursor() as cursor:
        if not is_first or Embedding.objects.filter(embedded_by=embedded_by).exists():  # an empty one costs nothing
            return
        for named in index_names(embedded_by):
            cursor.execute(f'DROP INDEX {how}IF EXISTS "{named}"')
    forget_vector_index()
