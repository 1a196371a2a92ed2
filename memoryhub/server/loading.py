"""What loading a program costs beside its modules."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """For imports: what modules hold stays, and the collector of garbage would walk through it again and again, a sixth of a
    start. It never looks at it later either, nor at what was garbage by then: this is for processes that end soon."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
