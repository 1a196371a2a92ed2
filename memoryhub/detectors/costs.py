"""What one text may cost: time of a processor and pieces looked at, counted between the pieces.

RE2 and pieces of bounded length keep each step short; this keeps their number in bounds, for whatever nobody thought of.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from memoryhub.errors import TooLarge

SECONDS, SECONDS_PER_CHARACTER = 0.4, 0.9e-6
PIECES, PIECES_PER_CHARACTER = 100_000, 3
_LOOK = 32  # pieces, of all threads together, from one look at the clock to the next
_pieces = count()


class TooCostly(TooLarge):
    """Checking a text takes too long. Whoever has to be sure of a text lets this end the call: it becomes a 413."""

    def __init__(self) -> None:
        super().__init__(
            "This text takes too long to check for secrets and hidden orders. Send it in smaller parts, or leave out what repeats.",
            code="too_costly",
        )


class _Spent(threading.local):
    seconds: float | None = None  # what is allowed, where something is
    until = math.inf  # of the processor's time
    earliest = math.inf  # when it can be so late, on the wall's clock
    looks_left = math.inf


_spent = _Spent()


@contextmanager
def limited(characters: int, seconds: float | None = None) -> Iterator[None]:
    """Counts what the checks inside cost; those of a text inside of another's count as its."""
    if _spent.seconds is not None:
        yield
        return
    _spent.seconds = SECONDS + SECONDS_PER_CHARACTER * characters if seconds is None else seconds
    _spent.looks_left = (PIECES + PIECES_PER_CHARACTER * characters) // _LOOK
    try:
        yield
    finally:
        _spent.seconds, _spent.until, _spent.looks_left = None, math.inf, math.inf


def spend() -> None:
    """One more piece; TooCostly where the text has had its share."""
    if next(_pieces) % _LOOK == 0 and _spent.seconds is not None:
        _spent.looks_left -= 1
        if _spent.looks_left < 0 or _is_late(_spent.seconds):
            raise TooCostly


def _is_late(seconds: float) -> bool:
    """Whether the processor worked for so long since the first look. Asking for its time can take a millisecond, so it is asked
    only once that much time went by on the wall's clock."""
    now = time.perf_counter()
    if _spent.until == math.inf:
        _spent.until, _spent.earliest = time.thread_time() + seconds, now + seconds
    if now <= _spent.earliest:
        return False
    left = _spent.until - time.thread_time()
    _spent.earliest = now + left
    return left < 0
