"""Which long-term chunks a query brings up: asks for its vector, and chooses the index that answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from memoryhub.domain.retrieval import in_database, in_memory, query_words, word_rank
from memoryhub.domain.retrieval.embedder import EMBEDDER_SECONDS, query_vector, reads, serving_embedder
from memoryhub.domain.retrieval.in_memory import postings
from memoryhub.domain.retrieval.index import Changed, Hits, Query, Readers, SearchOptions
from memoryhub.domain.retrieval.word_rank import Candidate
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import Space

MAX_QUERY_LENGTH = 4000  # characters


def rank(
    space: Space,
    query: str,
    readers: Readers,
    wanted: SearchOptions,
    embedder: Embedder | None = None,
    mark: int | None = None,
) -> Hits:
    """What words and meaning bring up; while the embedder is away, what the words alone do, with a warning.

    `embedder` is another one than the one that serves the space; `mark` as in `Query`.
    """
    text = query[:MAX_QUERY_LENGTH]
    try:
        one = embedder or serving_embedder(space)
        asked = Query(text, one, query_vector(one, text), mark)
        if not reads(one, text):
            wanted = replace(wanted, is_unread=True)
    except EmbedderUnavailable as away:
        hits = _best(space.pk, Query(text), readers, wanted)
        hits.warnings.append(f"{away.message} These results are by words alone.")
        return hits
    hits = _best(space.pk, asked, readers, wanted, is_serving=embedder is None)
    hits.embedded_by = one.embedded_by
    return hits


def _best(space: int, query: Query, readers: Readers, wanted: SearchOptions, *, is_serving: bool = True) -> Hits:
    """The hits of the index in memory.

    Vectors of an embedder that does not serve may be on their way, which changes no mark: then, and where memory changes faster
    than this process can read it, one statement of the database answers.
    """
    if is_serving:
        with suppress(Changed):
            return in_memory.best(space, query, readers, wanted)
    return in_database.best(space, query, readers, wanted)


def rank_texts(space: Space, query: str, readers: Readers, texts: Mapping[int, str]) -> list[Candidate]:
    """Texts that are not stored, measured as chunks are: by the words of the space's chunks of today, and by cosine."""
    if not texts:
        return []
    counts = postings.count(space.pk, readers, query[:MAX_QUERY_LENGTH])
    cosines = _cosines(space, query, list(texts.values()))
    found = (_measured(one, text, counts, cosine) for (one, text), cosine in zip(texts.items(), cosines, strict=True))
    return [one for one in found if one.words or one.cosine is not None]


def _measured(number: int, text: str, counts: postings.Counts, cosine: float | None) -> Candidate:
    asked, corpus = list(counts.held), counts.corpus
    counted = Counter(one for word in word_rank.split_words(text) for one in query_words.lexemes_of(word))
    words = word_rank.bm25(counted, counted.total(), asked, corpus)
    return Candidate(number, cosine, words, word_rank.coverage(counted, asked, corpus))


def _cosines(space: Space, query: str, texts: list[str]) -> list[float | None]:
    try:
        vector, *others = serving_embedder(space).embed([query, *texts], seconds=EMBEDDER_SECONDS)
    except EmbedderUnavailable:
        return [None] * len(texts)
    return [float(vector @ other) for other in others]
