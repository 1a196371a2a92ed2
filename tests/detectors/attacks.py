"""Texts made from the pieces of a pattern, to keep it busy: a beginning that fits, one of its repeats again and again, an end that does not."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from typing import Any

parser: Any = importlib.import_module("re._parser")
named: Any = importlib.import_module("re._constants")
REPEATS = (named.MAX_REPEAT, named.MIN_REPEAT, named.POSSESSIVE_REPEAT)
LONG = 30
"""From so many times on a repeat counts as one without an end."""
SAMPLE = "a xZ1-_.,:'\"/\n!q"
CATEGORIES = {
    named.CATEGORY_SPACE: " ", named.CATEGORY_DIGIT: "1", named.CATEGORY_NOT_SPACE: "a", named.CATEGORY_NOT_WORD: "-",
    named.CATEGORY_NOT_DIGIT: "a", named.CATEGORY_WORD: "aA1_",
}  # fmt: skip


def attacks(pattern: str, size: int, seed: int = 1) -> Iterator[str]:
    """Texts of about `size` characters."""
    chance = random.Random(seed)
    tree = list(parser.parse(pattern))
    units = {("", made(tree, chance)[:length]) for length in (1, 3, 9, 40, 400)}
    for before, inner in repeats(tree, "", chance):
        one, other = made(inner, chance) or "a", made(inner, chance)
        units |= {(before, one), (before, one + other)}
    for before, unit in sorted(units):
        if unit:
            for end in ("\x01", "!\n"):
                yield before + unit * (size // len(unit)) + end


def repeats(items: list[Any], before: str, chance: random.Random) -> Iterator[tuple[str, list[Any]]]:
    """What stands before each long repeat, and what it repeats."""
    for kind, value in items:
        if kind in REPEATS:
            if value[1] > LONG:
                yield before, list(value[2])
            yield from repeats(list(value[2]), before, chance)
        for part in parts(kind, value):
            yield from repeats(part, before, chance)
        before += made([(kind, value)], chance)


def parts(kind: Any, value: Any) -> list[list[Any]]:
    if kind is named.SUBPATTERN:
        return [list(value[3])]
    if kind is named.BRANCH:
        return [list(branch) for branch in value[1]]
    if kind in (named.ASSERT, named.ASSERT_NOT):
        return [list(value[1])]
    return [list(value)] if kind is named.ATOMIC_GROUP else []


def made(items: list[Any], chance: random.Random) -> str:
    """A text that fits, apart from what is asked of its surroundings."""
    return "".join(one(kind, value, chance) for kind, value in items)


def one(kind: Any, value: Any, chance: random.Random) -> str:
    if kind in REPEATS:
        least, most, inner = value
        times = min(max(least, chance.choice([least, 1, 2, 3])), most, 60)
        return "".join(made(list(inner), chance) for _ in range(times))
    if kind in (named.AT, named.ASSERT, named.ASSERT_NOT):
        return ""
    if found := parts(kind, value):
        return made(chance.choice(found), chance)
    if kind is named.LITERAL:
        return chr(value)
    return character(value, chance) if kind is named.IN else "x"


def character(choices: list[Any], chance: random.Random) -> str:
    """A character of a class; of one that excludes, one that it does not."""
    found = [sign for kind, value in choices for sign in signs(kind, value, chance)]
    if choices[0][0] is named.NEGATE:
        return next((sign for sign in chance.sample(SAMPLE, len(SAMPLE)) if sign not in found), "é")
    return chance.choice(found)


def signs(kind: Any, value: Any, chance: random.Random) -> str:
    if kind is named.LITERAL:
        return chr(value)
    if kind is named.RANGE:
        return chr(value[0]) + chr(chance.randint(*value))
    return CATEGORIES.get(value, "a") if kind is named.CATEGORY else ""
