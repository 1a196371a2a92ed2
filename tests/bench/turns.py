"""Clocks for calls in this process: several ways of one thing in turns, round by round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import repeat
from typing import TypeVar

ROUNDS = 5
BLOCK = 10  # calls of one way before the next one has its turn

Call = Callable[[], object]
Name = TypeVar("Name", bound=Hashable)


def in_turns(
    calls: Mapping[Name, Call], rounds: int = ROUNDS, times: int = 60, *, first: int = 20, block: int = BLOCK
) -> dict[Name, list[float]]:
    """Each round's median of so many calls, in milliseconds; `first` calls of each are made before and not counted.

    A busy machine slows all of them alike, and each still finds the processor's caches as it left them.
    """
    taken: dict[Name, list[float]] = {name: [] for name in calls}
    for number, count in enumerate([first, *repeat(times, rounds)]):
        found: dict[Name, list[float]] = {name: [] for name in calls}
        for start in range(0, count, block):
            for name, call in calls.items():
                found[name] += [clock(call) for _ in range(min(block, count - start))]
        if number:
            for name, each in found.items():
                taken[name].append(statistics.median(each))
    return taken


def medians(call: Call, rounds: int = ROUNDS, times: int = 60, *, first: int = 20) -> list[float]:
    """Each round's median of one call, in milliseconds."""
    return in_turns({"": call}, rounds, times, first=first)[""]


def clock(call: Call) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def ratios(ours: Iterable[float], theirs: Iterable[float]) -> list[float]:
    """Round by round."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def against(ours: list[float], theirs: list[float], unit: str = "ms") -> str:
    """The medians of both, for the brackets behind a ratio."""
    return f"{statistics.median(ours):.3g} {unit} against {statistics.median(theirs):.3g}"
