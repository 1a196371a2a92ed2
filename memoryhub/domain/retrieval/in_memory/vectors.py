"""The vectors of a space, which this process keeps: a look at ten thousand costs less here than a question to the database.

It is exact, so nothing is missed that an index may miss. What is kept is of one `longterm_mark` of its space. What stands in a
row never changes without a new number, so after a change only new numbers are read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memoryhub import embedders
from memoryhub.db import fragments, statements
from memoryhub.db.cache import Cache
from memoryhub.domain.retrieval.index import GROUP, Changed, Readers, vector_bytes

STAYS = 60.0  # seconds after the last query: spaces that do not fit together would push each other out each time

# The numbers of all rows, and what stands in those above the ones that are kept. The file in which the table lies is another one
# after a restore, and the incarnation of the server after a fail-over: then a number may mean another row.
READ = f"""
SELECT s.longterm_mark, pg_relation_filenode('memoryhub_embedding')::text || ' ' || {fragments.INCARNATION}, now.row_ids,
   new.row_ids, new.ids, new.owners, new.vectors
FROM memoryhub_space s CROSS JOIN LATERAL (
    SELECT string_agg(int8send(id), '') AS row_ids FROM memoryhub_embedding WHERE space_id = {{space}} AND embedded_by = '{{by}}'
) now CROSS JOIN LATERAL (
    SELECT string_agg(int8send(id), '') AS row_ids, string_agg(int8send(chunk_id), '') AS ids,
        string_agg(int8send(coalesce(agent_id, {GROUP})), '') AS owners, string_agg(halfvec_send(vector), '') AS vectors
    FROM memoryhub_embedding WHERE space_id = {{space}} AND embedded_by = '{{by}}' AND id > %(above)s
) new WHERE s.id = {{space}}
"""  # noqa: S608 (a number of ours is put in)


class Key(NamedTuple):
    """Which vectors are meant: of a space, by an embedder, so long."""

    space: int
    embedded_by: str
    dimensions: int


@dataclass(eq=False)
class Vectors:
    """A space's vectors under one embedder as they were under a mark: in the order of their chunks, each of length one."""

    mark: int
    file: str  # in which the table lies, and of which start of the server
    row_ids: np.ndarray
    ids: np.ndarray
    owners: np.ndarray
    vectors: np.ndarray
    asked_at: float = field(default_factory=time.monotonic, init=False)

    @property
    def bytes(self) -> int:
        return sum(one.nbytes for one in self.columns())

    @property
    def newest(self) -> int:
        return int(self.row_ids.max(initial=0))

    @cached_property
    def is_shared(self) -> bool:
        """Whether all of it is the group's, as it mostly is."""
        return bool((self.owners == GROUP).all())

    def cosines(self, query: statements.Half, readers: Readers, wanted: int, others: Iterable[int]) -> dict[int, float]:
        """The cosines of so many of the nearest as are wanted and may be read, and of these others."""
        cosines = self.vectors @ query.unit()
        found = np.concatenate(
            [self._nearest(cosines, readers, wanted), _places(self.ids, np.array([*others], np.int64))]
        )
        return dict(zip(self.ids[found].tolist(), cosines[found].tolist(), strict=True))

    def _nearest(self, cosines: np.ndarray, readers: Readers, wanted: int) -> np.ndarray:
        if self.is_shared and readers.reads_group:
            return _largest(cosines, wanted)
        readable = np.flatnonzero(readers.may_read(self.owners))
        return readable[_largest(cosines[readable], wanted)]

    def at(self, places: np.ndarray) -> Vectors:
        """Those in these places alone."""
        return Vectors(self.mark, self.file, *(one[places] for one in self.columns()))

    def with_new(self, new: Vectors) -> Vectors:
        """Together with others, under their mark."""
        both = [np.concatenate(pair) for pair in zip(self.columns(), new.columns(), strict=True)]
        return Vectors(new.mark, new.file, *both).in_order()

    def columns(self) -> tuple[np.ndarray, ...]:
        return self.row_ids, self.ids, self.owners, self.vectors

    def in_order(self) -> Vectors:
        return self if (self.ids[:-1] < self.ids[1:]).all() else self.at(self.ids.argsort())


vectors: Cache[Vectors] = Cache(
    "vectors", key="space, embedder, dimensions", max_bytes=48 << 20, size_of=lambda one: one.bytes,
    invalidated_by="the space's longterm_mark; then only new rows are read", saves="a scan of the space's vectors for each query",
)  # fmt: skip


def load(key: Key, mark: int, chunks: int) -> Vectors | None:
    """The vectors under the mark of the space, `Changed` where that is another one now; None without room for so many."""
    kept = vectors.get(key)
    if kept is None or kept.mark != mark:
        if not _has_room(key, vector_bytes(chunks, key.dimensions)):
            vectors.drop(key)
            return None
        kept = read(key, kept)
        if kept is None:
            return None
        vectors.put(key, kept)
        if kept.mark != mark:
            raise Changed
    kept.asked_at = time.monotonic()
    return kept


def _has_room(key: Key, size: int) -> bool:
    """Whether so many bytes fit in beside what was asked for lately; what was not makes room for them."""
    lately = time.monotonic() - STAYS
    return (
        size + sum(one.bytes for other, one in vectors.items() if other != key and one.asked_at > lately)
        <= vectors.max_bytes
    )


def read(key: Key, kept: Vectors | None) -> Vectors | None:
    """The vectors of now, those that are kept taken over; None where they are not all of one kind."""
    above = kept.newest if kept is not None else 0
    sql = READ.format(space=int(key.space), by=key.embedded_by)
    for mark, file, *packed, halves in statements.rows(sql, {"above": above}, binary=True):
        now, row_ids, ids, owners = (_whole_numbers(one) for one in packed)
        rows = unpacked(halves or b"", len(row_ids), key.dimensions)
        if rows is None:
            return None
        new = Vectors(mark, file, row_ids, ids, owners, rows)
        if kept is None or not above:
            return new.in_order()
        return _grown(kept, new, now) or read(key, None)
    return None


def _grown(kept: Vectors, new: Vectors, now: np.ndarray) -> Vectors | None:
    """What is kept without what is gone, and what is new; None where something old is missing among what is kept."""
    order = kept.row_ids.argsort()
    stays = np.sort(order[_places(kept.row_ids[order], now)])
    if kept.file != new.file or len(stays) + len(new.row_ids) < len(now):
        return None
    if len(stays) == len(kept.row_ids) and not len(new.row_ids):
        return Vectors(new.mark, new.file, *kept.columns())
    return kept.at(stays).with_new(new)


def _places(among: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Where in an ordered list these stand; what is not in it stands nowhere."""
    at = np.searchsorted(among, asked)
    at[at == len(among)] = 0
    return at[among[at] == asked] if len(among) else at[:0]


def _largest(cosines: np.ndarray, wanted: int) -> np.ndarray:
    """Where the largest are, in no order."""
    if len(cosines) <= wanted:
        return np.arange(len(cosines))
    return np.argpartition(cosines, -wanted)[-wanted:] if wanted else np.arange(0)


def _whole_numbers(packed: bytes | None) -> np.ndarray:
    return np.frombuffer(packed or b"", ">i8").astype(np.int64)


def unpacked(packed: bytes, count: int, dimensions: int) -> np.ndarray | None:
    """Vectors as pgvector sends them: each after two numbers, of which the first says how long it is."""
    halves = np.frombuffer(packed, ">u2")
    if len(halves) != count * (dimensions + 2) or (halves[:: dimensions + 2] != dimensions).any():
        return None
    return embedders.unit(halves.astype("u2").view("f2").reshape(count, dimensions + 2)[:, 2:])
