"""BM25 over the postings of a query's lexemes, which this process keeps: the database would add them up anew for every query.

Whatever changes the chunks of a space gives it another `longterm_mark` in the same transaction, and each lexeme of a changed
text another mark of its own. The database is asked for the mark of the space with every query, and what is kept counts under
these marks alone; so the postings of a lexeme outlast changes of texts without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.domain.retrieval import query_words
from memoryhub.domain.retrieval.index import MAX_LEXEMES, MIN_WEIGHT, NO_SPACE, OF_AGENTS, Changed, Readers, mark_in
from memoryhub.domain.retrieval.word_rank import K1, B, Corpus

ID_BITS = 48  # of a number that has a chunk's length above its id: one is read in three quarters of the time of two
MAX_POSTINGS = 1000  # of one lexeme, those that say most: a word that more chunks hold says next to nothing

MARK = "SELECT longterm_mark FROM memoryhub_space WHERE id = %s"
# The mark of a space, its chunks and their lexemes; of each lexeme asked for how many chunks hold it and its mark, and the
# postings of those that weigh something and are not kept here.
READ = f"""
WITH held AS MATERIALIZED (
    SELECT l.*, ln(1 + (greatest(c.chunks - l.chunks, 0) + 0.5::float8) / (greatest(l.chunks, 0) + 0.5)) AS weight
    FROM unnest(%(lexemes)s::text[]) AS asked CROSS JOIN LATERAL (
        SELECT lexeme, chunks, mark FROM memoryhub_lexemecount WHERE space_id = {{space}} AND lexeme = asked LIMIT 1
    ) l CROSS JOIN (SELECT chunks FROM memoryhub_chunkcount WHERE space_id = {{space}}) c
), asked AS MATERIALIZED (
    SELECT lexeme, chunks, mark, chunks > 0
        AND weight >= {MIN_WEIGHT} * max(weight) FILTER (WHERE chunks > 0) OVER () AS is_heavy FROM held
)
SELECT s.longterm_mark, coalesce(c.chunks, 0), coalesce(c.lexemes, 0), l.lexeme, l.chunks, l.mark, l.is_heavy, p.*
FROM memoryhub_space s LEFT JOIN memoryhub_chunkcount c ON c.space_id = s.id LEFT JOIN asked l ON true
LEFT JOIN LATERAL ({{best}}) p ON true WHERE s.id = {{space}}
"""  # noqa: S608 (parts of our own)
# With one number of occurrences the shortest chunk says most, whatever the mean length is. So of each such number that there is
# the shortest are read, in the order of the index `posting_best`: no more of them, however many chunks hold the lexeme.
BEST = f"""
(WITH RECURSIVE times AS (
    (
        SELECT count FROM memoryhub_posting WHERE l.is_heavy AND l.lexeme <> ALL(%(kept_{{part}})s::text[]) AND {{of}}
        ORDER BY {{down}} count DESC LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT p.count FROM memoryhub_posting p WHERE {{of}} AND p.count < times.count ORDER BY {{down}} p.count DESC LIMIT 1
    ) FROM times WHERE times.count IS NOT NULL
)
SELECT {{part}}, times.count, packed.* FROM times CROSS JOIN LATERAL (
    SELECT string_agg(int8send(length::bigint << {ID_BITS} | chunk_id), '') FROM (
        SELECT chunk_id, length FROM memoryhub_posting WHERE {{of}} AND count = times.count
        ORDER BY {{up}} length, chunk_id LIMIT {MAX_POSTINGS}
    ) shortest
) packed WHERE times.count IS NOT NULL)
"""  # noqa: S608 (parts of our own)

Held = tuple[int, int]  # how many chunks hold a lexeme, and its mark
Key = tuple[str, str]  # an owner, of `Readers.each`, and a lexeme
NOWHERE: Held = (0, 0)
NO_CHUNK, NOTHING = np.full(1, -1), np.zeros(1, np.complex64)


@dataclass(frozen=True, slots=True)
class Counts:
    """What a query's words are weighed by: how many chunks a space has, and how many hold each lexeme of the query."""

    mark: int
    chunks: int
    lexemes: int
    held: Mapping[str, Held]
    is_kept: bool = False  # the space may have another mark by now

    @property
    def mean_length(self) -> float:
        return self.lexemes / max(self.chunks, 1) or 1.0

    @property
    def corpus(self) -> Corpus:
        return Corpus(
            max(self.chunks, 0), self.mean_length, {lexeme: count for lexeme, (count, _) in self.held.items()}
        )


@dataclass(slots=True)
class Postings:
    """The chunks of one lexeme and one owner, in order: how often each has it, and how long each is."""

    ids: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray
    parts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    mean: float = 0.0

    def gains(self, mean: float) -> np.ndarray:
        """BM25 for a lexeme that weighs one."""
        counts, lengths = self.counts.astype(np.float32), self.lengths.astype(np.float32)
        return (K1 + 1) * counts / (counts + K1 * (1 - B + B / mean * lengths))

    def parts_at(self, mean: float) -> np.ndarray:
        """The gains as real parts and ones as imaginary parts, so that both are added up at once: what a lexeme that weighs one adds
        to BM25 and to coverage. Worked out again when the mean length of the space's chunks has changed."""
        if self.mean != mean:
            self.parts = self.gains(mean) + np.complex64(1j)
            self.mean = mean
        return self.parts

    def at(self, places: np.ndarray) -> Postings:
        """Those in these places alone."""
        return Postings(self.ids[places], self.counts[places], self.lengths[places])

    @property
    def bytes(self) -> int:
        return 20 * len(self.ids) + 200  # the parts that are made later count as well


NO_POSTINGS = Postings(np.zeros(0, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.uint16))

space_counts: Cache[tuple[int, int, int]] = Cache(
    "chunk counts", key="space", max_items=1000, invalidated_by="the space's longterm_mark", saves="a join for each query",
)  # fmt: skip
lexeme_counts: Cache[Held] = Cache(
    "lexeme counts", key="space, lexeme", max_items=50_000, invalidated_by="the space's longterm_mark",
    saves="a look-up for each word of a query",
)  # fmt: skip
postings: Cache[Postings] = Cache(
    "postings", key="space, owner, lexeme", max_bytes=24 << 20, size_of=lambda one: one.bytes,
    invalidated_by="the lexeme's mark", saves="reading and adding up to 1,000 rows for each word of a query",
)  # fmt: skip


def count(space: int, readers: Readers, query: str) -> Counts:
    """The counts as this process has them, which `check` makes sure of; else those of now."""
    lexemes = query_words.lexemes_of(query)[:MAX_LEXEMES]
    return _kept_counts(space, lexemes) or _read_counts(space, readers, lexemes)


def check(space: int, counts: Counts, mark: int | None = None) -> None:
    """Raises `Changed` unless these are the counts of now, or of the mark that the call has read already."""
    if counts.is_kept and counts.mark != mark and mark_in(statements.rows(MARK, [space])) != counts.mark:
        raise Changed


def forget(space: int) -> None:
    """The space has another mark now; postings are compared by their own marks."""
    space_counts.drop(space)


def _kept_counts(space: int, lexemes: list[str]) -> Counts | None:
    """The counts as they were when the space was last read, if this process has all of them."""
    numbers = space_counts.get(space)
    if numbers is None:
        return None
    held = lexeme_counts.get_each(space, lexemes, numbers[0])
    return Counts(*numbers, held, is_kept=True) if len(held) == len(lexemes) else None


def _read_counts(space: int, readers: Readers, lexemes: list[str]) -> Counts:
    """The counts of now; the postings that are not kept come along."""
    now, _ = _read(space, readers, lexemes, {key for key in _keys(readers, lexemes) if postings.get((space, *key))})
    space_counts.put(space, (now.mark, now.chunks, now.lexemes))
    for lexeme, held in now.held.items():
        lexeme_counts.put((space, lexeme), held, now.mark)
    return now


def _keys(readers: Readers, lexemes: Iterable[str]) -> list[Key]:
    return [(owner, lexeme) for owner in readers.each for lexeme in lexemes]


def _read(space: int, readers: Readers, lexemes: list[str], kept: Set[Key]) -> tuple[Counts, dict[Key, Postings]]:
    """The counts of now, and the postings of those lexemes that weigh something and are not kept."""
    asked = {"lexemes": statements.as_array(lexemes)}
    for part, owner in enumerate(readers.each):
        asked[f"kept_{part}"] = statements.as_array(one for one in lexemes if (owner, one) in kept)
    rows = statements.rows(sql(space, readers), asked, binary=True)
    mark, chunks, total, *_ = rows[0] if rows else (NO_SPACE, 0, 0)
    held = {lexeme: (max(count, 0), own) for _, _, _, lexeme, count, own, *_ in rows if lexeme is not None}
    now = Counts(mark, chunks, total, {one: held.get(one, NOWHERE) for one in lexemes})
    heavy = {lexeme for *_, lexeme, _, _, is_heavy, _, _, _ in rows if is_heavy}
    parts: dict[Key, list[tuple[int, bytes]]] = {key: [] for key in _keys(readers, heavy) if key not in kept}
    for *_, lexeme, _, _, _, part, times, packed in rows:
        if packed is not None:
            parts[readers.each[part], lexeme].append((times, packed))
    found = {key: _joined(some, now.mean_length) for key, some in parts.items()}
    for (owner, lexeme), one in found.items():
        postings.put((space, owner, lexeme), one, held[lexeme][1])
    return now, found


@lru_cache(maxsize=256)
def sql(space: int, readers: Readers) -> str:
    """A part for each owner, whose postings lie together in the index; those of many agents at once have to be sorted."""
    best = []
    for part, owner in enumerate(readers.each):
        of = f"space_id = {int(space)} AND lexeme = l.lexeme AND {owner}"
        up, down = ("", "") if owner == OF_AGENTS else ("agent_id,", "agent_id DESC,")
        best.append(BEST.format(part=part, of=of, up=up, down=down))
    return READ.format(space=int(space), best=" UNION ALL ".join(best))


def best(space: int, readers: Readers, counts: Counts, limit: int) -> dict[int, tuple[float, float]]:
    """The chunks that the words speak for most, each with its BM25 and the share of the query's weight that it holds."""
    corpus = counts.corpus
    weights = {lexeme: corpus.weight(lexeme) for lexeme in counts.held}
    there = [lexeme for lexeme, (chunks, _) in counts.held.items() if chunks > 0]
    least = MIN_WEIGHT * max((weights[lexeme] for lexeme in there), default=0.0)
    heavy = [lexeme for lexeme in there if weights[lexeme] >= least]
    found = [(weights[key[1]], one) for key, one in _load(space, readers, heavy, counts).items() if len(one.ids)]
    return _added_up(found, counts.mean_length, sum(weights.values()), limit) if found else {}


def _added_up(
    found: list[tuple[float, Postings]], mean: float, whole: float, limit: int
) -> dict[int, tuple[float, float]]:
    """`word_rank.bm25` and `word_rank.coverage`, for all chunks of these postings at once.

    Sorted and added up by hand: `np.unique` and its like cost more to enter than this to run.
    """
    ids = np.concatenate([NO_CHUNK, *[one.ids for _, one in found]])
    parts = np.concatenate([NOTHING, *[weight * one.parts_at(mean) for weight, one in found]])
    order = ids.argsort(kind="stable")  # merges what is in order already
    ids = ids[order]
    (before,) = (ids[1:] != ids[:-1]).nonzero()
    starts = before + 1  # `NO_CHUNK` comes first, so each chunk has one before it
    sums = np.add.reduceat(parts[order], starts)
    if len(starts) > limit:
        top = sums.real.argpartition(-limit)[-limit:]
        starts, sums = starts[top], sums[top]
    return {chunk: (one.real, one.imag / whole) for chunk, one in zip(ids[starts].tolist(), sums.tolist(), strict=True)}


def _load(space: int, readers: Readers, lexemes: list[str], counts: Counts) -> dict[Key, Postings]:
    """The postings of these lexemes; those that are not kept under the lexeme's mark of now are read.

    Raises `Changed` where somebody changed a text with one of them since it was counted.
    """
    asked = _keys(readers, lexemes)
    found = {key: one for key in asked if (one := postings.get((space, *key), counts.held[key[1]][1])) is not None}
    if missing := list({lexeme for owner, lexeme in asked if (owner, lexeme) not in found}):
        now, read = _read(space, readers, missing, found.keys())
        if any(now.held[lexeme] != counts.held[lexeme] for lexeme in missing):
            raise Changed
        found |= read
    return found


def _joined(parts: list[tuple[int, bytes]], mean: float) -> Postings:
    """The best of what is in these rows: each has the chunks that hold a lexeme so many times, with their lengths."""
    if not parts:  # as of most agents' own
        return NO_POSTINGS
    numbers = np.frombuffer(b"".join(packed for _, packed in parts), ">i8").astype(np.int64)
    counts = np.repeat(np.array([times for times, _ in parts], np.uint16), [len(packed) // 8 for _, packed in parts])
    found = Postings(numbers & (1 << ID_BITS) - 1, counts, (numbers >> ID_BITS).astype(np.uint16))
    if len(numbers) > MAX_POSTINGS:
        found = found.at((-found.gains(mean)).argsort(kind="stable")[:MAX_POSTINGS])
    return found.at(found.ids.argsort())
