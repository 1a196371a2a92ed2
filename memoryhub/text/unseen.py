"""Characters that no font draws, or that change how others are drawn (pure)."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

# The joiner and the selector of an emoji are left alone.
UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\u0335-\u0338\u0488\u0489\u20d2\u20d3\u20d8-\u20da\u20dd-\u20e0\u20e2\u20e4-\u20e6\u20ea\u20eb"  # over letters: they strike them out
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SIGN = r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"  # emoji among them
# More marks on one letter than any language writes: they pile up over the lines above.
PILING = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
UNSEEN_CHARACTER = re.compile(rf"[{UNSEEN}]|(?<![{_SIGN}])\ufe0f|(?<=[{PILING}]{{4}})[{PILING}]")
EMOJI_JOINER = re.compile(rf"(?<=[{_SIGN}\ufe0f])\u200d(?=[{_SIGN}])")


def spelled_out(text: str) -> str:
    """The text as plain text for a mail, a chat or a terminal, with unseen and control characters written as <U+…>."""
    if text.isascii() and text.isprintable():
        return text
    joiners = {match.start() for match in EMOJI_JOINER.finditer(text)} if "\u200d" in text else set()
    return "".join(
        f"<U+{ord(char):04X}>" if at not in joiners and _is_unseen(char, text[at - 1 : at]) else char
        for at, char in enumerate(text)
    )


def _is_unseen(char: str, before: str) -> bool:
    if char in "\n\t" or (char.isascii() and char.isprintable()):
        return False
    # A category too: what later versions of Unicode add to these is not in the list.
    return bool(UNSEEN_CHARACTER.search(before + char, len(before))) or unicodedata.category(char) in (
        "Cc", "Cf", "Cs", "Zl", "Zp",
    )  # fmt: skip


MAX_LINE_CHARS = 20_000  # of a line, more is drawn on request only
MAX_UNSEEN_CHARS = 500  # each of them becomes a label of its own


def drawn_length(text: str) -> int:
    """How many characters of a line are drawn at first."""
    if len(text) <= MAX_UNSEEN_CHARS or (text.isprintable() and len(text) <= MAX_LINE_CHARS):
        return len(text)
    past = next(islice(UNSEEN_CHARACTER.finditer(text, 0, MAX_LINE_CHARS), MAX_UNSEEN_CHARS, None), None)
    return past.start() if past else min(len(text), MAX_LINE_CHARS)
