"""The map of long-term memory: every entry as a point, drawn from the vectors that serve the space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.domain import retrieval
from memoryhub.domain.longterm import entries, projection
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.models import Space
from memoryhub.text import key_phrases

MAX_ENTRIES = 800
WIDTH, HEIGHT = 560, 384
MAX_TWINS = 30  # groups of entries that nearly say the same, at most

# The planner would join whole tables; the newest entries are few, so each is looked up by its key.
ENTRIES = f"""
SELECT e.id, e.number, left(e.content, {entries.BEGINNING}), e.scope, v.vector
FROM (
    SELECT id, number, content, scope FROM memoryhub_longtermentry
    WHERE space_id = %(space)s AND state = 'active' ORDER BY number DESC LIMIT {MAX_ENTRIES}
) e CROSS JOIN LATERAL (
    SELECT id FROM memoryhub_chunk WHERE space_id = %(space)s AND entry_id = e.id ORDER BY position LIMIT 4
) c CROSS JOIN LATERAL (
    SELECT vector FROM memoryhub_embedding
    WHERE space_id = %(space)s AND chunk_id = c.id AND embedded_by = %(by)s LIMIT 1
) v ORDER BY e.number DESC
"""  # noqa: S608 (only numbers of ours are put in)


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    number: int
    title: str
    is_own: bool
    is_due: bool
    has_twin: bool

    @property
    def left(self) -> float:
        return self.x - 3

    @property
    def top(self) -> float:
        return self.y - 3


@dataclass(frozen=True, slots=True)
class Label:
    """A name on the map: a link to its part, drawn larger."""

    name: str
    count: int
    x: float
    y: float
    part: str


@dataclass(frozen=True, slots=True)
class Twins:
    """Entries that nearly say the same: a ring around them, and who they are."""

    ring: projection.Ring
    numbers: tuple[int, ...]
    title: str


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A text that somebody wants to keep, and is not in yet: what it is called here, where one decides, whom it is like."""

    vector: statements.Half
    name: str
    title: str
    url: str = ""
    near: dict[int, float] = field(default_factory=dict)  # cosine by the number of an entry


@dataclass(frozen=True, slots=True)
class PlacedNewcomer:
    """A newcomer at its place, with the points that it is like."""

    x: float
    y: float
    one: Newcomer
    near: list[tuple[Point, float]]

    @property
    def is_left(self) -> bool:
        """Whether its name has room on its right side."""
        return self.x < 0.7 * WIDTH

    @property
    def text_x(self) -> float:
        return self.x + (12 if self.is_left else -12)

    @property
    def text_y(self) -> float:
        return self.y + 4


@dataclass(frozen=True)
class Map:
    points: list[Point]
    labels: list[Label]
    twins: list[Twins]
    whole: int
    is_partial: bool
    part: str = ""
    entering: list[PlacedNewcomer] = field(default_factory=list)
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def due(self) -> list[Point]:
        return [point for point in self.points if point.is_due]


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as far as the map needs it."""

    number: int
    content: str
    is_own: bool


@dataclass(frozen=True, eq=False)  # compared by identity: `_regions` is cached by it
class Survey:
    """What every part of the map is cut out of, and what costs most to compute."""

    entries: list[Shown]
    places: np.ndarray
    twins: list[list[int]]
    phrases: list[dict[str, str]]
    picture: projection.Picture | None = None


def draw_map(space: Space, part: str = "", newcomers: Sequence[Newcomer] = ()) -> Map | None:
    """The newest entries, or a part of them drawn larger, and who is about to enter; nothing while the embedder has no name."""
    try:
        embedder = retrieval.serving_embedder(space)
    except EmbedderUnavailable:
        return None
    ground = survey(space, embedder)
    due = set(entries.due(space).values_list("number", flat=True)[:MAX_ENTRIES])
    return _draw_part(ground, part, due, newcomers) if ground.entries else None


surveys: Cache[Survey] = Cache(
    "maps of long-term memory", key="space, embedder", max_items=16, invalidated_by="the space's revision",
    saves="placing 800 vectors each time somebody opens the map",
)  # fmt: skip


def survey(space: Space, embedder: Embedder) -> Survey:
    """The entries of a space at its revision of now, with their places."""
    key = space.pk, embedder.embedded_by
    found = surveys.get(key, space.revision)
    if found is None:
        found = _survey(space.pk, embedder.embedded_by, retrieval.duplicate_threshold(embedder))
        surveys.put(key, found, space.revision)
    return found


def _survey(space_id: int, embedded_by: str, same_from: float) -> Survey:
    found: dict[int, Shown] = {}
    vectors: dict[int, np.ndarray] = {}
    for pk, number, content, scope, raw in statements.rows(
        ENTRIES, {"space": space_id, "by": embedded_by}, binary=True
    ):
        found[pk] = Shown(number, content, scope == entries.AGENT)
        vector = np.frombuffer(raw, dtype=">f2", offset=4).astype(
            np.float32
        )  # after its dimensions and two spare bytes
        vectors[pk] = vectors[pk] + vector if pk in vectors else vector
    if not found:
        return Survey([], np.zeros((0, 2)), [], [])
    together = np.stack([vectors[pk] for pk in found])
    lengths = np.linalg.norm(together, axis=1, keepdims=True)
    together /= np.where(lengths > 0, lengths, 1)
    phrases = [key_phrases.phrases(one.content) for one in found.values()]
    picture = projection.picture(together)
    return Survey(
        list(found.values()), picture.places(together), projection.groups(together, same_from), phrases, picture
    )


def _draw_part(ground: Survey, part: str, due: set[int], newcomers: Sequence[Newcomer] = ()) -> Map:
    """The part of the ground that an address names, filling the frame (pure)."""
    box = _box(part)
    inside = [int(at) for at in np.flatnonzero(projection.within(ground.places, box))]
    places = ground.places[inside]
    xy = projection.drawn(places, box, WIDTH, HEIGHT)
    position = {at: n for n, at in enumerate(inside)}
    twins = [[position[at] for at in group if at in position] for group in ground.twins]
    twins = [group for group in twins if len(group) > 1][:MAX_TWINS]
    twin = {at for group in twins for at in group}
    shown = [ground.entries[at] for at in inside]
    points = [
        Point(
            *xy[at], one.number, entries.title_of_entry(one.content), one.is_own,
            one.number in due, at in twin,
        )
        for at, one in enumerate(shown)
    ]  # fmt: skip
    rings = projection.rings(xy, twins)
    twin_groups = [
        Twins(ring, tuple(shown[at].number for at in ring.members), points[ring.members[0]].title) for ring in rings
    ]
    whole = len(ground.entries)
    return Map(
        points, _labels(_regions(ground, box), box), twin_groups, whole, whole >= MAX_ENTRIES, part if box != projection.WHOLE else "",
        _place_newcomers(ground, box, newcomers, points),
    )  # fmt: skip


@lru_cache(maxsize=16)
def _regions(ground: Survey, box: projection.Box) -> tuple[projection.Region, ...]:
    """What the parts of a part are called, which costs as much as all else that is drawn of it; stale with the survey alone."""
    inside = [int(at) for at in np.flatnonzero(projection.within(ground.places, box))]
    return tuple(projection.regions(ground.places[inside], [ground.phrases[at] for at in inside]))


def _place_newcomers(
    ground: Survey, box: projection.Box, newcomers: Sequence[Newcomer], points: list[Point]
) -> list[PlacedNewcomer]:
    """Those newcomers that lie in this part (pure); vectors of another length are of an embedder that serves no more."""
    by_number, found = {point.number: point for point in points}, []
    for one in newcomers:
        if ground.picture is not None and one.vector.dimensions == len(ground.picture.mean):
            places = ground.picture.places(one.vector.unit()[None])
            if projection.within(places, box).all():
                ((x, y),) = projection.drawn(places, box, WIDTH, HEIGHT)
                near = [(by_number[number], cosine) for number, cosine in one.near.items() if number in by_number]
                found.append(PlacedNewcomer(x, y, one, near))
    return found


def _labels(named: Sequence[projection.Region], box: projection.Box) -> list[Label]:
    """The names that can be read: one that would stand on another is named below the map alone (`x` is 0)."""
    found: list[Label] = []
    for one in named:
        (x, top), (_, bottom) = projection.drawn(np.array([[one.x, one.top], [one.x, one.bottom]]), box, WIDTH, HEIGHT)
        y = top - 12 if top > 28 else bottom + 20  # above its points where there is room
        half = 3.4 * len(one.name)
        edge = min(1.65 * half + 4, WIDTH / 2)  # on a phone its letters are that much larger, beside the picture
        x, y = min(max(x, edge), WIDTH - edge), min(max(y, 20), HEIGHT - 8)
        is_free = all(
            abs(y - other.y) > 16 or abs(x - other.x) > half + 3.4 * len(other.name) for other in found if other.x
        )
        part = "-".join(f"{value:g}" for value in one.box)
        found.append(Label(one.name, len(one.members), round(x, 1) if is_free else 0, round(y, 1), part))
    return found


def _box(part: str) -> projection.Box:
    """The part that an address names; anything else is the whole."""
    try:
        left, top, right, bottom = (float(value) for value in part.split("-"))
    except ValueError:
        return projection.WHOLE
    is_box = 0 <= left < right <= 1 and 0 <= top < bottom <= 1
    return (left, top, right, bottom) if is_box else projection.WHOLE
