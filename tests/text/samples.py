"""Texts made up from lines with every kind of end, and a stop watch."""

from __future__ import annotations

import time
from collections.abc import Callable

from hypothesis import strategies as st

lines = st.lists(
    st.sampled_from(["a\n", "b\n", "\n", "c d\n", "c  d\n", "é\r\n", "\ud800\x00\n", "long enough line\n"])
)
texts = st.builds(lambda ls, end: "".join(ls) + end, lines, st.sampled_from(["", "last", "\r"]))


def clock(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
