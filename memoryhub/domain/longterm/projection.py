"""Vectors as a picture in two dimensions (pure): near means alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memoryhub.text import key_phrases

MARGIN, IN_RING = 24, 12  # beside all that is drawn, and around the entries of a ring
AROUND_REGION = 0.02  # of the whole
MAX_REGIONS = 7
ROUNDS = 12  # of k-means


@dataclass(frozen=True, slots=True)
class Ring:
    """An ellipse around entries that say nearly the same."""

    x: float
    y: float
    rx: float
    ry: float
    members: tuple[int, ...]


Box = tuple[float, float, float, float]
"""A part of the whole: left, top, right, bottom, each from 0 to 1."""
WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Region:
    """Points that lie together, what they are about, and the part of the whole that they take up."""

    name: str
    members: tuple[int, ...]
    x: float
    top: float
    bottom: float
    box: Box


@dataclass(frozen=True, slots=True)
class Picture:
    """Where vectors lie: the two directions in which those that made it differ most, stretched to fill the whole."""

    mean: np.ndarray
    axes: np.ndarray
    low: np.ndarray
    span: np.ndarray  # 0 where all lie on one place

    def places(self, vectors: np.ndarray) -> np.ndarray:
        """A place from 0 to 1 for each vector; one that is unlike all that made the picture lies at its edge."""
        flat = (np.asarray(vectors, dtype=np.float64) - self.mean) @ self.axes.T
        unit = (flat - self.low) / np.where(self.span > 0, self.span, 1.0)
        return np.clip(np.where(self.span > 0, unit, 0.5), 0.0, 1.0)


def picture(vectors: np.ndarray) -> Picture:
    mean = np.asarray(np.mean(vectors, axis=0, dtype=np.float64))
    axes = principal(np.asarray(vectors, dtype=np.float64) - mean)
    flat = (np.asarray(vectors, dtype=np.float64) - mean) @ axes.T
    low, high = flat.min(axis=0), flat.max(axis=0)
    return Picture(mean, axes, low, np.where(high - low > 1e-9, high - low, 0.0))


def principal(centred: np.ndarray) -> np.ndarray:
    """The first two principal axes; their signs are fixed, so that the same entries give the same picture."""
    axes = np.linalg.eigh(centred.T @ centred)[1].T[::-1][:2]
    if len(axes) < 2:
        axes = np.vstack([axes, np.zeros((2 - len(axes), centred.shape[1]))])
    signs = np.array([1.0 if axis[np.argmax(np.abs(axis))] >= 0 else -1.0 for axis in axes])
    return axes * signs[:, None]


def drawn(places: np.ndarray, box: Box, width: int, height: int) -> list[tuple[float, float]]:
    """Where places within a part of the whole are drawn when this part fills the frame."""
    low, high = np.array(box[:2]), np.array(box[2:])
    unit = (places - low) / np.maximum(high - low, 1e-9)
    points = unit * [width - 2 * MARGIN, height - 2 * MARGIN] + MARGIN
    return [(round(float(x), 1), round(float(y), 1)) for x, y in points]


def within(places: np.ndarray, box: Box) -> np.ndarray:
    """Which places lie in a part of the whole."""
    return np.all((places >= np.array(box[:2]) - 1e-9) & (places <= np.array(box[2:]) + 1e-9), axis=1)


def regions(places: np.ndarray, phrases: Sequence[Mapping[str, str]]) -> list[Region]:
    """Points that lie together, each group called by its most telling phrase; groups that no phrase tells apart have no name."""
    count = min(MAX_REGIONS, len(places) // 5)
    if count < 2:
        return []
    member_of = together(places, count)
    everywhere = Counter(key for one in phrases for key in one)
    found: list[Region] = []
    for number in range(count):
        members = np.flatnonzero(member_of == number)
        name = ""
        if len(members) > 2:
            name = key_phrases.key_phrase([phrases[int(at)] for at in members], everywhere, len(phrases))
        if name and name not in {one.name for one in found}:
            mine = places[members]
            middle, low, high = float(np.median(mine[:, 0])), float(mine[:, 1].min()), float(mine[:, 1].max())
            found.append(Region(name, tuple(int(at) for at in members), middle, low, high, around(mine)))
    return sorted(found, key=lambda one: -len(one.members))


def together(places: np.ndarray, count: int) -> np.ndarray:
    """Which of so many groups each place belongs to (k-means, begun from the places farthest apart)."""
    centres = [places.mean(axis=0)]
    for _ in range(count):
        far = np.min([np.sum((places - one) ** 2, axis=1) for one in centres], axis=0)
        centres.append(places[int(np.argmax(far))])
    middle = np.array(centres[1:])
    nearest = np.zeros(len(places), dtype=int)
    for _ in range(ROUNDS):
        nearest = np.argmin(((places[:, None] - middle[None]) ** 2).sum(axis=2), axis=1)
        middle = np.array(
            [places[nearest == at].mean(axis=0) if (nearest == at).any() else middle[at] for at in range(count)]
        )
    return nearest


def around(places: np.ndarray) -> Box:
    """The part of the whole that holds these places, without being so small that nothing is gained by looking closer."""
    low, high = places.min(axis=0) - AROUND_REGION, places.max(axis=0) + AROUND_REGION
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    return tuple(round(float(value), 3) for value in (*low, *high))  # type: ignore[return-value]


def groups(vectors: np.ndarray, same_from: float) -> list[list[int]]:
    """Positions of vectors that are alike, directly or through others; only groups of two and more."""
    if len(vectors) < 2:
        return []
    alike = np.asarray(vectors, dtype=np.float32) @ np.asarray(vectors, dtype=np.float32).T >= same_from
    seen: set[int] = set()
    found = []
    for start in range(len(vectors)):
        group, todo = [], [start]
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                group.append(at)
                todo.extend(int(other) for other in np.flatnonzero(alike[at]) if int(other) not in seen)
        if len(group) > 1:
            found.append(sorted(group))
    return found


def rings(points: list[tuple[float, float]], members: list[list[int]]) -> list[Ring]:
    """An ellipse around each group's points."""
    found = []
    for group in members:
        xs, ys = [points[at][0] for at in group], [points[at][1] for at in group]
        x, y = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
        found.append(
            Ring(
                round(x, 1),
                round(y, 1),
                (max(xs) - min(xs)) / 2 + IN_RING,
                (max(ys) - min(ys)) / 2 + IN_RING,
                tuple(group),
            )
        )
    return found
