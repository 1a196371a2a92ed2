"""Numbers with what they count, in English."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2,000 files`; `many` where the plural does not end in s alone. The catalogues of languages know such pairs."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
