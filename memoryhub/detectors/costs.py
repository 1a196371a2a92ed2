"""What one text may cost: time of a processor and pieces looked at, counted between the pieces.

RE2 and pieces of bounded length keep each step short; this keeps their number in bounds, for whatever nobody thought of.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memoryhub.errors import TooLarge

SECONDS, SECONDS_PER_CHARACTER = 0.4, 1.1e-6
PIECES, PIECES_PER_CHARACTER = 100_000, 3
_LOOK_AT_CLOCK = 32  # pieces from one look to the next


class TooCostly(TooLarge):
    """Checking a text takes too long. Whoever has to be sure of a text lets this end the call: it becomes a 413."""

    def __init__(self) -> None:
        super().__init__(
            "This text takes too long to check for secrets and hidden orders. Send it in smaller parts, or leave out what repeats.",
            code="too_costly",
        )


class _Spent(threading.local):
    until = math.inf
    pieces = 0
    most = math.inf


_spent = _Spent()


@contextmanager
def limited(characters: int, seconds: float | None = None) -> Iterator[None]:
    """Counts what the checks inside cost; those of a text inside of another's count as its."""
    if _spent.most != math.inf:
        yield
        return
    allowed = SECONDS + SECONDS_PER_CHARACTER * characters if seconds is None else seconds
    _spent.until, _spent.pieces = time.thread_time() + allowed, 0
    _spent.most = PIECES + PIECES_PER_CHARACTER * characters
    try:
        yield
    finally:
        _spent.until = _spent.most = math.inf


def spend() -> None:
    """One more piece; TooCostly where the text has had its share."""
    _spent.pieces += 1
    if _spent.pieces % _LOOK_AT_CLOCK == 0 and (
        _spent.pieces > _spent.most or (_spent.until < math.inf and time.thread_time() > _spent.until)
    ):
        raise TooCostly
