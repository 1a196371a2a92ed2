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
    mine = KnownText("", text)
    return next((name for name, one in known if _is_copy(mine, one)), None)


def _is_copy(mine: KnownText, known: KnownText) -> bool:
    if mine.words == known.words:
        return True
    return 0 < len(mine.lines) == len(known.lines) and all(duplicate.is_in(line, known) for line in mine.lines)
