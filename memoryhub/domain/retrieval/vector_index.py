"""The vector indexes of large spaces: one for each space and embedder, over those vectors alone that have been let in.

What other spaces hold is neither walked through nor weighed. Whatever stores a vector looks at every index, for 1 µs each: where
`MOST_OWN` spaces have one, the others share one of their embedder.

To enter it costs more than all the rest of keeping a text, and spaces that are not large are searched without it. So nothing
enters as it is stored: the background process lets in what large spaces have. A search looks through the index and, one by
one, at what still stands outside, so it misses nothing that is new.

The embedder's name, its dimensions, the space and the limits stand in the SQL text: a prepared plan could not use the partial
index otherwise, nor know how small the space is. What is looked at one by one is fenced off (OFFSET 0).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from struct import Struct
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet

from memoryhub.db import locks, statements
from memoryhub.db.cache import Cache
from memoryhub.domain import jobs
from memoryhub.domain.retrieval.embedder import serving_embedder
from memoryhub.domain.retrieval.index import NO_SPACE, Changed, Query, Readers, fits_in_memory
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import ChunkCount, Embedding, Space

MAX_EXACT = 2000  # vectors of one space, whatever their length; above, the index is quicker and right enough
BATCH = 200  # rows that are let in at once, so that nobody waits for them long

# What is in a shared index, and what is in a space's own: each says that the vector was let in, in words that PostgreSQL does not
# prove from the other's. Else it may take the shared one where both stand, for it believes that to be cheaper.
IN_SHARED, IN_OWN = "in_index", "in_index::int = 1"
DISTANCE = "vector::halfvec({d}) <=> %(vector)s::halfvec({d})"
OF_SPACE = "FROM memoryhub_embedding WHERE space_id = {space} AND embedded_by = '{by}' AND {readable}"
ONE_BY_ONE = f"SELECT chunk_id, {DISTANCE} AS distance {OF_SPACE}"
EXACT = (
    f"SELECT chunk_id, 1 - distance AS cosine FROM ({ONE_BY_ONE} OFFSET 0) each_one ORDER BY distance LIMIT {{limit}}"  # noqa: S608
)
BY_INDEX = f"""
SELECT chunk_id, 1 - distance AS cosine FROM (
    (SELECT chunk_id, {DISTANCE} AS distance {OF_SPACE} AND {{inside}} ORDER BY {DISTANCE} LIMIT {{limit}})
    UNION ALL
    (SELECT * FROM ({ONE_BY_ONE} AND NOT in_index OFFSET 0) outside ORDER BY distance LIMIT {{limit}})
) nearest ORDER BY distance LIMIT {{limit}}
"""  # noqa: S608 (parts of our own)
# The nearest, and besides how near some others are: how many are of the first kind, and all ids and cosines as one value, which is
# quicker to read here. The others are lateral, or the planner scans all vectors of the space. The cosine with a text that says nothing
# is no number: nothing is like nothing.
NEAREST = f"""
SELECT s.longterm_mark, f.* FROM memoryhub_space s CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE is_nearest), string_agg(int8send(chunk_id) || float8send(coalesce(nullif(cosine, 'NaN'), 0)), '')
    FROM (
        SELECT true AS is_nearest, chunk_id, cosine FROM ({{nearest}}) nearest UNION ALL
        SELECT false, w.chunk_id, 1 - one.distance FROM unnest(%(others)s::bigint[]) AS w(chunk_id) CROSS JOIN LATERAL (
            {ONE_BY_ONE} AND chunk_id = w.chunk_id AND vector_dims(vector) = {{d}} LIMIT 1
        ) one
    ) each_one
) f WHERE s.id = {{space}}
"""  # noqa: S608 (parts of our own)
UNPACKED = Struct(">qd")
LET_IN = f"""
UPDATE memoryhub_embedding SET in_index = true WHERE space_id = %s AND id IN (
    SELECT id FROM memoryhub_embedding WHERE space_id = %s AND embedded_by = %s AND NOT in_index
    LIMIT {BATCH} FOR UPDATE SKIP LOCKED
)
"""  # noqa: S608 (a number of ours is put in)
# Of each vector index, whether it can be used; if not, whether somebody is making it at this moment.
STANDING = """
SELECT c.relname, i.indisvalid, EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'memoryhub_embedding'::regclass
"""
# How many neighbours are weighed for each vector that enters. With pgvector's 64 a search has to look at twice as many
# (`hnsw.ef_search` 60 in place of 30) to find as much, and the index takes two thirds of the time to make.
EF_CONSTRUCTION = 128
MOST_OWN = 100  # spaces with an index of their own
OWN = "embedding_own_"
WORK = "memoryhub.vector_index"  # of two on this table, whatever the embedder, PostgreSQL would end one as a deadlock
CHECKED_EACH = 30  # seconds
standing_indexes: Cache[str] = Cache(
    "vector indexes", key="index names", max_items=1000, invalidated_by="half a minute; `forget_vector_index` in this process",
    saves="a look into PostgreSQL's catalogue for each query",
)  # fmt: skip


def cosines(
    space: int, mark: int, chunks: int, query: Query, readers: Readers, limit: int, others: list[int]
) -> dict[int, float]:
    """The cosines of so many of the nearest chunks and of these others, under the mark of the space; else `Changed`."""
    inside = index_used(space, chunks, query.dimensions, query.embedder) if query.embedder else ""
    now, nearest, packed = _read_cosines(space, query, readers, limit, others, inside)
    if inside and nearest < limit:
        # The index gives up where next to none of those that it comes upon are meant.
        now, nearest, packed = _read_cosines(space, query, readers, limit, others, "")
    if now != mark:
        raise Changed
    return dict(UNPACKED.iter_unpack(packed or b""))


def _read_cosines(
    space: int, query: Query, readers: Readers, limit: int, others: list[int], inside: str
) -> tuple[Any, ...]:
    """The mark of the space, how many of the nearest there are, and packed those and the others."""
    sql = _cosines_sql(space, query.embedded_by, query.dimensions, readers.condition, limit, inside)
    rows = statements.rows(sql, {"vector": query.vector, "others": statements.as_numbers(others)}, binary=True)
    return rows[0] if rows else (NO_SPACE, 0, b"")


def nearest_by_index(space: Space, embedder: Embedder, limit: int) -> str:
    """A query for the ids and cosines of the chunks nearest to `%(vector)s`; empty where the index is not used."""
    inside = index_used(space.pk, chunk_count(space), embedder.dimensions, embedder)
    if not inside:
        return ""
    names = {"space": int(space.pk), "by": embedder.embedded_by, "d": int(embedder.dimensions)}
    return BY_INDEX.format(readable="true", inside=inside, limit=int(limit), **names)


@lru_cache(maxsize=1024)
def _cosines_sql(space: int, by: str, dimensions: int, readable: str, limit: int, inside: str) -> str:
    names = {"space": int(space), "by": by, "d": int(dimensions), "readable": readable, "limit": int(limit)}
    return NEAREST.format(nearest=(BY_INDEX if inside else EXACT).format(inside=inside, **names), **names)


def is_large(chunks: int, dimensions: int) -> bool:
    """Whether the index is quicker than looking at every vector of a space with so many."""
    return chunks > MAX_EXACT and not fits_in_memory(chunks, dimensions)


def index_used(space: int, chunks: int, dimensions: int, embedder: Embedder) -> str:
    """What is in the index by which such a space is searched, as `inside`; empty where it is not worth it, or there is none."""
    return standing_index(space, embedder) if is_large(chunks, dimensions) else ""


def standing_index(space: int, embedder: Embedder) -> str:
    """What is in the index of a space's vectors that can be used; empty without one. Each process asks again after half a minute."""
    names, half_minute = index_names(space, embedder.embedded_by), int(time.monotonic() // CHECKED_EACH)
    found = standing_indexes.get(names, half_minute)
    if found is None:
        standing = _standing()
        own, shared = (standing.get(name, MISSING).is_valid for name in names)
        found = IN_OWN if own else IN_SHARED if shared else ""
        standing_indexes.put(names, found, half_minute)
    return found


def forget_vector_index() -> None:
    standing_indexes.clear()


class State(NamedTuple):
    """Whether an index can be used, and whether somebody is making it."""

    is_valid: bool
    is_made: bool


MISSING = State(is_valid=False, is_made=False)


@lru_cache(maxsize=1024)
def index_names(space: int, embedded_by: str) -> tuple[str, str]:
    """The names of the indexes that a space's vectors may be in: its own, and the shared one; PostgreSQL cuts names at 63 bytes."""
    by = f"{sha256(embedded_by.encode()).hexdigest()[:16]}_{EF_CONSTRUCTION}"
    return f"{OWN}{int(space)}_{by}", f"embedding_near_{by}"


def _standing() -> dict[str, State]:
    return {name: State(*state) for name, *state in statements.rows(STANDING)}


@jobs.periodic("vector_index.let_in", every=timedelta(minutes=1))
def let_in_all() -> int:
    """Lets in what large spaces have stored since the last time."""
    large, asked = _spaces_above(MAX_EXACT), []
    for space in large:
        with suppress(EmbedderUnavailable):
            asked.append((space, serving_embedder(space)))
    # First: a process that searches learns within half a minute of an index that the last run made, and needs the shared one till then.
    drop_needless_indexes(asked if len(asked) == len(large) else ())
    return add_to_vector_index(*asked)


def _spaces_above(chunks: int) -> QuerySet[Space]:
    """The spaces with more chunks than these."""
    return Space.objects.filter(pk__in=ChunkCount.objects.filter(chunks__gt=chunks).values("space_id"))


def add_to_vector_index(*asked: tuple[Space, Embedder]) -> int:
    """Lets the vectors of spaces that are large into an index; where there is none it is made of them at once, which takes a tenth
    of the time that they would need to enter one by one."""
    large = [(space, one) for space, one in asked if is_large(chunk_count(space), one.dimensions)]
    entered = 0
    for space, embedder in large:
        while batch := _let_some_in(space, embedder):
            entered += batch
        make_vector_index(space, embedder)
    return entered


def _let_some_in(space: Space, embedder: Embedder) -> int:
    with connection.cursor() as cursor:
        cursor.execute(LET_IN, [space.pk, space.pk, embedder.embedded_by])
        return cursor.rowcount


def chunk_count(space: Space) -> int:
    return ChunkCount.objects.within(space).values_list("chunks", flat=True).first() or 0


def make_vector_index(space: Space, embedder: Embedder) -> None:
    """Makes the index of a space unless it stands; nobody waits for it, and without it everything is looked at one by one, or by the
    index that is shared."""
    if not _index_to_make(space, embedder):
        return
    with locks.try_exclusive(WORK) as is_first, connection.cursor() as cursor:
        named = is_first and _index_to_make(space, embedder)
        if not named:  # somebody is at it, or just was; the next run looks again
            return
        by, dimensions = embedder.embedded_by, int(embedder.dimensions)
        inside = f"space_id = {int(space.pk)} AND {IN_OWN}" if named.startswith(OWN) else IN_SHARED
        _drop(cursor, [named])  # of a process that ended while it made it
        cursor.execute(
            f'CREATE INDEX {_how()}"{named}" ON memoryhub_embedding USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops) '
            f"WITH (ef_construction = {EF_CONSTRUCTION}) WHERE embedded_by = '{by}' AND {inside}"
        )
    forget_vector_index()


def _index_to_make(space: Space, embedder: Embedder) -> str:
    """The name of the index that the space lacks: none while somebody makes it."""
    own, shared = index_names(space.pk, embedder.embedded_by)
    standing = _standing()
    has_room = sum(name.startswith(OWN) and state.is_valid for name, state in standing.items()) < MOST_OWN
    wanted = own if has_room else shared
    return "" if any(any(standing.get(name, MISSING)) for name in {own, wanted}) else wanted


def _how() -> str:
    return "" if connection.in_atomic_block else "CONCURRENTLY "


def _drop(cursor: Any, names: Iterable[str]) -> None:
    for named in names:
        cursor.execute(f'DROP INDEX {_how()}IF EXISTS "{named}"')


def drop_vector_index(space: Space, embedded_by: str) -> None:
    """Drops the index of an embedder of which the space has no vectors any more, and what others share where none has; where one
    makes some again, it is made again."""
    own, shared = index_names(space.pk, embedded_by)
    left = Embedding.objects.filter(embedded_by=embedded_by)
    with locks.in_turn(WORK), connection.cursor() as cursor:
        if left.filter(space_id=space.pk).exists():
            return
        _drop(cursor, [own] if left.exists() else [own, shared])
    forget_vector_index()


def drop_needless_indexes(large: Sequence[tuple[Space, Embedder]]) -> None:
    """Drops the indexes of spaces that are gone or small by now, and the shared ones as soon as each of these large spaces has its own."""
    standing = {name: state.is_valid for name, state in _standing().items()}
    # Half of what makes one: a space around the limit would make and drop its index by turns.
    used = set(_spaces_above(MAX_EXACT // 2).values_list("pk", flat=True))
    needless = {name for name in standing if name.startswith(OWN) and int(name.split("_")[2]) not in used}
    names = [
        index_names(space.pk, one.embedded_by) for space, one in large if is_large(chunk_count(space), one.dimensions)
    ]
    if all(standing.get(own) for own, _ in names):
        needless |= {
            one for _, shared in names for one in (shared, shared.rpartition("_")[0])
        }  # the latter by older versions
    needless &= standing.keys()
    if needless:
        with locks.try_exclusive(WORK) as is_first, connection.cursor() as cursor:
            _drop(cursor, needless if is_first else ())
        forget_vector_index()
