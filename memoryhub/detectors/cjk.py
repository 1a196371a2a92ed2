"""Chinese, Japanese and Korean, and with them Thai, Lao, Burmese and Khmer: scripts without blanks between words.

Texts in them are compared and searched by pairs of neighbouring characters.
"""

from __future__ import annotations

from .patterns import plain

_CHARACTERS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
CJK = plain(f"[{_CHARACTERS}]")
_RUN = plain(f"[{_CHARACTERS}]+|[^{_CHARACTERS}]+")


def bigrams(word: str) -> list[str]:
    """A word, with each stretch in such a script replaced by its pairs of neighbouring characters."""
    found: list[str] = []
    for run in _RUN.findall(word):
        found.extend(_pairs(run) if CJK.match(run) else [run])
    return found


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
