"""Where the text of a file breaks off in a context, and what of the file is lost there (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from memoryhub.dialects import tokens_of_bytes


@dataclass(frozen=True)
class Cut:
    """A cut: after how many lines of the loaded text, and the lines of the file that are lost with the number of the first."""

    after: int
    first: int
    total: int
    lost: tuple[str, ...]

    @property
    def lost_bytes(self) -> int:
        return len("\n".join(self.lost).encode("utf-8", "replace"))

    @property
    def lost_tokens(self) -> int:
        return tokens_of_bytes(self.lost_bytes)


def cut_of(loaded: str, file: str, first_lost: int) -> Cut:
    """The cut of a file of which `first_lost` is the first line that is not loaded whole."""
    there, lines = loaded.split("\n"), file.removesuffix("\n").split("\n")
    at = min(max(first_lost, 1), len(lines))
    after = _after(there, lines, at)
    tail = _same_tail(there[after:], lines[at - 1 :])
    lost = lines[at - 1 : len(lines) - tail]
    if after and after <= len(there) and lost and at >= 1 and there[after - 1] and there[after - 1] != lines[at - 2]:
        begun = there[after - 1].rstrip("\ufffd")
        lost = [lost[0].removeprefix(begun), *lost[1:]]  # its beginning is loaded
    return Cut(after, at, len(lines), tuple(lost))


def _after(there: list[str], lines: list[str], at: int) -> int:
    """How many loaded lines stand before the cut, the one that breaks off included."""
    last = lines[at - 2] if at > 1 else None
    after = max((number for number, line in enumerate(there, 1) if line == last), default=0) if last is not None else 0
    broken = there[after].rstrip("\ufffd") if after < len(there) else ""
    return after + 1 if broken and broken != lines[at - 1] and lines[at - 1].startswith(broken) else after


def _same_tail(there: list[str], lines: list[str]) -> int:
    """How many lines at the end of the file are loaded again behind the cut."""
    same = 0
    for one, other in zip(reversed(there), reversed(lines), strict=False):
        if one != other:
            break
        same += 1
    return same
