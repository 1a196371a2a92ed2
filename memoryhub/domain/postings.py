"""BM25 over the postings of a query's lexemes, kept in this process: what the database would add up anew for every query.

Nothing kept here is ever taken on trust. Each lexeme of a space carries a mark that changes, in the same transaction, with
every chunk that gains or loses it; the statement that fetches the results brings the marks along, and what was reckoned
from other ones is reckoned again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from memoryhub.domain import hot
from memoryhub.domain.ranking import K1, B, Corpus

MOST_POSTINGS = 1000  # of one lexeme, those that say most: a word that more chunks hold says next to nothing
LEAST_WEIGHT = 0.1  # of the heaviest lexeme's: lighter ones change no order, and stand in most chunks
MOST_KEPT = 1_000_000  # postings in one process, sixteen bytes each
MOST_LEXEMES = 50_000

# How a space stands, as far as a query asks: its chunks, their lexemes, and of each lexeme asked for how many hold it.
STANDING = """
SELECT json_build_array(s.chunks, s.lexemes, (
    SELECT json_object_agg(l.lexeme, json_build_array(l.chunks, l.mark)) FROM memoryhub_lexemecount l
    WHERE l.space_id = {space} AND l.lexeme = ANY(%(asked)s::text[])))::text
FROM memoryhub_chunkcount s WHERE s.space_id = {space}
"""
LOAD = """
SELECT l.lexeme, l.chunks, l.mark, p.ids, p.counts, p.lengths
FROM memoryhub_lexemecount l CROSS JOIN LATERAL (
    SELECT string_agg(int8send(chunk_id), '') AS ids, string_agg(int4send(count), '') AS counts,
        string_agg(int4send(length), '') AS lengths
    FROM (
        SELECT chunk_id, count, length FROM memoryhub_posting WHERE space_id = {space} AND lexeme = l.lexeme AND {mine}
        ORDER BY count / (1 - {b} + {b} * length / %s::float8) DESC, chunk_id LIMIT {most}
    ) best
) p WHERE l.space_id = {space} AND l.lexeme = ANY(%s)
"""

Held = tuple[int, int]  # how many chunks hold a lexeme, and its mark
NOWHERE: Held = (0, 0)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a query's words are weighed against."""

    chunks: int = 0
    lexemes: int = 0
    held: Mapping[str, Held] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str | None, asked: Iterable[str]) -> Standing:
        """Out of what `STANDING` gives; nothing for a space without chunks."""
        if text is None:
            return cls(held=dict.fromkeys(asked, NOWHERE))
        chunks, lexemes, held = json.loads(text)
        found = {lexeme: (max(count, 0), mark) for lexeme, (count, mark) in (held or {}).items()}
        return cls(chunks, lexemes, {lexeme: found.get(lexeme, NOWHERE) for lexeme in asked})

    @property
    def corpus(self) -> Corpus:
        frequencies = {lexeme: count for lexeme, (count, _) in self.held.items()}
        return Corpus(max(self.chunks, 0), self.mean, frequencies)

    @property
    def mean(self) -> float:
        return self.lexemes / max(self.chunks, 1) or 1.0


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks of one lexeme, as somebody may read them."""

    mark: int
    ids: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray


@dataclass(slots=True)
class Kept:
    """What this process has read: how spaces stood last, and the postings of lexemes under a mark."""

    standing: dict[int, tuple[int, int]] = field(default_factory=dict)
    held: dict[tuple[int, str], Held] = field(default_factory=dict)
    postings: dict[tuple[int, str, str], Postings] = field(default_factory=dict)
    size: int = 0

    def assumed(self, space: int, asked: list[str]) -> Standing | None:
        """How the space stood when it was last read, if every lexeme was asked for before."""
        numbers = self.standing.get(space)
        found = {lexeme: self.held.get((space, lexeme)) for lexeme in asked}
        if numbers is None or None in found.values():
            return None
        return Standing(*numbers, found)  # type: ignore[arg-type]

    def note(self, space: int, standing: Standing) -> None:
        if len(self.held) > MOST_LEXEMES:
            self.clear()
        self.standing[space] = standing.chunks, standing.lexemes
        self.held.update({(space, lexeme): held for lexeme, held in standing.held.items()})

    def put(self, key: tuple[int, str, str], postings: Postings) -> None:
        if self.size > MOST_KEPT:
            self.clear()
        replaced = self.postings.get(key)
        self.size += len(postings.ids) - (len(replaced.ids) if replaced else 0)
        self.postings[key] = postings

    def clear(self) -> None:
        self.standing.clear()
        self.held.clear()
        self.postings.clear()
        self.size = 0


kept = Kept()


def standing(space: int, asked: list[str]) -> Standing:
    """How the space stands, as this process knows it: to be compared with what the results bring along."""
    return kept.assumed(space, asked) or read_standing(space, asked)


def read_standing(space: int, asked: list[str]) -> Standing:
    rows = hot.rows(STANDING.format(space=space), {"asked": asked})
    found = Standing.read(rows[0][0] if rows else None, asked)
    kept.note(space, found)
    return found


def best(space: int, mine: str, now: Standing, limit: int) -> dict[int, tuple[float, float]]:
    """The chunks that the words speak for, each with its BM25 and the share of the query's weight that it holds."""
    corpus = now.corpus
    weights = {lexeme: corpus.weight(lexeme) for lexeme in now.held}
    known = {lexeme: weights[lexeme] for lexeme, (chunks, _) in now.held.items() if chunks > 0}
    heavy = [lexeme for lexeme, weight in known.items() if weight >= LEAST_WEIGHT * max(known.values())]
    found = [(weights[lexeme], one) for lexeme, one in of(space, mine, heavy, now).items() if len(one.ids)]
    return added_up(found, now.mean, sum(weights.values()), limit) if found else {}


def added_up(
    found: list[tuple[float, Postings]], mean: float, whole: float, limit: int
) -> dict[int, tuple[float, float]]:
    """`ranking.bm25` and `ranking.coverage`, for all chunks of these postings at once; a test holds both to one result."""
    scores = [
        weight * (K1 + 1) * one.counts / (one.counts + K1 * (1 - B + B / mean * one.lengths)) for weight, one in found
    ]
    ids, place = np.unique(np.concatenate([one.ids for _, one in found]), return_inverse=True)
    words = np.bincount(place, np.concatenate(scores))
    held = np.bincount(place, np.concatenate([np.full(len(one.ids), weight) for weight, one in found]))
    top = np.argpartition(-words, limit)[:limit] if len(ids) > limit else np.arange(len(ids))
    return {int(ids[at]): (float(words[at]), float(held[at]) / whole) for at in top}


def of(space: int, mine: str, lexemes: list[str], now: Standing) -> dict[str, Postings]:
    """The postings of these lexemes; those of another mark than the space's now are read anew."""
    found = {lexeme: kept.postings.get((space, mine, lexeme)) for lexeme in lexemes}
    missing = [lexeme for lexeme, one in found.items() if one is None or one.mark != now.held[lexeme][1]]
    if missing:
        sql = LOAD.format(space=space, mine=mine, b=B, most=MOST_POSTINGS)
        for lexeme, _, mark, *packed in hot.rows(sql, [now.mean, missing], binary=True):
            found[lexeme] = one = unpacked(mark, *packed)
            kept.put((space, mine, lexeme), one)
    return {lexeme: one for lexeme, one in found.items() if one is not None}


def unpacked(mark: int, ids: bytes | None, counts: bytes | None, lengths: bytes | None) -> Postings:
    return Postings(
        mark,
        np.frombuffer(ids or b"", ">i8").astype(np.int64),
        np.frombuffer(counts or b"", ">i4").astype(np.float32),
        np.frombuffer(lengths or b"", ">i4").astype(np.float32),
    )
