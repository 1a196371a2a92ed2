"""Which embedder serves a space, and whether it can be asked just now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from django.conf import settings

from memoryhub import embedders
from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.domain import notify
from memoryhub.embedders import Embedder, EmbedderTimeout, EmbedderUnavailable
from memoryhub.errors import Invalid
from memoryhub.models import Space

DIMENSIONS = "SELECT vector_dims(vector) FROM memoryhub_embedding WHERE space_id = %s AND embedded_by = %s LIMIT 1"
EMBEDDER_SECONDS = 2.0  # what a request waits for an embedder at most; a job has its own patience
# Seconds in which no request waits for an embedder that was silent; doubled each time.
FIRST_PAUSE, LONGEST_PAUSE = 4.0, 32.0


def embedder_choice(space: Space) -> str:
    """The embedder whose vectors serve the space: the one it was last switched to, else the one of the settings."""
    return space.settings.get("embedder") or settings.EMBEDDER


def load_embedder(named: str) -> Embedder:
    if named.partition(":")[0] == "openai_endpoint":
        notify.check_url(settings.EMBEDDER_URL)
    environ = {"MEMORYHUB_EMBEDDER_URL": settings.EMBEDDER_URL, "MEMORYHUB_EMBEDDER_KEY": settings.EMBEDDER_KEY}
    return embedders.load(named, environ)


def serving_embedder(space: Space) -> Embedder:
    """The embedder of the space; one that is configured no longer counts as away."""
    try:
        return embedder_of(space, embedder_choice(space))
    except Invalid as refusal:
        raise EmbedderUnavailable(refusal.message) from refusal


def embedder_of(space: Space, named: str) -> Embedder:
    """An embedder as one space may use it: a server can change its model under the same name."""
    embedder = load_embedder(named)
    return embedder if embedder.is_local else RemoteEmbedder(embedder, space.pk)


@dataclass(frozen=True)
class RemoteEmbedder:
    """A remote embedder beside the vectors that a space has of it: what cannot be compared with those counts as no answer."""

    embedder: Embedder
    space_id: int

    is_local = False
    name = property(lambda self: self.embedder.name)
    embedded_by = property(lambda self: self.embedder.embedded_by)
    threshold = property(lambda self: self.embedder.threshold)

    @property
    def dimensions(self) -> int:
        return self.stored_dimensions or self.embedder.dimensions

    @property
    def stored_dimensions(self) -> int:
        """How long the vectors are that the space has; asked each time, for any process may have made the first."""
        found = statements.rows(DIMENSIONS, [self.space_id, self.embedded_by])
        return int(found[0][0]) if found else 0

    def embed(self, texts: Sequence[str], *, seconds: float = 30.0) -> np.ndarray:
        vectors = _embed_unless_silent(self.embedder, texts, seconds)
        if len(vectors) and (stored := self.stored_dimensions) and stored != vectors.shape[1]:
            raise EmbedderUnavailable(
                f"The embedder gives vectors of {vectors.shape[1]} dimensions where this space has {stored}: it is another "
                "model now. Change to it on the page Embedder, or with `memoryhub reembed`, to make all vectors anew."
            )
        return vectors


@dataclass(slots=True)
class Silence:
    """What an embedder that did not answer left behind in this process, and until when no request waits for it again."""

    message: str
    pause: float
    until: float

    @classmethod
    def after(cls, before: Silence | None, message: str) -> Silence:
        pause = min(2 * before.pause, LONGEST_PAUSE) if before else FIRST_PAUSE
        return cls(message, pause, time.monotonic() + pause)


_silent: WeakKeyDictionary[Embedder, Silence] = WeakKeyDictionary()


def _embed_unless_silent(embedder: Embedder, texts: Sequence[str], seconds: float) -> np.ndarray:
    """The vectors of texts; while an embedder is silent, one request in each pause waits for it and the others do not.

    A job asks always: it has its own pauses, and what it hears counts for the requests of its process as well.
    """
    silence, now = _silent.get(embedder), time.monotonic()
    if silence and seconds <= EMBEDDER_SECONDS:
        if now < silence.until:
            raise EmbedderTimeout(silence.message)
        silence.until = now + EMBEDDER_SECONDS + silence.pause  # whoever comes while this one waits
    try:
        vectors = embedder.embed(texts, seconds=seconds)
    except EmbedderTimeout as away:
        _silent[embedder] = Silence.after(silence, away.message)
        raise
    _silent.pop(embedder, None)
    return vectors


def reads(embedder: Embedder, text: str) -> bool:
    """Whether the embedder knows the script that most of a text is written in; one that does not say so knows all."""
    known = getattr(embedder, "reads", None)
    return known is None or bool(known(text))


query_vectors: Cache[statements.Half] = Cache(
    "query vectors", key="embedder, text", max_items=1024, invalidated_by="nothing: an embedder of this machine is a function",
    saves="embedding a query again",
)  # fmt: skip


def query_vector(embedder: Embedder, text: str) -> statements.Half:
    """A query as the database reads it; what an embedder of this machine made of a text is remembered."""
    key = embedder.embedded_by, text
    found = query_vectors.get(key) if embedder.is_local else None
    if found is None:
        found = statements.Half.of(embedder.embed([text], seconds=EMBEDDER_SECONDS)[0])
        if embedder.is_local:
            query_vectors.put(key, found)
    return found


def related_threshold(embedder: Embedder) -> float:
    """From which cosine two entries may be about one thing, in this embedder's own measure."""
    return embedder.threshold + 0.3 * (1 - embedder.threshold)


def duplicate_threshold(embedder: Embedder) -> float:
    """From which cosine two entries probably say the same."""
    return embedder.threshold + 0.7 * (1 - embedder.threshold)
