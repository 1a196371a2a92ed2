"""What loading a program costs beside its modules."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Switches the garbage collector off during imports, where it would take a sixth of a start. What was made meanwhile is never
    collected, so this is for processes that end soon."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
