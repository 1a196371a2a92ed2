"""The map of long-term memory: every entry as a point, drawn from the vectors that serve the space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.db import connection
from django.utils import timezone

from memoryhub.domain import longterm, maps, meaning
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.models import LongtermEntry, Space

MOST = 800
WIDTH, HEIGHT = 560, 384

VECTORS = """
SELECT c.entry_id, avg(e.vector::vector)::text FROM memoryhub_chunk c
JOIN memoryhub_embedding e ON e.space_id = c.space_id AND e.chunk_id = c.id AND e.embedded_by = %s
WHERE c.space_id = %s AND c.entry_id = ANY(%s) GROUP BY c.entry_id
"""


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    number: int
    title: str
    is_own: bool
    is_due: bool

    @property
    def left(self) -> float:
        return self.x - 3

    @property
    def top(self) -> float:
        return self.y - 3


@dataclass(frozen=True)
class Map:
    points: list[Point]
    rings: list[maps.Ring]
    is_partial: bool
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def due(self) -> list[Point]:
        return [point for point in self.points if point.is_due]


def draw(space: Space) -> Map | None:
    """The newest entries as a picture; nothing while the embedder cannot be asked for what it is called."""
    try:
        embedder = meaning.serving(space)
    except EmbedderUnavailable:
        return None
    entries = list(longterm.of(space).filter(state=longterm.ACTIVE).order_by("-number")[: MOST + 1])
    shown, vectors = with_vectors(space, embedder.embedded_by, entries[:MOST])
    if not shown:
        return None
    points = maps.place(vectors, WIDTH, HEIGHT)
    members = maps.groups(vectors, meaning.same_from(embedder))
    today = timezone.localdate()
    drawn = [
        Point(
            x,
            y,
            one.number,
            longterm.title(one.content),
            one.scope == "agent",
            bool(one.review_by and one.review_by <= today),
        )
        for one, (x, y) in zip(shown, points, strict=True)
    ]
    return Map(drawn, maps.rings(points, members), len(entries) > MOST)


def with_vectors(
    space: Space, embedded_by: str, entries: list[LongtermEntry]
) -> tuple[list[LongtermEntry], np.ndarray]:
    """The entries that have vectors, and the mean vector of each one's chunks, of length one."""
    with connection.cursor() as cursor:
        cursor.execute(VECTORS, [embedded_by, space.pk, [one.pk for one in entries]])
        found = {pk: np.fromstring(text[1:-1], dtype=np.float32, sep=",") for pk, text in cursor.fetchall()}
    shown = [one for one in entries if one.pk in found]
    if not shown:
        return [], np.zeros((0, 0), dtype=np.float32)
    vectors = np.stack([found[one.pk] for one in shown])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return shown, vectors / np.where(lengths > 0, lengths, 1)
