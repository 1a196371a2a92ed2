"""Three-way merge of texts: two changes of one base (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memoryhub.text.lines import Span, changes, split


@dataclass(frozen=True)
class Part:
    """A piece of a merge: what each of the three texts has there, and the merged `text`; None where both changed it differently."""

    base: str
    ours: str
    theirs: str
    text: str | None

    @property
    def conflict(self) -> bool:
        return self.text is None


@dataclass(frozen=True)
class Merge:
    """The parts of a merge, in order; all three texts can be put together from them again."""

    parts: list[Part]

    @property
    def conflicts(self) -> int:
        return sum(part.conflict for part in self.parts)

    @property
    def text(self) -> str:
        """The merged text; at a conflict it has our version, so look at `conflicts` first."""
        return "".join(part.ours if part.text is None else part.text for part in self.parts)

    def marked(self, ours: str, theirs: str) -> str:
        """The merged text with git's marks around each conflict; `ours` and `theirs` are the labels."""
        return "".join(_mark(part, ours, theirs) if part.text is None else part.text for part in self.parts)


def _mark(part: Part, ours: str, theirs: str) -> str:
    def ended(text: str) -> str:
        return text if not text or text.endswith("\n") else text + "\n"

    return f"<<<<<<< {ours}\n{ended(part.ours)}=======\n{ended(part.theirs)}>>>>>>> {theirs}\n"


def merge3(base: str, ours: str, theirs: str) -> Merge:
    """Bring two changes of one text together; changes that touch each other and differ are conflicts."""
    return Merge(list(_merge_parts(split(base), split(ours), split(theirs))))


def _merge_parts(base: list[str], ours: list[str], theirs: list[str]) -> Iterator[Part]:
    at = 0
    for (b1, b2), (o1, o2), (t1, t2) in _overlapping(changes(base, ours), changes(base, theirs)):
        if b1 > at:
            yield _merge_part(*["".join(base[at:b1])] * 3)
        yield _merge_part("".join(base[b1:b2]), "".join(ours[o1:o2]), "".join(theirs[t1:t2]))
        at = b2
    if at < len(base):
        yield _merge_part(*["".join(base[at:])] * 3)


def _merge_part(base: str, ours: str, theirs: str) -> Part:
    if ours == theirs or theirs == base:
        return Part(base, ours, theirs, ours)
    return Part(base, ours, theirs, theirs if ours == base else None)


Pair = tuple[int, int]


def _overlapping(ours: list[Span], theirs: list[Span]) -> Iterator[tuple[Pair, Pair, Pair]]:
    """Groups of changes that touch or overlap, as ranges of base, ours and theirs."""
    queue = sorted([(c[0], c[1], 0, c) for c in ours] + [(c[0], c[1], 1, c) for c in theirs])
    shift = [0, 0]  # by how many lines each side is longer than the base so far
    at = 0
    while at < len(queue):
        start, end = queue[at][:2]
        ours_start, theirs_start = start + shift[0], start + shift[1]
        while at < len(queue) and queue[at][0] <= end:
            _, stop, side, (i1, i2, j1, j2) = queue[at]
            end = max(end, stop)
            shift[side] += (j2 - j1) - (i2 - i1)
            at += 1
        yield (start, end), (ours_start, end + shift[0]), (theirs_start, end + shift[1])
