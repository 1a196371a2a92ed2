"""What gives way when a prompt is over its budget: whole things, in a visible order, never in silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from . import tokens
from ._shapes import CUT_ORDER, Ingredients, Warn

NAMES = {"working": "working memory", "longterm": "long-term memory", "source": "sources"}


@dataclass(frozen=True, slots=True)
class Drop:
    """One thing that may give way: an entry of a layer by its place, or a source."""

    kind: str
    index: int


def drops(memory: Ingredients) -> list[Drop]:
    """Everything that may give way, first to go first: the oldest, the least alike, the last listed."""
    named = [kind for kind in memory.cut_order if kind in CUT_ORDER]
    order = named + [kind for kind in CUT_ORDER if kind not in named]
    found: list[Drop] = []
    for kind in order:
        if kind == "source":
            found += [Drop(kind, index) for index in reversed(range(len(memory.sources))) if memory.sources[index].text]
            continue
        entries = getattr(memory, kind)
        weakest = sorted(range(len(entries)), key=lambda i: (entries[i].score, entries[i].created_at, -i))
        found += [Drop(kind, index) for index in weakest]
    return found


def without(memory: Ingredients, gone: list[Drop]) -> Ingredients:
    """The ingredients after these have given way; a source keeps its place in the list with an empty text."""
    away = {(drop.kind, drop.index) for drop in gone}
    return replace(
        memory,
        sources=tuple(
            replace(source, text="") if ("source", i) in away else source for i, source in enumerate(memory.sources)
        ),
        working=tuple(entry for i, entry in enumerate(memory.working) if ("working", i) not in away),
        longterm=tuple(entry for i, entry in enumerate(memory.longterm) if ("longterm", i) not in away),
    )


def fit(memory: Ingredients, size: Callable[[Ingredients], int]) -> list[Drop]:
    """The fewest things, in their order, that must give way for the prompt to fit its budget."""
    assert memory.budget is not None
    order = drops(memory)
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if tokens.of_bytes(size(without(memory, order[:middle]))) <= memory.budget:
            high = middle
        else:
            low = middle + 1
    return order[:low]


def tell(memory: Ingredients, gone: list[Drop]) -> list[Warn]:
    """One warning for each source and each layer that gave way, with what exactly is missing."""
    found = []
    for kind in ("working", "longterm"):
        count = sum(drop.kind == kind for drop in gone)
        if count:
            said = f"{count} of {len(getattr(memory, kind))} entries of {NAMES[kind]} are left out to keep the budget."
            found.append(Warn("cut", None, said))
    for drop in gone:
        if drop.kind == "source":
            source = memory.sources[drop.index]
            size = tokens.estimate(source.text or "")
            said = f"{source.path} ({size:,} tokens) is left out whole to keep the budget."
            found.append(Warn("cut", source.path, said))
    return found


def over(memory: Ingredients, size: int, *, cuts: bool) -> list[Warn]:
    """The warning that the budget does not hold, and why nothing more gives way."""
    if memory.budget is None or tokens.of_bytes(size) <= memory.budget:
        return []
    why = "nothing that may give way is left" if cuts else "this framework takes memory whole, so nothing is cut"
    said = f"This prompt takes {tokens.of_bytes(size):,} tokens, its budget is {memory.budget:,}; {why}."
    return [Warn("over_budget", None, said)]
