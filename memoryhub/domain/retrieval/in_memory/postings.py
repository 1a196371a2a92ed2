"""BM25 over the postings of a query's lexemes, kept in this process: what the database would add up anew for every query.

Nothing kept here is ever taken on trust. Whatever changes the chunks of a space gives it another `longterm_mark` in the same
transaction; the database is asked for the mark with every question, and what was reckoned under another one is reckoned
again. Each lexeme carries a mark of its own as well, so that its postings outlast changes of other texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from memoryhub.db import statements
from memoryhub.domain.retrieval import query_words
from memoryhub.domain.retrieval.word_rank import K1, B, Corpus

MOST_POSTINGS = 1000  # of one lexeme, those that say most: a word that more chunks hold says next to nothing
LEAST_WEIGHT = 0.1  # of the heaviest lexeme's: lighter ones change no order, and stand in most chunks
MOST_KEPT = 1_000_000  # postings in one process, sixteen bytes each
MOST_LEXEMES = 50_000
MOST_ASKED = 64  # lexemes of one query

PACKED = """
SELECT string_agg(int8send(chunk_id), '') AS ids, string_agg(int4send(count), '') AS counts,
    string_agg(int4send(length), '') AS lengths
"""
# How a space stands, as far as a query asks: its mark, its chunks and their lexemes; the lexemes of words that are new here;
# of each lexeme asked for how many chunks hold it; and the postings of rare ones that are not kept here.
LOOK_UP = f"""
WITH new AS MATERIALIZED ({query_words.EACH}), asked AS (
    SELECT unnest(%(asked)s::text[]) AS lexeme UNION SELECT unnest(lexemes) FROM new
), held AS MATERIALIZED (
    SELECT l.* FROM asked CROSS JOIN LATERAL (
        SELECT lexeme, chunks, mark FROM memoryhub_lexemecount WHERE space_id = {{space}} AND lexeme = asked.lexeme LIMIT 1
    ) l
)
SELECT s.longterm_mark, coalesce(c.chunks, 0), coalesce(c.lexemes, 0),
    (SELECT json_agg(json_build_array(name, word, lexemes))::text FROM new),
    (SELECT json_object_agg(lexeme, json_build_array(chunks, mark))::text FROM held), p.*
FROM memoryhub_space s LEFT JOIN memoryhub_chunkcount c ON c.space_id = s.id LEFT JOIN LATERAL (
    SELECT held.lexeme, held.mark, packed.* FROM held CROSS JOIN LATERAL (
        {PACKED} FROM memoryhub_posting WHERE space_id = {{space}} AND lexeme = held.lexeme AND {{mine}}
    ) packed WHERE held.chunks <= {MOST_POSTINGS} AND held.lexeme <> ALL(%(kept)s::text[])
) p ON true WHERE s.id = {{space}}
"""  # noqa: S608 (parts of our own)
LOAD = f"""
SELECT l.lexeme, l.mark, p.*
FROM memoryhub_lexemecount l CROSS JOIN LATERAL (
    {PACKED} FROM (
        SELECT chunk_id, count, length FROM memoryhub_posting WHERE space_id = {{space}} AND lexeme = l.lexeme AND {{mine}}
        ORDER BY count / (1 - {B} + {B} * length / %s::float8) DESC, chunk_id LIMIT {MOST_POSTINGS}
    ) best
) p WHERE l.space_id = {{space}} AND l.lexeme = ANY(%s)
"""  # noqa: S608 (parts of our own)

Held = tuple[int, int]  # how many chunks hold a lexeme, and its mark
NOWHERE: Held = (0, 0)
FIRST = np.ones(1, bool)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a query's words are weighed against, and the mark of the space that it holds under."""

    mark: int = 0
    chunks: int = 0
    lexemes: int = 0
    held: Mapping[str, Held] = field(default_factory=dict)
    is_fresh: bool = False  # the database has just said so

    @property
    def corpus(self) -> Corpus:
        frequencies = {lexeme: count for lexeme, (count, _) in self.held.items()}
        return Corpus(max(self.chunks, 0), self.mean, frequencies)

    @property
    def mean(self) -> float:
        return self.lexemes / max(self.chunks, 1) or 1.0


@dataclass(slots=True)
class Postings:
    """The chunks of one lexeme, as somebody may read them, and what it says for each, in a space of a mean length of texts."""

    mark: int
    ids: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray
    gains: np.ndarray = field(default_factory=lambda: np.zeros(0))
    mean: float = 0.0

    def gains_at(self, mean: float) -> np.ndarray:
        """BM25 for a lexeme that weighs one; the mean moves only when the space does."""
        if self.mean != mean:
            self.gains = (K1 + 1) * self.counts / (self.counts + K1 * (1 - B + B / mean * self.lengths))
            self.mean = mean
        return self.gains


Weighed = tuple[float, Postings]


@dataclass(slots=True)
class Kept:
    """What this process has read: how spaces stood under a mark, and the postings of lexemes under theirs."""

    standing: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    held: dict[tuple[int, str], tuple[int, Held]] = field(default_factory=dict)  # with the mark of the space
    postings: dict[tuple[int, str, str], Postings] = field(default_factory=dict)
    size: int = 0

    def assumed(self, space: int, asked: list[str]) -> Standing | None:
        """How the space stood when it was last read, if every lexeme was asked for under the mark it had then."""
        numbers = self.standing.get(space)
        if numbers is None:
            return None
        found: dict[str, Held] = {}
        for lexeme in asked:
            mark, held = self.held.get((space, lexeme), (None, NOWHERE))
            if mark != numbers[0]:
                return None
            found[lexeme] = held
        return Standing(*numbers, found)

    def note(self, space: int, now: Standing) -> None:
        if len(self.held) > MOST_LEXEMES:
            self.clear()
        self.standing[space] = now.mark, now.chunks, now.lexemes
        self.held.update({(space, lexeme): (now.mark, held) for lexeme, held in now.held.items()})

    def forget(self, space: int) -> None:
        """The space stands otherwise now; postings are looked at by their own marks."""
        self.standing.pop(space, None)

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


def standing(space: int, mine: str, query: str) -> Standing:
    """How the space stands, as this process knows it: its mark is to be compared with the one that the space has now."""
    asked = query_words.all_known(query)
    now = None if asked is None else kept.assumed(space, asked[:MOST_ASKED])
    return now or look_up(space, mine, query)


def asked_by(query: str) -> list[str]:
    return query_words.known_words(query)[:MOST_ASKED]


def look_up(space: int, mine: str, query: str) -> Standing:
    """How the space stands now; what else the words of the query need comes along."""
    known = asked_by(query)
    given = {"asked": known, "kept": [one for one in known if (space, mine, one) in kept.postings]}
    given |= query_words.as_given(query_words.unknown(query))
    rows = statements.rows(LOOK_UP.format(space=space, mine=mine), given, binary=True)
    mark, chunks, total, new, told, *_ = rows[0] if rows else (0, 0, 0, None, None)  # nothing: the space is gone
    query_words.learn(json.loads(new or "[]"))
    for *_, lexeme, own, ids, counts, lengths in rows:
        if lexeme is not None:
            kept.put((space, mine, lexeme), unpacked(own, ids, counts, lengths))
    held = {lexeme: (max(count, 0), own) for lexeme, (count, own) in json.loads(told or "{}").items()}
    now = Standing(mark, chunks, total, {one: held.get(one, NOWHERE) for one in asked_by(query)}, is_fresh=True)
    if rows:
        kept.note(space, now)
    return now


def weighed(space: int, mine: str, now: Standing) -> tuple[bool, list[Weighed]]:
    """The postings of a query's words and what each word weighs; and whether they are those of now, not of a later moment."""
    corpus = now.corpus
    known = {lexeme: corpus.weight(lexeme) for lexeme, (chunks, _) in now.held.items() if chunks > 0}
    heavy = [lexeme for lexeme, weight in known.items() if weight >= LEAST_WEIGHT * max(known.values())]
    found = of(space, mine, heavy, now)
    are_of_now = all(lexeme in found and found[lexeme].mark == now.held[lexeme][1] for lexeme in heavy)
    return are_of_now, [(known[lexeme], one) for lexeme, one in found.items() if len(one.ids)]


def best(found: list[Weighed], now: Standing, limit: int) -> dict[int, tuple[float, float]]:
    """The chunks that the words speak for, each with its BM25 and the share of the query's weight that it holds."""
    return added_up(found, now.mean, sum(map(now.corpus.weight, now.held)), limit) if found else {}


def added_up(found: list[Weighed], mean: float, whole: float, limit: int) -> dict[int, tuple[float, float]]:
    """`ranking.bm25` and `ranking.coverage`, for all chunks of these postings at once; a test holds both to one result.

    The best first. Sorted and added up by hand: `np.unique` and its like cost more to enter than this to run.
    """
    ids = np.concatenate([one.ids for _, one in found])
    weights = np.repeat([weight for weight, _ in found], [len(one.ids) for _, one in found])
    scores = weights * np.concatenate([one.gains_at(mean) for _, one in found])
    order = ids.argsort()
    ids = ids[order]
    starts = np.flatnonzero(np.concatenate([FIRST, ids[1:] != ids[:-1]]))
    words = np.add.reduceat(scores[order], starts)
    top = words.argpartition(-limit)[-limit:] if len(starts) > limit else np.arange(len(starts))
    top = top[words[top].argsort()[::-1]]
    held = np.add.reduceat(weights[order], starts)[top] / whole
    return dict(zip(ids[starts[top]].tolist(), zip(words[top].tolist(), held.tolist(), strict=True), strict=True))


def of(space: int, mine: str, wanted: list[str], now: Standing) -> dict[str, Postings]:
    """The postings of these lexemes; those of another mark than the space's now are read anew."""
    found = {lexeme: kept.postings.get((space, mine, lexeme)) for lexeme in wanted}
    missing = [lexeme for lexeme, one in found.items() if one is None or one.mark != now.held[lexeme][1]]
    if missing:
        sql = LOAD.format(space=space, mine=mine)
        for lexeme, mark, *packed in statements.rows(sql, [now.mean, missing], binary=True):
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
