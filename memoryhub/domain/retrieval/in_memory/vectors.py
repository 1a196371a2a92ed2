"""The vectors of a space, kept in this process: a look at ten thousand costs less here than a question to the database.

It is exact, so nothing is missed that an index may miss. Nothing kept is ever taken on trust: it is of one `longterm_mark` of
its space, which whatever changes chunks changes in the same transaction, and which the database is asked for with every
question. What stands in a row never changes without a new number, so after a change only new numbers are read.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memoryhub import embedders
from memoryhub.db import cache, statements
from memoryhub.domain.retrieval.readers import GROUP, Readers

MOST_OF_ONE = 12 << 20  # bytes of a space, 12,000 vectors of 256 dimensions; above, the embedder's index is quicker
MOST = 48 << 20  # bytes in one process
KEEPS_ITS_PLACE = 60.0  # seconds after the last query, or spaces that do not fit together push each other out each time
BESIDE = 24  # bytes that are kept of a vector beside its own numbers

# The numbers of all rows, and what stands in those above the known ones. The file in which the table lies is another one after
# a restore: then a number may mean another row.
READ = f"""
SELECT s.longterm_mark, pg_relation_filenode('memoryhub_embedding'), now.numbers, new.numbers, new.ids, new.owners, new.vectors
FROM memoryhub_space s CROSS JOIN LATERAL (
    SELECT string_agg(int8send(id), '') AS numbers FROM memoryhub_embedding WHERE space_id = {{space}} AND embedded_by = '{{by}}'
) now CROSS JOIN LATERAL (
    SELECT string_agg(int8send(id), '') AS numbers, string_agg(int8send(chunk_id), '') AS ids,
        string_agg(int8send(coalesce(agent_id, {GROUP})), '') AS owners, string_agg(halfvec_send(vector), '') AS vectors
    FROM memoryhub_embedding WHERE space_id = {{space}} AND embedded_by = '{{by}}' AND id > %(above)s
) new WHERE s.id = {{space}}
"""  # noqa: S608 (a number of ours is put in)
# Those of some chunks alone.
READ_SOME = """
SELECT s.longterm_mark, f.chunk_id, f.vector FROM memoryhub_space s LEFT JOIN LATERAL (
    SELECT w.chunk_id, halfvec_send(e.vector) AS vector FROM unnest(%(chunks)s::bigint[]) AS w(chunk_id) CROSS JOIN LATERAL (
        SELECT vector FROM memoryhub_embedding
        WHERE space_id = {space} AND embedded_by = '{by}' AND chunk_id = w.chunk_id AND vector_dims(vector) = {d} LIMIT 1
    ) e
) f ON true WHERE s.id = {space}
"""


class Key(NamedTuple):
    """Which vectors are meant: of a space, by an embedder, so long."""

    space: int
    embedded_by: str
    dimensions: int

    @property
    def names(self) -> dict[str, object]:
        return {"space": int(self.space), "by": self.embedded_by, "d": int(self.dimensions)}


@dataclass(frozen=True)
class Vectors:
    """A space's vectors under one embedder as they were under a mark: in the order of their chunks, each of length one."""

    mark: int
    lies_in: int
    numbers: np.ndarray
    ids: np.ndarray
    owners: np.ndarray
    rows: np.ndarray

    @property
    def bytes(self) -> int:
        return self.numbers.nbytes + self.ids.nbytes + self.owners.nbytes + self.rows.nbytes

    @property
    def newest(self) -> int:
        return int(self.numbers.max(initial=0))

    @cached_property
    def is_shared(self) -> bool:
        """Whether all of it is the group's, as it mostly is."""
        return bool((self.owners == GROUP).all())

    def cosines(self, query: statements.Half, mine: Readers, wanted: int, others: Sequence[int]) -> dict[int, float]:
        """The cosines of so many of the nearest as are wanted and may be read, and of these others."""
        cosines = self.rows @ query.unit()
        found = self.nearest(cosines, mine, wanted)
        if others:
            found = np.concatenate([found, places(self.ids, np.array(others, np.int64))])
        return dict(zip(self.ids[found].tolist(), cosines[found].tolist(), strict=True))

    def nearest(self, cosines: np.ndarray, mine: Readers, wanted: int) -> np.ndarray:
        if self.is_shared and mine.reads_group:
            return best(cosines, wanted)
        readable = np.flatnonzero(mine.among(self.owners))
        return readable[best(cosines[readable], wanted)]

    def at(self, chosen: np.ndarray) -> Vectors:
        """Those in these places alone."""
        return Vectors(self.mark, self.lies_in, *(one[chosen] for one in self.columns()))

    def and_these(self, new: Vectors) -> Vectors:
        """Together, as it is under the mark of the new."""
        both = [np.concatenate(pair) for pair in zip(self.columns(), new.columns(), strict=True)]
        return Vectors(new.mark, new.lies_in, *both).in_order()

    def columns(self) -> tuple[np.ndarray, ...]:
        return self.numbers, self.ids, self.owners, self.rows

    def in_order(self) -> Vectors:
        return self if (self.ids[:-1] < self.ids[1:]).all() else self.at(self.ids.argsort())


def places(among: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Where in an ordered list these stand; what is not in it stands nowhere."""
    at = np.searchsorted(among, asked)
    at[at == len(among)] = 0
    return at[among[at] == asked] if len(among) else at[:0]


def best(cosines: np.ndarray, wanted: int) -> np.ndarray:
    """Where the largest are, in no order."""
    if len(cosines) <= wanted:
        return np.arange(len(cosines))
    return np.argpartition(cosines, -wanted)[-wanted:] if wanted else np.arange(0)


@dataclass(slots=True)
class Kept:
    """What this process has read, the least lately asked for first."""

    held: OrderedDict[Key, Vectors] = field(default_factory=OrderedDict)
    asked_at: dict[Key, float] = field(default_factory=dict)

    def get(self, key: Key) -> Vectors | None:
        found = self.held.get(key)
        if found is not None:
            self.held.move_to_end(key)
            self.asked_at[key] = time.monotonic()
        return found

    def put(self, key: Key, vectors: Vectors) -> None:
        self.held[key] = vectors
        self.asked_at[key] = time.monotonic()

    def has_room(self, key: Key, size: int) -> bool:
        """Whether so many bytes fit in; what nobody has asked for lately makes room for them."""
        taken = size + sum(one.bytes for other, one in self.held.items() if other != key)
        for other, one in list(self.held.items()):
            if taken <= MOST or time.monotonic() - self.asked_at[other] < KEEPS_ITS_PLACE:
                break
            if other != key:
                self.drop(other)
                taken -= one.bytes
        return taken <= MOST

    def drop(self, key: Key) -> None:
        self.held.pop(key, None)
        self.asked_at.pop(key, None)

    def clear(self) -> None:
        self.held.clear()
        self.asked_at.clear()


kept = Kept()


def are_few(chunks: int, dimensions: int) -> bool:
    """Whether a space with so many chunks is one whose vectors are kept."""
    return size_of(chunks, dimensions) <= MOST_OF_ONE


def size_of(chunks: int, dimensions: int) -> int:
    return chunks * (4 * dimensions + BESIDE)


def of(key: Key, mark: int, chunks: int) -> Vectors | None:
    """The vectors as they are under this mark, or a later one; None where this process has no room for so many."""
    known = kept.get(key)
    if known is not None and known.mark == mark:
        return known
    if not kept.has_room(key, size_of(chunks, key.dimensions)):
        kept.drop(key)
        return None
    found = read(key, known)
    if found is not None:
        kept.put(key, found)
    return found


def read(key: Key, known: Vectors | None) -> Vectors | None:
    """The vectors of now, those that are known taken over; None where they are not all of one kind."""
    above = known.newest if known is not None else 0
    sql = READ.format(**key.names)
    for mark, lies_in, *packed, halves in statements.rows(sql, {"above": above}, binary=True):
        now, numbers, ids, owners = (whole_numbers(one) for one in packed)
        rows = unpacked(halves or b"", len(numbers), key.dimensions)
        if rows is None:
            return None
        new = Vectors(mark, lies_in, numbers, ids, owners, rows)
        if known is None or not above:
            return new.in_order()
        return grown(known, new, now) or read(key, None)
    return None


def grown(known: Vectors, new: Vectors, now: np.ndarray) -> Vectors | None:
    """What is known, without what is gone, and what is new; None where something old is missing among what is known."""
    order = known.numbers.argsort()
    stays = np.sort(order[places(known.numbers[order], now)])
    if known.lies_in != new.lies_in or len(stays) + len(new.numbers) < len(now):
        return None
    if len(stays) == len(known.numbers) and not len(new.numbers):
        return Vectors(new.mark, new.lies_in, *known.columns())
    return known.at(stays).and_these(new)


def whole_numbers(packed: bytes | None) -> np.ndarray:
    return np.frombuffer(packed or b"", ">i8").astype(np.int64)


def unpacked(packed: bytes, count: int, dimensions: int) -> np.ndarray | None:
    """Vectors as pgvector sends them: each after two numbers, of which the first says how long it is."""
    halves = np.frombuffer(packed, ">u2")
    if len(halves) != count * (dimensions + 2) or (halves[:: dimensions + 2] != dimensions).any():
        return None
    return embedders.unit(halves.astype("u2").view("f2").reshape(count, dimensions + 2)[:, 2:])


# ---- of spaces that are too large: the vectors of what words brought up lately

some_kept: cache.Kept[np.ndarray] = cache.Kept(most=8 << 20, weighs=lambda vector: vector.nbytes)


def some(key: Key, mark: int, chunks: list[int], *, keeps: bool) -> tuple[int, dict[int, np.ndarray]]:
    """The vectors of these chunks, as far as they have any, and the mark that they hold under."""
    if not keeps:
        return read_some(key, chunks)
    return some_kept.of(key, mark, chunks, lambda missing: read_some(key, missing))


def read_some(key: Key, chunks: list[int]) -> tuple[int, dict[int, np.ndarray]]:
    rows = statements.rows(READ_SOME.format(**key.names), {"chunks": chunks}, binary=True)
    found = {chunk: statements.Half(vector).unit() for _, chunk, vector in rows if chunk is not None}
    return cache.mark_in(rows), found


def cosines_of(some: dict[int, np.ndarray], query: statements.Half) -> dict[int, float]:
    return dict(zip(some, (np.stack(list(some.values())) @ query.unit()).tolist(), strict=True)) if some else {}
