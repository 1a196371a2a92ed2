"""Which revision wrote each line of a text (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memoryhub.text.lines import changes, common_length, matching_spans

Range = Sequence[int]  # first and last line, counted from 1


@dataclass
class Blame:
    """One key for each line of a text, after the revisions that were added in their order.

    Only what lies between the first and the last change of a revision is split into lines, so long histories of long
    files stay cheap. A restored text gets back the keys that it had before, if its sha is in `repeated`. Lines of a revision
    that somebody else than its author wrote have its negative key.
    """

    repeated: frozenset[str] = frozenset()
    referred: frozenset[int] = frozenset()  # keys of revisions that later ones were based on or merged with
    text: bytes = b""
    keys: list[int] = field(default_factory=list)
    keys_by_sha: dict[str, list[int]] = field(default_factory=dict)
    earlier: dict[int, tuple[bytes, list[int]]] = field(default_factory=dict)  # of those in `referred`: text and keys

    @property
    def lines(self) -> list[int]:
        """One key for each line; what follows the last newline counts only if there is something."""
        return self.keys if self.text and not self.text.endswith(b"\n") else self.keys[:-1]

    def add(
        self, key: int, text: bytes, sha: str = "", *, by_other: Iterable[Range] = (), based_on: int = 0, merged_with: int = 0,
    ) -> None:  # fmt: skip
        """The next revision: its key, its whole text and the text's sha; `by_other` are lines that its author did not write.

        `based_on` is the key of the revision that it changed, where that is not the one before; `merged_with` that of the
        one whose changes it took in.
        """
        if based_on in self.earlier:
            self.text, self.keys = self.earlier[based_on]
        if sha in self.keys_by_sha:
            self.keys = self.keys_by_sha[sha]
        elif not self.keys or text != self.text:
            self.keys = self._keys_after(key, text, {at for first, last in by_other for at in range(first, last + 1)})
            if merged_with in self.earlier:
                self.keys = _merged_keys(key, text, self.keys, *self.earlier[merged_with])
        self.text = text
        if sha in self.repeated:
            self.keys_by_sha[sha] = self.keys
        if key in self.referred:
            self.earlier[key] = self.text, self.keys

    def _keys_after(self, key: int, text: bytes, by_other: set[int]) -> list[int]:
        def new_keys(first: int, count: int) -> list[int]:
            return (
                [-key if at + 1 in by_other else key for at in range(first, first + count)]
                if by_other
                else [key] * count
            )

        if not self.keys:
            return new_keys(0, text.count(b"\n") + 1)
        before, after, head, tail = _middle(self.text, text)
        keys = self.keys[head : len(self.keys) - tail]
        middle: list[int] = []
        at = 0
        for i1, i2, j1, j2 in changes(before, after):
            middle += keys[at:i1] + new_keys(head + j1, j2 - j1)
            at = i2
        return self.keys[:head] + middle + keys[at:] + self.keys[len(self.keys) - tail :]


def _merged_keys(key: int, text: bytes, keys: list[int], other: bytes, other_keys: list[int]) -> list[int]:
    """The keys of a merge: lines that look new but stand in the other text keep the keys that they have there."""
    found = list(keys)
    for i, j, size in matching_spans(other.split(b"\n"), text.split(b"\n")):
        for step in range(size):
            if found[j + step] == key:
                found[j + step] = other_keys[i + step]
    return found


@dataclass(frozen=True)
class ReviewedLines:
    """The lines of an approved text that its reviewer wrote, and whether they wrote all that is new in it."""

    ranges: list[list[int]]
    all_new: bool


def lines_by_reviewer(
    before: bytes | None, proposed: bytes, approved: bytes, base: bytes | None = None
) -> ReviewedLines:
    """What a reviewer wrote of an approved text: the lines that are new in it and that the proposal does not have.

    A line counts by its text, as often as the proposal has it, so a proposed line that was moved stays the proposer's. With
    `base`, where the proposal no longer applied, only what it added to that text counts as proposed.
    """
    state = Blame()
    if before is not None:
        state.add(1, before)
    state.add(2, approved)
    rows = approved.split(b"\n")
    new = [at for at, key in enumerate(state.keys) if key == 2]
    left = Counter(proposed.split(b"\n"))
    left -= Counter(
        base.split(b"\n") if base is not None else [rows[at] for at, key in enumerate(state.keys) if key == 1]
    )
    mine: list[int] = []
    proposers = 0  # lines with words that are the proposer's
    for at in new:
        if left[rows[at]] > 0:
            left[rows[at]] -= 1
            proposers += bool(rows[at].strip())
        else:
            mine.append(at + 1)
    return ReviewedLines(_ranges(mine), not proposers and any(rows[at - 1].strip() for at in mine))


def _ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Ascending numbers as ranges: first and last."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _middle(old: bytes, new: bytes) -> tuple[list[bytes], list[bytes], int, int]:
    """The lines between the common head and tail of two texts, and how many lines head and tail have."""
    limit = min(len(old), len(new))
    head = common_length(limit, lambda at, n: old[at : at + n] == new[at : at + n])
    head = old.rfind(b"\n", 0, head) + 1
    a, b = len(old), len(new)
    tail = common_length(limit - head, lambda at, n: old[a - at - n : a - at] == new[b - at - n : b - at])
    # The tail begins at the start of a line, in both texts.
    cut = old.find(b"\n", a - tail) + 1 if tail else 0
    tail = a - cut if cut else 0
    before, after = old[head : a - tail], new[head : b - tail]
    lines = [part.split(b"\n")[: -1 if tail else None] for part in (before, after)]
    return lines[0], lines[1], old.count(b"\n", 0, head), old.count(b"\n", a - tail) + 1 if tail else 0
