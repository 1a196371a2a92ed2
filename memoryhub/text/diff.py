"""Comparing texts (pure): which lines match, what a page shows of it, and taking changes one by one.

Texts are `str`; bytes that are no UTF-8 come in through `text_of`, which keeps them, and go out through `bytes_of`.
Lines end at LF alone, so CR, form feeds and the like stay visible inside their line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal

from memoryhub.text.blame import Blame, blame
from memoryhub.text.lines import bytes_of, split, text_of
from memoryhub.text.match import Span, changes, common_length
from memoryhub.text.merge import Merge, Part, merge3
from memoryhub.text.word_diff import pair_lines, word_marks

Marks = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a diff: `ctx`, `add` or `del`; numbers count from 1; `moved` is the line it went to or came from."""

    kind: Literal["ctx", "add", "del"]
    old: int | None
    new: int | None
    text: str
    marks: Marks = ()
    ends: bool = True
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


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change that can be taken or left: which lines of the old text become which lines of the new."""

    number: int
    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True)
class Diff:
    old_lines: list[str] = field(repr=False)
    new_lines: list[str] = field(repr=False)
    hunks: list[Hunk]
    context: int | None
    moved: dict[tuple[str, int], int] = field(repr=False)

    @property
    def added(self) -> int:
        return sum(h.new_end - h.new_start for h in self.hunks)

    @property
    def removed(self) -> int:
        return sum(h.old_end - h.old_start for h in self.hunks)

    def __bool__(self) -> bool:
        return bool(self.hunks)

    @cached_property
    def rows(self) -> list[Row | Fold]:
        """Everything a unified view shows, from top to bottom."""
        return list(self._shown_rows())

    def first_rows(self, most: int) -> list[Row | Fold]:
        """The same, at most so many: a text of a million lines is not drawn to be cut then."""
        return list(islice(self._shown_rows(), most))

    @cached_property
    def pairs(self) -> list[tuple[Row | None, Row | None] | Fold]:
        """The same for a view side by side."""
        return list(_side_by_side(self.rows))

    def first_pairs(self, most: int) -> list[tuple[Row | None, Row | None] | Fold]:
        """The beginning of the view side by side."""
        return list(islice(_side_by_side(self.first_rows(2 * most)), most))

    def _shown_rows(self) -> Iterator[Row | Fold]:
        at_old = at_new = 0
        for hunk in self.hunks:
            yield from self._between(at_old, at_new, hunk.old_start - at_old)
            yield from self._changed(hunk)
            at_old, at_new = hunk.old_end, hunk.new_end
        yield from self._between(at_old, at_new, len(self.old_lines) - at_old)

    def _between(self, old: int, new: int, count: int) -> Iterator[Row | Fold]:
        """Unchanged lines: `context` of them beside each change; a gap of one line is shown, not folded."""
        if self.context is None:
            yield from self._same(old, new, count)
            return
        follows = old + count < len(self.old_lines) or new + count < len(self.new_lines)
        before = min(count, self.context) if old or new else 0
        after = min(count - before, self.context) if follows else 0
        hidden = count - before - after
        if hidden <= 1:
            yield from self._same(old, new, count)
            return
        yield from self._same(old, new, before)
        yield Fold(old + before + 1, new + before + 1, hidden)
        yield from self._same(old + count - after, new + count - after, after)

    def _same(self, old: int, new: int, count: int) -> Iterator[Row]:
        for step in range(count):
            text, ends = _cut_end(self.new_lines[new + step])
            before = self.old_lines[old + step]
            other = before.removesuffix("\n") if before != self.new_lines[new + step] else None
            yield Row("ctx", old + step + 1, new + step + 1, text, ends=ends, other=other)

    def _changed(self, hunk: Hunk) -> Iterator[Row]:
        before = self.old_lines[hunk.old_start : hunk.old_end]
        after = self.new_lines[hunk.new_start : hunk.new_end]
        old_marks, new_marks = _marks(before, after)
        for i, (text, ends) in enumerate(map(_cut_end, before)):
            line = hunk.old_start + i
            moved = self.moved.get(("old", line))
            yield Row("del", line + 1, None, text, old_marks.get(i, ()), ends, hunk.number, moved)
        for j, (text, ends) in enumerate(map(_cut_end, after)):
            line = hunk.new_start + j
            moved = self.moved.get(("new", line))
            yield Row("add", None, line + 1, text, new_marks.get(j, ()), ends, hunk.number, moved)


def _marks(before: list[str], after: list[str]) -> tuple[dict[int, Marks], dict[int, Marks]]:
    """The changed words of the lines that belong together."""
    old, new = [_cut_end(line)[0] for line in before], [_cut_end(line)[0] for line in after]
    old_marks: dict[int, Marks] = {}
    new_marks: dict[int, Marks] = {}
    for i, j in pair_lines(old, new) if old and new else ():
        old_marks[i], new_marks[j] = word_marks(old[i], new[j])
    return old_marks, new_marks


def _cut_end(line: str) -> tuple[str, bool]:
    return (line[:-1], True) if line.endswith("\n") else (line, False)


def compare(old: str, new: str, *, context: int | None = 3, ignore_blanks: bool = False) -> Diff:
    """Compare two texts; `context=None` shows all unchanged lines."""
    old_lines, new_lines = split(old), split(new)
    key = _without_blanks if ignore_blanks else None
    hunks = [Hunk(n, *c) for n, c in enumerate(_changes(old_lines, new_lines, key), 1)]
    return Diff(old_lines, new_lines, hunks, context, _find_moves(old_lines, new_lines, hunks))


def counts(old: str, new: str) -> tuple[int, int]:
    """Lines added and removed."""
    # Whole lines at both ends are compared as text first: most changes are small.
    head = old.rfind("\n", 0, _common_head(old, new)) + 1
    old, new = old[head:], new[head:]
    tail = _common_tail(old, new)
    put, taken = new[: len(new) - tail], old[: len(old) - tail]
    if not (put and taken) and (put + taken).endswith("\n"):  # whole lines, only added or only taken out
        return put.count("\n"), taken.count("\n")
    cut = old.find("\n", len(old) - tail) + 1 or len(old)
    rest = len(old) - cut
    spans = changes(split(old[:cut]), split(new[: len(new) - rest]))
    return sum(j2 - j1 for _, _, j1, j2 in spans), sum(i2 - i1 for i1, i2, _, _ in spans)


def _common_head(old: str, new: str) -> int:
    return common_length(min(len(old), len(new)), lambda at, n: old[at : at + n] == new[at : at + n])


def _common_tail(old: str, new: str) -> int:
    ends = len(old), len(new)
    return common_length(
        min(ends), lambda at, n: old[ends[0] - at - n : ends[0] - at] == new[ends[1] - at - n : ends[1] - at]
    )


def changed_characters(old: str, new: str) -> tuple[int, int]:
    """Characters put in and taken out, within the lines that change."""
    put = taken = 0
    diff = compare(old, new, context=0)
    for hunk in diff.hunks:
        was, now = (
            "".join(diff.old_lines[hunk.old_start : hunk.old_end]),
            "".join(diff.new_lines[hunk.new_start : hunk.new_end]),
        )
        head = _common_head(was, now)
        same = head + _common_tail(was[head:], now[head:])
        put, taken = put + len(now) - same, taken + len(was) - same
    return put, taken


def rows(before: str, after: str, **options: Any) -> list[Row | Fold]:
    """What a unified view of a change shows, row by row; options as in `compare`."""
    return compare(before, after, **options).rows


def _changes(old: list[str], new: list[str], key: Callable[[str], str] | None = None) -> list[Span]:
    if key:
        return changes([key(line) for line in old], [key(line) for line in new])
    return changes(old, new)


def _without_blanks(line: str) -> str:
    return "".join(line.split())


def _side_by_side(rows: Sequence[Row | Fold]) -> Iterator[tuple[Row | None, Row | None] | Fold]:
    left: list[Row] = []
    right: list[Row] = []
    for row in rows:
        if isinstance(row, Row) and row.kind == "del":
            if right:
                yield from _paired(left, right)
                left, right = [], []
            left.append(row)
        elif isinstance(row, Row) and row.kind == "add":
            right.append(row)
        else:
            yield from _paired(left, right)
            left, right = [], []
            if isinstance(row, Fold):
                yield row
            else:
                yield (row if row.other is None else replace(row, text=row.other)), row
    yield from _paired(left, right)


def _paired(left: list[Row], right: list[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    """Lines that belong together stand beside each other; what lies between them gets rows of its own."""
    at_left = at_right = 0
    for i, j in [*pair_lines([r.text for r in left], [r.text for r in right]), (len(left), len(right))]:
        while at_left < i and at_right < j:
            yield left[at_left], right[at_right]
            at_left, at_right = at_left + 1, at_right + 1
        for k in range(at_left, i):
            yield left[k], None
        for k in range(at_right, j):
            yield None, right[k]
        if i < len(left):
            yield left[i], right[j]
        at_left, at_right = i + 1, j + 1


# A short line such as `}` stands in many places; only what is long enough to be recognised counts as moved.
_MIN_MOVED_LENGTH = 12


def _find_moves(old: list[str], new: list[str], hunks: list[Hunk]) -> dict[tuple[str, int], int]:
    """Lines that were taken out here and put in there, unchanged: their partner's number, counted from 1."""
    gone: dict[str, list[int]] = {}
    for hunk in hunks:
        for line in range(hunk.old_start, hunk.old_end):
            if len(old[line].strip()) >= _MIN_MOVED_LENGTH:
                gone.setdefault(old[line].strip(), []).append(line)
    moves: dict[tuple[str, int], int] = {}
    for hunk in hunks:
        for line in range(hunk.new_start, hunk.new_end):
            # A line changed at its own place (its indentation, its end) has not moved.
            at = gone.get(new[line].strip(), [])
            if at and not hunk.old_start <= at[0] < hunk.old_end:
                origin = at.pop(0)
                moves["old", origin], moves["new", line] = line + 1, origin + 1
    return moves


# ---- a diff as text


def unified_bytes(old: bytes | None, new: bytes | None, path: str) -> str:
    """The diff of two contents; of what is no text, that it is none, and the sizes."""
    if is_text(old or b"") and is_text(new or b""):
        return unified(None if old is None else text_of(old), None if new is None else text_of(new), path)
    sizes = ["no file" if one is None else f"{len(one)} bytes" for one in (old, new)]
    return "" if old == new else f"Binary file {path.lstrip('/')}: {sizes[0]} before, {sizes[1]} after\n"


def is_text(content: bytes) -> bool:
    try:
        return "\x00" not in content.decode()
    except UnicodeDecodeError:
        return False


def unified(old: str | None, new: str | None, path: str, *, context: int = 3) -> str:
    """The usual text form of a diff, with `a` and `b` before the path; None is no file, which an empty one is not."""
    before, after = split(old or ""), split(new or "")
    blocks = list(_grouped(_changes(before, after), context, len(before)))
    if not blocks and (old is None) == (new is None):
        return ""
    name = path.lstrip("/")
    lines = [
        "--- /dev/null\n" if old is None else f"--- a/{name}\n",
        "+++ /dev/null\n" if new is None else f"+++ b/{name}\n",
    ]
    for block in blocks:
        lines.extend(_block(block, before, after, context))
    return "".join(lines)


def _grouped(spans: list[Span], context: int, length: int) -> Iterator[list[Span]]:
    block: list[Span] = []
    for span in spans:
        if block and span[0] - block[-1][1] > 2 * context:
            yield block
            block = []
        block.append(span)
    if block:
        yield block


def _block(block: list[Span], old: list[str], new: list[str], context: int) -> Iterator[str]:
    before = min(context, block[0][0])
    after = min(context, len(old) - block[-1][1])
    i, j = block[0][0] - before, block[0][2] - before
    i_end, j_end = block[-1][1] + after, block[-1][3] + after
    yield f"@@ -{_range(i, i_end)} +{_range(j, j_end)} @@\n"
    for i1, i2, j1, j2 in [*block, (i_end, i_end, j_end, j_end)]:
        yield from (_line(" ", line) for line in old[i:i1])
        yield from (_line("-", line) for line in old[i1:i2])
        yield from (_line("+", line) for line in new[j1:j2])
        i = i2


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


# ---- taking changes one by one


def take(old: str, new: str, numbers: Iterable[int]) -> str:
    """The old text with only these hunks of `compare(old, new)` taken."""
    wanted = set(numbers)
    before, after = split(old), split(new)
    result: list[str] = []
    at = 0
    for number, (i1, i2, j1, j2) in enumerate(_changes(before, after), 1):
        result += before[at:i1]
        result += after[j1:j2] if number in wanted else before[i1:i2]
        at = i2
    return "".join(_with_ends(result + before[at:]))


def _with_ends(lines: list[str]) -> list[str]:
    """Only the last line may lack its newline: one taken from the end of a text gets it when others follow."""
    for at, line in enumerate(lines[:-1]):
        if not line.endswith("\n"):
            lines[at] = line + "\n"
    return lines


__all__ = [
    "Blame",
    "Diff",
    "Fold",
    "Hunk",
    "Merge",
    "Part",
    "Row",
    "blame",
    "bytes_of",
    "compare",
    "merge3",
    "rows",
    "split",
    "take",
    "text_of",
    "unified",
]
