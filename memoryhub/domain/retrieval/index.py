"""What an index of long-term memory is asked, and what it answers.

Two modules are such an index: `in_memory`, which keeps in this process what questions need again, and `in_database`, one plain
statement. Tests hold both to the same answers; `rank` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from memoryhub.db import statements
from memoryhub.domain.retrieval import word_rank
from memoryhub.domain.retrieval.word_rank import Candidate
from memoryhub.embedders import Embedder
from memoryhub.models import Agent

MIN_BY_WORDS = 20  # candidates that words bring up, at least; four for each one asked for above that
MAX_LEXEMES = 64  # of one query
MIN_WEIGHT = 0.1  # of the heaviest lexeme's: lighter ones change no order, and stand in most chunks

# What stands in the chunk, then number, moment, scope, promoter, session and check of its entry.
Text = Sequence[Any]
TEXT_COLUMNS = "c.text, e.number, e.created_at, c.scope, e.actor_name, e.session_id, e.checked_at"


class Index(Protocol):
    def best(self, space: int, query: Query, readers: Readers, wanted: SearchOptions) -> Hits:
        """What words and meaning bring up for a query, as these readers may see it.

        By words come `wanted.by_words` chunks at most, by meaning `wanted.by_meaning`: what has none of the words can only come in by
        being among the nearest. Raises `Changed` where no answer is of one moment.
        """


class Changed(Exception):
    """Long-term memory was changed while an index was read."""


NO_SPACE = 0  # in place of a mark: the space is gone


def mark_in(rows: Sequence[Sequence[Any]]) -> int:
    """The `longterm_mark` of a space, which comes first in the rows of each statement about it."""
    return int(rows[0][0]) if rows else NO_SPACE


@dataclass(frozen=True, slots=True)
class Query:
    """A query by its text and, unless the embedder is away, its vector.

    `mark` is the `longterm_mark` that the space had when the call had begun, where that was read already: what is kept under it is
    of now.
    """

    text: str
    embedder: Embedder | None = None
    vector: statements.Half | None = None
    mark: int | None = None

    @property
    def embedded_by(self) -> str:
        return self.embedder.embedded_by if self.embedder else ""

    @property
    def dimensions(self) -> int:
        return self.vector.dimensions if self.vector else 0


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How many hits, from which cosine on; how many of those that are cut off, and whether all candidates are shown."""

    limit: int
    cut: int = 0
    threshold: float | None = None
    candidates: bool = False
    words: float = word_rank.HALF  # the share of words in the order
    is_unread: bool = False  # the embedder does not know the script of the query: words make most of the order

    @property
    def by_meaning(self) -> int:
        return self.limit + self.cut

    @property
    def by_words(self) -> int:
        return max(MIN_BY_WORDS, 4 * self.by_meaning)

    def is_strict(self, has_embedder: object) -> bool:
        """Whether nothing below the threshold passes, whatever the words say."""
        return self.threshold is not None and bool(has_embedder)

    @property
    def share_of_words(self) -> float:
        """Most of the order where the embedder cannot read the query, unless somebody chose a share."""
        return word_rank.MOST if self.is_unread and self.words == word_rank.HALF else self.words

    def is_uncut(self, threshold: float, has_embedder: object) -> bool:
        """Whether all that holds a word of the query passes: where meaning cannot be asked, or cuts nothing."""
        return not has_embedder or threshold <= 0 or (self.is_unread and self.threshold is None)

    def choose(self, found: list[Candidate], embedder: Embedder | None) -> Hits:
        """The hits among these candidates, in their order and without their texts.

        A threshold that is given is strict, above 0. The embedder's own lets through what the words speak for; without an
        embedder only words can speak, and none of them is cut off.
        """
        threshold = self.threshold if self.threshold is not None else embedder.threshold if embedder else 0.0
        strict = self.is_strict(embedder is not None)
        uncut, share = self.is_uncut(threshold, embedder is not None), self.share_of_words
        best, cut_off = word_rank.split_at_threshold(
            found, threshold, self.limit, strict=strict, words=share, uncut=uncut
        )
        return Hits(best, cut_off[: self.cut], threshold, found if self.candidates else [], uncut=uncut, words=share)


@dataclass(slots=True)
class Hits:
    """The best candidates, those that the threshold cut off, and the texts of all that are shown."""

    best: list[Candidate]
    cut_off: list[Candidate]
    threshold: float
    candidates: list[Candidate] = field(default_factory=list)
    texts: dict[int, Text] = field(default_factory=dict)
    embedded_by: str = ""
    warnings: list[str] = field(default_factory=list)
    uncut: bool = False  # whether whatever holds a word of the query passed
    words: float = word_rank.HALF  # the share of words in the order

    @property
    def shown(self) -> list[int]:
        """The chunks whose texts are needed."""
        return [one.id for one in self.candidates or [*self.best, *self.cut_off]]

    def with_texts(self, texts: dict[int, Text]) -> Hits:
        """These hits with their texts; a chunk without one is no hit."""
        self.texts = texts
        for some in (self.best, self.cut_off, self.candidates):
            some[:] = [one for one in some if one.id in texts]
        return self


# The vectors of a space that a process keeps, 12,000 of 256 dimensions; above, the vector index is quicker.
MAX_KEPT_BYTES = 12 << 20


def vector_bytes(chunks: int, dimensions: int) -> int:
    """What a process needs for the vectors of so many chunks, with what it keeps beside each."""
    return chunks * (4 * dimensions + 24)


def fits_in_memory(chunks: int, dimensions: int) -> bool:
    """Whether a space with so many chunks is one whose vectors a process keeps."""
    return vector_bytes(chunks, dimensions) <= MAX_KEPT_BYTES


# In place of an agent's id, for what is the group's; 0 is of a deleted agent and nobody's (`longterm.chunks`).
GROUP = -1
OF_GROUP, OF_AGENT, OF_AGENTS = "agent_id IS NULL", "agent_id = {agent}", "agent_id IS NOT NULL"
OWNERS = {
    "group": (OF_GROUP,),
    "agent": (OF_AGENT,),
    "both": (OF_GROUP, OF_AGENT),
    "all": (OF_GROUP, OF_AGENTS),
}


class Readers(NamedTuple):
    """Whose long-term memory is read: the group's, an agent's own, both, or (by people) all of it."""

    kind: str
    agent: int
    condition: str  # the same in SQL
    each: tuple[str, ...]  # the same in parts, of which one holds for each row that is read

    @property
    def reads_group(self) -> bool:
        return self.kind != "agent"

    def may_read(self, owners: np.ndarray) -> np.ndarray:
        """Whether what each of these owns is read."""
        if self.kind == "all":
            return np.ones(len(owners), bool)
        own = owners == (GROUP if self.kind == "group" else self.agent)
        return own | (owners == GROUP) if self.kind == "both" else own


def readers_for(agent: Agent | None, scope: str | None, everyone: bool) -> Readers:
    """What is read for this agent, or without one for the group or for a person."""
    if agent is None:
        return _readers("all" if everyone and scope is None else "group", 0)
    return _readers(scope if scope in ("group", "agent") else "both", int(agent.pk))


@lru_cache(maxsize=1024)
def _readers(kind: str, agent: int) -> Readers:
    each = tuple(one.format(agent=int(agent)) for one in OWNERS[kind])
    return Readers(kind, agent, "true" if kind == "all" else f"({' OR '.join(each)})", each)
