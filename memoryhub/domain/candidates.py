"""Which long-term chunks a query brings up, by their words and by their meaning: the hot path of retrieval.

What the words speak for is reckoned in this process (`postings`), and so is meaning, as long as a space is small enough to be
kept here (`vectors`). One statement then says the mark of the space, and brings what texts of those chosen are not kept here
(`texts`). Where it is another mark than the one that all of this was reckoned under, somebody has changed what is found, and
it is reckoned again.

In large spaces the database says what is near (`vector_index`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from memoryhub.domain import hot, meaning, postings, ranking, texts, vector_index, vectors
from memoryhub.domain.postings import Standing
from memoryhub.domain.ranking import Candidate
from memoryhub.domain.texts import Text
from memoryhub.domain.whose import Whose
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import Space

LEAST = 20  # candidates by words, at least; four for each one asked for above that
LONGEST_QUERY = 4000  # characters
TRIES = 3  # what changes between two statements of one query is asked for again, but not for ever

NO_WORDS = (0.0, 0.0)

Cosines = dict[int, float | None]
Texts = dict[int, Text]

NEAR = """
WITH near AS MATERIALIZED ({near}), found AS (
    SELECT * FROM near UNION ALL SELECT w.chunk_id, {its_cosine} FROM unnest(%(words)s::bigint[]) AS w(chunk_id)
)
SELECT s.longterm_mark, f.chunk_id, f.cosine FROM memoryhub_space s LEFT JOIN found f ON true WHERE s.id = {space}
"""
ITS_COSINE = """(
    SELECT 1 - (e.vector::halfvec({d}) <=> %(vector)s::halfvec({d})) FROM memoryhub_embedding e
    WHERE e.space_id = {space} AND e.embedded_by = '{by}' AND e.chunk_id = w.chunk_id LIMIT 1
)"""


@dataclass(frozen=True, slots=True)
class Choice:
    """How many are wanted, and from which cosine on; so many of those that are cut off are shown, or all that was found."""

    limit: int
    cut: int = 0
    threshold: float | None = None
    whole: bool = False

    @property
    def wanted(self) -> int:
        return self.limit + self.cut

    def of(self, found: list[Candidate], stated: float | None) -> Sought:
        """Who of these is chosen; `stated` is the threshold of the embedder, which a given one makes strict."""
        threshold = (stated or 0.0) if self.threshold is None else self.threshold
        strict = self.threshold is not None and stated is not None
        kept, cut = ranking.choose(found, threshold, self.limit, strict=strict)
        return Sought(found if self.whole else [], kept, cut[: self.cut], threshold)


@dataclass(slots=True)
class Sought:
    """What was found for a query, and who of it was chosen, with their texts; under which embedder, and what to say about it."""

    found: list[Candidate]
    kept: list[Candidate]
    cut: list[Candidate]
    threshold: float
    texts: Texts = field(default_factory=dict)
    embedded_by: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def shown(self) -> list[Candidate]:
        return self.found or [*self.kept, *self.cut]

    def without_the_gone(self) -> Sought:
        """Whoever has no text is gone: somebody changed memory faster than it could be asked."""
        for shown in (self.found, self.kept, self.cut):
            shown[:] = [one for one in shown if one.id in self.texts]
        return self


def seek(space: Space, query: str, mine: Whose, choice: Choice, embedder: Embedder | None = None) -> Sought:
    """What words and meaning bring up; while the embedder is away, what the words alone do.

    By meaning no more than are wanted: what has none of the words can only come in by being among the nearest.
    """
    query = query[:LONGEST_QUERY]
    try:
        one = embedder or meaning.serving(space)
        vector = meaning.query_vector(one, query)
    except EmbedderUnavailable as away:
        sought = settled(space.pk, query, mine, choice, None)
        sought.warnings.append(f"{away.message} These results are by words alone.")
        return sought
    return settled(space.pk, query, mine, choice, Sense(space.pk, one, vector, mine, choice.wanted, embedder is None))


def settled(space: int, query: str, mine: Whose, choice: Choice, sense: Sense | None) -> Sought:
    """Whom words and meaning speak for, with the texts: all of it under one mark."""
    for _ in range(TRIES):
        now = postings.standing(space, mine.sql, query)
        words = postings.best(space, mine.sql, now, max(LEAST, 4 * choice.wanted))
        told = sense.of(now, list(words)) if sense else Told(now.mark, dict.fromkeys(words))
        found = [Candidate(chunk, cosine, *words.get(chunk, NO_WORDS)) for chunk, cosine in told.cosines.items()]
        sought = choice.of(found, sense.embedder.threshold if sense else None)
        shown = [one.id for one in sought.shown]
        mark, sought.texts = texts.of(space, told.mark, shown, is_confirmed=told.is_confirmed)
        if mark == told.mark == now.mark:
            break
        postings.kept.forget(space)
    else:
        _, sought.texts = texts.rows_of(space, shown)
    sought.embedded_by = sense.embedder.embedded_by if sense else ""
    return sought.without_the_gone()


@dataclass(slots=True)
class Told:
    """Cosines of chunks, and the mark of the space that they hold under."""

    mark: int
    cosines: Cosines
    is_confirmed: bool = False  # the database has just said so

    @classmethod
    def of(cls, rows: list[tuple[Any, ...]]) -> Told:
        """What `NEAR` gives; nothing for a space that is gone."""
        # What is no number came of a text that says nothing: nothing is like nothing.
        cosines = {chunk: 0.0 if cosine != cosine else cosine for _, chunk, cosine in rows if chunk is not None}
        return cls(rows[0][0] if rows else texts.NO_SPACE, cosines, is_confirmed=True)


@dataclass(frozen=True, slots=True)
class Sense:
    """A query's meaning: how near the chunks are to it that are nearest, and those that its words brought up."""

    space: int
    embedder: Embedder
    vector: hot.Half
    mine: Whose
    wanted: int
    is_serving: bool  # vectors of another one may be on their way, which moves no mark

    def of(self, now: Standing, words: list[int]) -> Told:
        """The cosines, reckoned here where the space is small enough."""
        if self.is_serving and vectors.are_few(now.chunks, self.vector.dimensions):
            key = vectors.Key(self.space, self.embedder.embedded_by, self.vector.dimensions)
            if here := vectors.of(key, now.mark, now.chunks):
                cosines = here.cosines(self.vector, self.mine, self.wanted, words)
                return Told(here.mark, dict.fromkeys(words) | cosines)
        return Told.of(hot.rows(self.sql(now), {"vector": self.vector, "words": words}, binary=True))

    def sql(self, now: Standing) -> str:
        dimensions, by = self.vector.dimensions, self.embedder.embedded_by
        by_index = vector_index.serves(now.chunks, dimensions, self.embedder)
        how = vector_index.BY_INDEX if by_index else vector_index.EXACTLY
        return near(self.space, self.mine.sql, self.wanted, dimensions, by, how)


@lru_cache(maxsize=1024)
def near(space: int, mine: str, wanted: int, dimensions: int, embedded_by: str, how: str) -> str:
    names = {"space": int(space), "mine": mine, "wanted": int(wanted), "d": dimensions, "by": embedded_by}
    return NEAR.format(near=how.format(**names), its_cosine=ITS_COSINE.format(**names), **names)
