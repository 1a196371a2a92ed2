"""Long-term memory's index that this process keeps: postings of words, vectors of spaces that are not large, and texts.

Nothing that is kept is taken on trust. Whatever changes what is found gives the space another `longterm_mark` in the same
transaction; each query asks the database for the mark, unless its call just did, and everything in its answer is of that one.
"""

from __future__ import annotations

from memoryhub.domain.retrieval import vector_index
from memoryhub.domain.retrieval.in_memory import postings, texts, vectors
from memoryhub.domain.retrieval.index import Changed, Hits, Query, Readers, SearchOptions, fits_in_memory
from memoryhub.domain.retrieval.word_rank import Candidate

TRIES = 3  # what changes between two statements of one query is asked for again, but not for ever
NO_WORDS = (0.0, 0.0)


def best(space: int, query: Query, readers: Readers, wanted: SearchOptions) -> Hits:
    for _ in range(TRIES):
        try:
            return _best_at_one_mark(space, query, readers, wanted)
        except Changed:
            postings.forget(space)
    raise Changed


def _best_at_one_mark(space: int, query: Query, readers: Readers, wanted: SearchOptions) -> Hits:
    counts = postings.count(space, readers, query.text)
    words = postings.best(space, readers, counts, wanted.by_words)
    cosines: dict[int, float | None] = dict.fromkeys(words)
    cosines |= _cosines(space, query, readers, wanted.by_meaning, counts, list(words))
    found = [Candidate(chunk, cosine, *words.get(chunk, NO_WORDS)) for chunk, cosine in cosines.items()]
    hits = wanted.choose(found, query.embedder)
    return hits.with_texts(texts.load(space, counts.mark, hits.shown))


def _cosines(
    space: int, query: Query, readers: Readers, wanted: int, counts: postings.Counts, others: list[int]
) -> dict[int, float]:
    """How near the nearest chunks are and what words brought up, after making sure that the counts are of now.

    Of a space that is too large to keep the database says what is nearest, and which mark it has.
    """
    if query.vector is None:
        postings.check(space, counts, query.mark)
        return {}
    key = vectors.Key(space, query.embedded_by, query.dimensions)
    if fits_in_memory(counts.chunks, key.dimensions) and (kept := vectors.load(key, counts.mark, counts.chunks)):
        postings.check(space, counts, query.mark)
        return kept.cosines(query.vector, readers, wanted, others)
    return vector_index.cosines(space, counts.mark, counts.chunks, query, readers, wanted, others)
