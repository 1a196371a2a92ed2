"""Which embedder serves a space, and whether it can be asked just now."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from memoryhub import embedders
from memoryhub.domain import hot
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.errors import Invalid
from memoryhub.models import Space

SECONDS = 2.0  # what a request waits for an embedder at most; a job has its own patience


def choice(space: Space) -> str:
    """The embedder whose vectors serve the space: the one it was last switched to, else the one of the settings."""
    return space.settings.get("embedder") or settings.EMBEDDER


def load(named: str) -> Embedder:
    environ = {"MEMORYHUB_EMBEDDER_URL": settings.EMBEDDER_URL, "MEMORYHUB_EMBEDDER_KEY": settings.EMBEDDER_KEY}
    return embedders.load(named, environ)


def serving(space: Space) -> Embedder:
    """The embedder of the space; one that is configured no longer counts as away."""
    try:
        return load(choice(space))
    except Invalid as refusal:
        raise EmbedderUnavailable(refusal.message) from refusal


def keep(space: Space) -> None:
    """Writes down which embedder a space began with (in the caller's transaction), so that a new setting switches nothing."""
    if not space.settings.get("embedder"):
        space.settings["embedder"] = settings.EMBEDDER
        space.save(update_fields=["settings"])


def query_vector(embedder: Embedder, text: str) -> hot.Half:
    """A query as the database reads it; what an embedder of this machine made of a text is remembered."""
    if not embedder.is_local:
        return embedded(embedder, text)
    return remembered(embedder, text)  # type: ignore[arg-type]  # embedders are plain objects, which hash by identity


def embedded(embedder: Embedder, text: str) -> hot.Half:
    return hot.Half.of(embedder.embed([text], seconds=SECONDS)[0])


remembered = lru_cache(maxsize=1024)(embedded)


def as_sql(vector: object) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"  # type: ignore[attr-defined]


def near_from(embedder: Embedder) -> float:
    """From which cosine two entries may be about one thing, in this embedder's own measure."""
    return embedder.threshold + 0.3 * (1 - embedder.threshold)


def same_from(embedder: Embedder) -> float:
    """From which cosine two entries probably say the same."""
    return embedder.threshold + 0.7 * (1 - embedder.threshold)
