"""Vectors as a picture in two dimensions (pure): near means alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Ring:
    """An ellipse around entries that say nearly the same."""

    x: float
    y: float
    rx: float
    ry: float
    members: tuple[int, ...]


def place(vectors: np.ndarray, width: int, height: int, margin: int = 24) -> list[tuple[float, float]]:
    """A point for each vector: the two directions in which they differ most, stretched to fill the frame."""
    count = len(vectors)
    if count == 0:
        return []
    flat = principal(vectors)
    low, high = flat.min(axis=0), flat.max(axis=0)
    span = np.where(high - low > 1e-9, high - low, 1.0)
    unit = np.where(high - low > 1e-9, (flat - low) / span, 0.5)
    points = unit * [width - 2 * margin, height - 2 * margin] + margin
    return [(round(float(x), 1), round(float(y), 1)) for x, y in points]


def principal(vectors: np.ndarray) -> np.ndarray:
    """The first two principal components; their signs are fixed, so that the same entries give the same picture."""
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    if len(axes) < 2:
        axes = np.vstack([axes, np.zeros((2 - len(axes), centred.shape[1]))])
    signs = np.array([1.0 if axis[np.argmax(np.abs(axis))] >= 0 else -1.0 for axis in axes])
    return centred @ (axes * signs[:, None]).T


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


def rings(points: list[tuple[float, float]], members: list[list[int]], room: float = 12) -> list[Ring]:
    """An ellipse around each group's points."""
    found = []
    for group in members:
        xs, ys = [points[at][0] for at in group], [points[at][1] for at in group]
        x, y = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
        found.append(
            Ring(round(x, 1), round(y, 1), (max(xs) - min(xs)) / 2 + room, (max(ys) - min(ys)) / 2 + room, tuple(group))
        )
    return found
