"""Scripts that write without blanks between words: they are read in pairs of neighbouring characters."""

from __future__ import annotations

import re

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")


def pieces(word: str) -> list[str]:
    """A word as it is, or the pairs of its stretches in such a script."""
    found: list[str] = []
    for run in _RUN.findall(word):
        found.extend(_pairs(run) if IS_UNSPACED.match(run) else [run])
    return found


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
