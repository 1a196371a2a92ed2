"""The rows of a diff as pages show them, one below the other or the two texts side by side: which removed line became which added
line, and which words changed inside of such a pair (pure)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from memoryhub.text.lines import Span, changes, difflib_cost

Marks = tuple[tuple[int, int], ...]


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


# ---- pairs of lines, and the words that changed inside of one

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
_MAX_GAP = 2  # characters; a gap no longer than this between two changes is marked with them
_MIN_SIMILARITY = 0.4  # two lines less alike than this are no pair
_MAX_LINE_LENGTH = 4000  # characters; in longer lines no words are marked, and their beginnings say how alike they are
_MAX_COMPARISONS = 40 * 40
_MAX_COST = 2_000_000  # of two lines, for `difflib` (`difflib_cost`)
_MAX_FOR_DIFFLIB = 40  # words between two that are the same on both sides, in lines that may cost more
_COST_OF_WORD = 1000  # of such a line
_COST_OF_PAIR = 40  # for each word of both lines, to see how alike they are


class Work:
    """What looking into the lines of one diff may cost; when it is used up, lines are shown without marks and in their order."""

    def __init__(self, left: int = 40_000_000) -> None:
        self.left = left

    def takes(self, cost: int) -> bool:
        """Whether there is that much left; then it is used."""
        if cost > self.left:
            return False
        self.left -= cost
        return True


def word_marks(old: str, new: str, work: Work | None = None) -> tuple[Marks, Marks]:
    """The parts of both lines to highlight, as (start, end) in characters."""
    if max(len(old), len(new)) > _MAX_LINE_LENGTH:
        return (), ()
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    cost = difflib_cost(before, after)
    is_costly = cost > _MAX_COST
    if work is not None and not work.takes(_COST_OF_WORD * (len(before) + len(after)) if is_costly else cost):
        return (), ()
    at_old, at_new = _starts(before), _starts(after)
    old_marks: list[tuple[int, int]] = []
    new_marks: list[tuple[int, int]] = []
    for i1, i2, j1, j2 in _costly_changes(before, after) if is_costly else _changes(before, after):
        old_marks.append((at_old[i1], at_old[i2]))
        new_marks.append((at_new[j1], at_new[j2]))
    return _join(old_marks, new_marks)


def _changes(before: list[str], after: list[str]) -> list[Span]:
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [span for tag, *span in codes if tag != "equal"]  # type: ignore[misc]


def _costly_changes(before: list[str], after: list[str]) -> list[Span]:
    return changes(before, after, max_for_difflib=_MAX_FOR_DIFFLIB)


def _starts(tokens: list[str]) -> list[int]:
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token))
    return starts


def _join(old: list[tuple[int, int]], new: list[tuple[int, int]]) -> tuple[Marks, Marks]:
    """Close gaps that are too small to see, on both sides together."""
    joined_old: list[tuple[int, int]] = []
    joined_new: list[tuple[int, int]] = []
    for (i1, i2), (j1, j2) in zip(old, new, strict=True):
        if joined_old and i1 - joined_old[-1][1] <= _MAX_GAP:
            joined_old[-1] = joined_old[-1][0], i2
            joined_new[-1] = joined_new[-1][0], j2
        else:
            joined_old.append((i1, i2))
            joined_new.append((j1, j2))
    return tuple(m for m in joined_old if m[1] > m[0]), tuple(m for m in joined_new if m[1] > m[0])


def _words(line: str) -> tuple[Counter[str], int]:
    """The words of a line, and how many characters they have."""
    words = _TOKEN.findall(line.strip()[:_MAX_LINE_LENGTH])
    return Counter(words), sum(map(len, words))


def _alike(before: tuple[Counter[str], int], after: tuple[Counter[str], int]) -> float:
    size = before[1] + after[1]
    if not size:
        return 1.0
    fewer, more = (before[0], after[0]) if len(before[0]) <= len(after[0]) else (after[0], before[0])
    return 2 * sum(len(word) * min(count, more[word]) for word, count in fewer.items() if word in more) / size


def pair_lines(old: list[str], new: list[str], work: Work | None = None) -> list[tuple[int, int]]:
    """Which removed line became which added line, as places in `old` and `new`: the pairs in order that are most alike."""
    if not old or not new:
        return []
    before, after = list(map(_words, old)), list(map(_words, new))
    is_long = len(old) * len(new) > _MAX_COMPARISONS
    times = 1 if is_long else max(len(old), len(new))
    if work is not None and not work.takes(_COST_OF_PAIR * times * sum(len(words) for words, _ in (*before, *after))):
        return list(zip(range(len(old)), range(len(new)), strict=False))
    if is_long:
        found = enumerate(zip(before, after, strict=False))
        return [(i, i) for i, (a, b) in found if _alike(a, b) >= _MIN_SIMILARITY]
    if len(old) == len(new) == 1:
        return [(0, 0)] if _alike(before[0], after[0]) >= _MIN_SIMILARITY / 2 else []
    return _best_pairs([[_alike(a, b) for b in after] for a in before])


def _best_pairs(alike: list[list[float]]) -> list[tuple[int, int]]:
    """The pairs in order with the highest sum of similarities."""
    height, width = len(alike), len(alike[0])
    best = [[0.0] * (width + 1) for _ in range(height + 1)]
    for i in range(height - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            score = alike[i][j] if alike[i][j] >= _MIN_SIMILARITY else -1.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + score)
    pairs = []
    i = j = 0
    while i < height and j < width:
        if alike[i][j] >= _MIN_SIMILARITY and best[i][j] == best[i + 1][j + 1] + alike[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
