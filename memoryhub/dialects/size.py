"""How many tokens a text takes, roughly: the one estimate that pages, API and budgets share.

Four bytes of UTF-8 to a token. Every model family counts differently and none counts offline without its own
vocabulary; over English, code, Cyrillic and CJK this stays within a quarter of what they count, and it is free.
"""

from __future__ import annotations

BYTES_PER_TOKEN = 4


def tokens_of_bytes(size: int) -> int:
    """The estimate for a text of that many bytes."""
    return -(-size // BYTES_PER_TOKEN)


def tokens_of_text(text: str) -> int:
    """The estimate for a text."""
    return tokens_of_bytes(len(text.encode("utf-8", "surrogatepass")))
