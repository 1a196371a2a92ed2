"""What a sign of risky advice is."""

from __future__ import annotations

from dataclasses import dataclass

from ..patterns import Bounded, Plain, bounded
from ..stems import Group, opened

_REACH = 1_000


@dataclass(frozen=True)
class Sign:
    kind: str
    words: tuple[Group, ...]
    pattern: Bounded
    says: str
    is_order: bool
    """Whether the pattern begins with a verb that a noun before it would turn into a description."""
    opens: Group | None
    """The pattern begins with one of these words; nothing: it may begin anywhere."""
    needs: Plain | None
    """What every hit holds, quicker to look for than the hit itself."""
    beyond: int
    """How many characters further than the lines with its words a hit may go."""
    is_weak: bool
    """Long texts about programs say it as well: there the other words of its line have to agree."""


def sign(
    kind: str,
    words: str,
    pattern: str,
    says: str,
    is_order: bool = False,
    needs: Plain | None = None,
    beyond: int = 0,
    is_weak: bool = False,
) -> Sign:
    near, opens = opened(words)
    return Sign(kind, near, bounded(pattern, reach=_REACH), says, is_order, opens, needs, beyond, is_weak)
