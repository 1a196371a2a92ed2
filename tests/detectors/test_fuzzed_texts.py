"""No text keeps the detectors busy: fifty thousand (in `make attack`) made from secrets, attacks and repetitions, some of them new at each run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from memoryhub import detectors
from tests.fixtures.coherence_texts import COHERENT, INCOHERENT
from tests.fixtures.injection_texts import ATTACKS, MORE_ATTACKS, PLAIN
from tests.fixtures.secret_texts import CLEAN_LINES, secret_lines
from tests.fixtures.shapes import UNITS

ALL = (*detectors.PROPOSAL, "coherence")
TEXTS = 25_000
SLOWEST = 0.5  # seconds of a processor
LENGTH = 300
SIGNS = "aA1_-.:=/\\ \t\n'\"`|<>[](){}*#+,;!?$%&@~^é\u200b\u0430\u0301\U000e0041\u202e无1234567890"
SOURCES = [
    *(line for line, _ in secret_lines()), *CLEAN_LINES, *ATTACKS, *MORE_ATTACKS, *PLAIN, *COHERENT,
    *(text for _, text in INCOHERENT), *(unit for unit in UNITS.values() if "\ud800" not in unit),
]  # fmt: skip


def repeated(text: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    piece = text[start : start + chance.choice((1, 2, 3, 5, 9, 30))]
    return text[:start] + piece * chance.choice((2, 5, 40, 200)) + text[start:]


def spliced(text: str, chance: random.Random) -> str:
    other, at = chance.choice(SOURCES), chance.randrange(len(text) + 1)
    start = chance.randrange(len(other) + 1)
    return text[:at] + other[start : start + chance.choice((4, 20, 200))] + text[at:]


def changed(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return (
        text[:at]
        + "".join(chance.choices(SIGNS, k=chance.choice((1, 1, 3, 12))))
        + text[at + chance.choice((0, 1, 4)) :]
    )


def folded(text: str, chance: random.Random) -> str:
    return chance.choice(
        (str.upper, str.lower, str.title, str.swapcase, lambda one: one[::-1], lambda one: one.replace(" ", ""))
    )(text)


CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    repeated,
    repeated,
    spliced,
    spliced,
    changed,
    changed,
    folded,
)


def mutated(chance: random.Random) -> str:
    text = chance.choice(SOURCES)
    for _ in range(chance.randint(1, 5)):
        text = chance.choice(CHANGES)(text, chance)[-LENGTH:]
    return text


@pytest.mark.parametrize(
    ("seed", "texts"),
    [
        pytest.param(20261119, TEXTS // 40, id="some"),
        pytest.param(20261119, TEXTS, id="fixed", marks=pytest.mark.attack),
        pytest.param(random.SystemRandom().randrange(1 << 32), TEXTS, id="random", marks=pytest.mark.attack),
    ],
)
def test_no_text_takes_half_a_second(seed: int, texts: int) -> None:
    print(f"seed {seed}")  # shown where it fails
    chance = random.Random(seed)
    detectors.find("a first text, so that everything is loaded", only=ALL)
    for _ in range(texts):
        text = mutated(chance)
        start = time.thread_time()
        found = detectors.find(text, only=ALL)
        assert time.thread_time() - start < SLOWEST, text
        assert all(0 <= one.start <= one.end <= len(text) for one in found), text
