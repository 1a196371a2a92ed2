"""What is left out of a prompt that is over its budget: whole entries and sources, in a fixed order, each with a warning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ._shapes import CUT_ORDER, Ingredients, Warn
from .size import tokens_of_bytes, tokens_of_text

NAMES = {"working": "working memory", "longterm": "long-term memory", "source": "sources"}


@dataclass(frozen=True, slots=True)
class Drop:
    """One thing that may be left out: an entry of a layer by its place, or a source."""

    kind: str
    index: int


def drops(memory: Ingredients) -> list[Drop]:
    """Everything that may be left out, in that order: within a kind the oldest, the least alike, the last listed first.

    Files of a `views` mount come before all else."""
    named = [kind for kind in memory.cut_order if kind in CUT_ORDER]
    order = named + [kind for kind in CUT_ORDER if kind not in named]
    cut = [Drop("source", index) for index in reversed(range(len(memory.sources))) if memory.sources[index].text]
    found = [drop for drop in cut if memory.sources[drop.index].is_view]
    for kind in order:
        if kind == "source":
            found += [drop for drop in cut if not memory.sources[drop.index].is_view]
            continue
        entries = getattr(memory, kind)
        weakest = sorted(range(len(entries)), key=lambda i: (entries[i].score, entries[i].created_at, -i))
        found += [Drop(kind, index) for index in weakest]
    return found


def without(memory: Ingredients, dropped: list[Drop]) -> Ingredients:
    """The ingredients without these; a source keeps its place in the list with an empty text."""
    left_out = {(drop.kind, drop.index) for drop in dropped}
    return replace(
        memory,
        sources=tuple(
            replace(source, text="") if ("source", i) in left_out else source for i, source in enumerate(memory.sources)
        ),
        working=tuple(entry for i, entry in enumerate(memory.working) if ("working", i) not in left_out),
        longterm=tuple(entry for i, entry in enumerate(memory.longterm) if ("longterm", i) not in left_out),
    )


def fit(memory: Ingredients, size: Callable[[Ingredients], int]) -> list[Drop]:
    """The fewest things, in their order, that must be left out for the prompt to fit its budget."""
    assert memory.budget is not None
    order = drops(memory)
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if tokens_of_bytes(size(without(memory, order[:middle]))) <= memory.budget:
            high = middle
        else:
            low = middle + 1
    return order[:low]


def warn_of_cuts(memory: Ingredients, dropped: list[Drop]) -> list[Warn]:
    """One warning for each source and each layer that was cut, with what exactly is missing."""
    found = []
    for kind in ("working", "longterm"):
        count = sum(drop.kind == kind for drop in dropped)
        if count:
            message = (
                f"{count} of {len(getattr(memory, kind))} entries of {NAMES[kind]} are left out to keep the budget."
            )
            found.append(Warn("cut", None, message))
    for drop in dropped:
        if drop.kind == "source":
            source = memory.sources[drop.index]
            size = tokens_of_text(source.text or "")
            message = f"{source.path} ({size:,} tokens) is left out whole to keep the budget."
            found.append(Warn("cut", source.path, message))
    return found


def warn_of_excess(memory: Ingredients, size: int, *, cuts: bool) -> list[Warn]:
    """The warning that the budget is exceeded, and why nothing more is left out."""
    if memory.budget is None or tokens_of_bytes(size) <= memory.budget:
        return []
    why = "nothing that may give way is left" if cuts else "this framework takes memory whole, so nothing is cut"
    message = f"This prompt takes {tokens_of_bytes(size):,} tokens, its budget is {memory.budget:,}; {why}."
    return [Warn("over_budget", None, message)]
