"""Which text says what another one says already, line for line, word for word or nearly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from . import duplicate
from .known_texts import KnownText

N = TypeVar("N")


def first_copy(text: str, known: Iterable[tuple[N, KnownText]]) -> N | None:
    """The name of the first of these texts that has the same words, or as many lines, of which each says nearly what a line of
    `text` says."""
    mine, others = KnownText("", text), list(known)
    alike = [one for _, one in others if 0 < len(mine.lines) == len(one.lines)]
    for line in mine.lines:
        alike = duplicate.with_line(line, alike)
    return next((name for name, one in others if one.words == mine.words or one in alike), None)
