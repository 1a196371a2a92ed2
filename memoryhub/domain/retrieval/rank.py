"""Which long-term chunks a query brings up, by their words and by their meaning: the hot path of retrieval.

What the words speak for is reckoned in this process (`postings`), and so is meaning, as long as a space is small enough to be
kept here (`vectors`). Before it reckons, it asks the database for the mark of the space, and then for what texts of those
chosen are not kept here (`texts`). Where any of it is of another mark, somebody has changed what is found, and it is reckoned
again.

In large spaces the database says what is near (`vector_index`).
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from memoryhub.db import cache, statements
from memoryhub.db.meanwhile import Asking
from memoryhub.domain.retrieval import vector_index, word_rank
from memoryhub.domain.retrieval.embedder import query_vector, serving_embedder
from memoryhub.domain.retrieval.in_memory import postings, texts, vectors
from memoryhub.domain.retrieval.in_memory.postings import Standing
from memoryhub.domain.retrieval.in_memory.texts import Text
from memoryhub.domain.retrieval.in_memory.vectors import Vectors
from memoryhub.domain.retrieval.readers import Readers
from memoryhub.domain.retrieval.word_rank import Candidate
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import Space

LEAST = 20  # candidates by words, at least; four for each one asked for above that
MAX_QUERY_LENGTH = 4000  # characters
TRIES = 3  # what changes between two statements of one query is asked for again, but not for ever

NO_WORDS = (0.0, 0.0)

Cosines = dict[int, float | None]
Texts = dict[int, Text]

NEAR = """
WITH near AS MATERIALIZED ({near})
SELECT s.longterm_mark, near.chunk_id, near.cosine FROM memoryhub_space s LEFT JOIN near ON true WHERE s.id = {space}
"""


@dataclass(frozen=True, slots=True)
class RankOptions:
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
        kept, cut = word_rank.text_configurations(found, threshold, self.limit, strict=strict)
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


def rank(space: Space, query: str, mine: Readers, choice: RankOptions, embedder: Embedder | None = None) -> Sought:
    """What words and meaning bring up; while the embedder is away, what the words alone do.

    By meaning no more than are wanted: what has none of the words can only come in by being among the nearest.
    """
    query = query[:MAX_QUERY_LENGTH]
    try:
        one = embedder or serving_embedder(space)
        vector = query_vector(one, query)
    except EmbedderUnavailable as away:
        sought = settled(space.pk, query, mine, choice, None)
        sought.warnings.append(f"{away.message} These results are by words alone.")
        return sought
    key = vectors.Key(space.pk, one.embedded_by, vector.dimensions)
    return settled(space.pk, query, mine, choice, Sense(one, vector, key, mine, choice.wanted, embedder is None))


def settled(space: int, query: str, mine: Readers, choice: RankOptions, sense: Sense | None) -> Sought:
    """Whom words and meaning speak for, with the texts: all of it under one mark."""
    for _ in range(TRIES):
        sought, marks = reckoned(space, query, mine, choice, sense)
        if len(marks) == 1:
            break
        postings.kept.forget(space)
    else:
        _, sought.texts = texts.read(space, [one.id for one in sought.shown])
    sought.embedded_by = sense.embedder.embedded_by if sense else ""
    return sought.without_the_gone()


def reckoned(
    space: int, query: str, mine: Readers, choice: RankOptions, sense: Sense | None
) -> tuple[Sought, set[int | None]]:
    """The same as this process can tell, and every mark that it took something under.

    The database is asked before anything is reckoned here, and answers meanwhile. So whatever is read after that has to bring
    a mark of its own.
    """
    now = postings.standing(space, mine.sql, query)
    are_of_now, weighed = postings.weighed(space, mine.sql, now)
    here = sense.kept_here(now) if sense else None
    asked = sense.asking(now) if sense and not here else None if now.is_fresh else Asking(cache.MARK, [space])
    with asked or nullcontext():
        words = postings.best(weighed, now, max(LEAST, 4 * choice.wanted))
        mark, cosines = sense.cosines(now, here, list(words)) if sense else (now.mark, {})
        rows = asked.rows() if asked else [(now.mark,)]
    if sense and not here and sense.by_index(now) and len(nearest(rows)) < sense.wanted:
        rows = sense.every_one()
    cosines = dict.fromkeys(words) | cosines | nearest(rows)
    found = [Candidate(chunk, cosine, *words.get(chunk, NO_WORDS)) for chunk, cosine in cosines.items()]
    sought = choice.of(found, sense.embedder.threshold if sense else None)
    last, sought.texts = texts.of(space, now.mark, [one.id for one in sought.shown])
    return sought, {now.mark if are_of_now else None, mark, cache.mark_in(rows), last}


def nearest(rows: list[tuple[Any, ...]]) -> Cosines:
    """What `NEAR` tells beside the mark; what is no number came of a text that says nothing: nothing is like nothing."""
    told = (row[1:] for row in rows if row[1:] and row[1] is not None)
    return {chunk: 0.0 if cosine != cosine else cosine for chunk, cosine in told}


@dataclass(frozen=True, slots=True)
class Sense:
    """A query's meaning: how near the chunks are to it that are nearest, and those that its words brought up."""

    embedder: Embedder
    vector: statements.Half
    key: vectors.Key
    mine: Readers
    wanted: int
    is_serving: bool  # vectors of another one may be on their way, which moves no mark

    def kept_here(self, now: Standing) -> Vectors | None:
        """All vectors, where the space is small enough for this process."""
        is_small = self.is_serving and vectors.are_few(now.chunks, self.key.dimensions)
        return vectors.of(self.key, now.mark, now.chunks) if is_small else None

    def asking(self, now: Standing) -> Asking:
        """The database, for the nearest and the mark of the space."""
        how = vector_index.BY_INDEX if self.by_index(now) else vector_index.EXACTLY
        return Asking(near(self.key, self.mine.sql, self.wanted, how), {"vector": self.vector})

    def by_index(self, now: Standing) -> bool:
        return vector_index.is_index_used(now.chunks, self.key.dimensions, self.embedder)

    def every_one(self) -> list[tuple[Any, ...]]:
        """The same without the index, which gives up where next to none of those that it comes upon are meant."""
        sql = near(self.key, self.mine.sql, self.wanted, vector_index.EXACTLY)
        return statements.rows(sql, {"vector": self.vector}, binary=True)

    def cosines(self, now: Standing, here: Vectors | None, words: list[int]) -> tuple[int, Cosines]:
        """What can be reckoned here, and its mark: how near is what words brought up and, where all is kept, what is nearest."""
        if here:
            return here.mark, {**here.cosines(self.vector, self.mine, self.wanted, words)}
        mark, found = vectors.some(self.key, now.mark, words, keeps=self.is_serving) if words else (now.mark, {})
        return mark, {**vectors.cosines_of(found, self.vector)}


@lru_cache(maxsize=1024)
def near(key: vectors.Key, mine: str, wanted: int, how: str) -> str:
    names = {**key.names, "mine": mine, "wanted": int(wanted)}
    return NEAR.format(near=how.format(**names), **names)
