"""A text without disguises, as a model reads it, with the offsets of the original."""

from __future__ import annotations

import re
import unicodedata

from .lookalikes import LOOKALIKES
from .scanning import lowered

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)
_TAGS = range(0xE0020, 0xE007F)
_QUOTES = {"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "–": "-", "—": "-"}


def normalise(text: str) -> tuple[str, list[int] | None]:
    """The text in lower case, look-alikes as Latin, nothing invisible; and where each character stood, None if no offset moved."""
    lower = lowered(text)
    if text.isascii():
        return lower, None
    changed = {char: plain for char in set(lower) if char > "\x7f" and (plain := _plain(char)) != char}
    if all(len(plain) == 1 for plain in changed.values()):
        for char, plain in changed.items():
            lower = lower.replace(char, plain)
        return lower, None
    pairs = [(place, plain) for place, char in enumerate(lower) for plain in changed.get(char, char)]
    return "".join(plain for _, plain in pairs), [place for place, _ in pairs]


def _plain(char: str) -> str:
    if char in LOOKALIKES:
        return LOOKALIKES[char].lower()
    if char in _QUOTES:
        return _QUOTES[char]
    if ord(char) in _TAGS:
        return chr(ord(char) - 0xE0000).lower()
    if _INVISIBLE.match(char):
        return ""
    if "\uff01" <= char <= "\uff5e" or "\U0001d400" <= char <= "\U0001d7ff":
        return unicodedata.normalize("NFKC", char).lower()
    return char
