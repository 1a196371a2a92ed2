"""The rows of a diff as pages show them: one below the other, or the two texts side by side (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memoryhub.text.word_diff import Marks, Work, pair_lines, word_marks


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a diff: `ctx`, `add` or `del`; numbers count from 1; `moved` is the line it went to or came from."""

    kind: Literal["ctx", "add", "del"]
    old: int | None
    new: int | None
    text: str
    marks: Marks = ()
    ends: bool = True  # with a newline
    hunk: int | None = None
    moved: int | None = None
    other: str | None = None  # with blanks ignored: how the old text spells this line


@dataclass(frozen=True, slots=True)
class Fold:
    """Unchanged lines that are not shown: `old` and `new` are the numbers of the first one."""

    old: int
    new: int
    count: int
    kind: str = "fold"


Pair = tuple[Row | None, Row | None]
MAX_MARKED = (
    1_000  # lines of one change; in longer ones no words are marked, and lines stand side by side in their order
)


def cut_newline(line: str) -> tuple[str, bool]:
    """A line without its newline, and whether it had one."""
    return (line[:-1], True) if line.endswith("\n") else (line, False)


def changed_words(before: list[str], after: list[str], work: Work) -> tuple[dict[int, Marks], dict[int, Marks]]:
    """The changed words of the lines that make a pair, by the place of each line in `before` and in `after`."""
    if max(len(before), len(after)) > MAX_MARKED:
        return {}, {}
    old, new = [cut_newline(line)[0] for line in before], [cut_newline(line)[0] for line in after]
    old_marks: dict[int, Marks] = {}
    new_marks: dict[int, Marks] = {}
    for i, j in pair_lines(old, new, work):
        old_marks[i], new_marks[j] = word_marks(old[i], new[j], work)
    return old_marks, new_marks


def side_by_side(rows: Sequence[Row | Fold]) -> Iterator[Pair | Fold]:
    """The rows of a unified view as pairs of an old and a new line; what only one text has stands alone in its pair."""
    removed: list[Row] = []
    added: list[Row] = []
    work = Work()
    for row in rows:
        if isinstance(row, Row) and row.kind == "del":
            if added:
                yield from _pairs(removed, added, work)
                removed, added = [], []
            removed.append(row)
        elif isinstance(row, Row) and row.kind == "add":
            added.append(row)
        else:
            yield from _pairs(removed, added, work)
            removed, added = [], []
            if isinstance(row, Fold):
                yield row
            else:
                yield (row if row.other is None else replace(row, text=row.other)), row
    yield from _pairs(removed, added, work)


def _like_pairs(removed: list[Row], added: list[Row], work: Work) -> list[tuple[int, int]]:
    if max(len(removed), len(added)) > MAX_MARKED:
        return [(at, at) for at in range(min(len(removed), len(added)))]
    return pair_lines([row.text for row in removed], [row.text for row in added], work)


def _pairs(removed: list[Row], added: list[Row], work: Work) -> Iterator[Pair]:
    """Lines that are alike stand beside each other; between two such pairs the others are put side by side in order."""
    at_removed = at_added = 0
    for i, j in [
        *_like_pairs(removed, added, work),
        (len(removed), len(added)),
    ]:
        while at_removed < i and at_added < j:
            yield removed[at_removed], added[at_added]
            at_removed, at_added = at_removed + 1, at_added + 1
        for k in range(at_removed, i):
            yield removed[k], None
        for k in range(at_added, j):
            yield None, added[k]
        if i < len(removed):
            yield removed[i], added[j]
        at_removed, at_added = i + 1, j + 1
