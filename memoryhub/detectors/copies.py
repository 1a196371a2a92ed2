"""Whether a text says what another one says already, line for line, word for word or nearly."""

from __future__ import annotations

from . import duplicate
from .finding import Lines
from .known_texts import KnownText, is_comparable, words


def is_copy(text: str, known: KnownText) -> bool:
    """Whether two texts have the same words, or as many lines, of which each says nearly what a line of the other says."""
    if words(text) == words(known.text):
        return True
    keys = [key for line in text.split("\n") if is_comparable(key := words(line))]
    if not keys or len(set(keys)) != len(known.lines):
        return False
    return len(duplicate.find(text, Lines(text), [known])) == len(keys)
