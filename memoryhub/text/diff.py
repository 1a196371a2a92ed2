"""Comparing texts (pure): which lines match, what a page shows of it, taking changes one by one, and the unified form.

Texts are `str`; bytes that are no UTF-8 come in through `text_of`, which keeps them, and go out through `bytes_of`.
Lines end at LF alone, so CR, form feeds and the like stay visible inside their line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from memoryhub.text.diff_rows import Fold, Pair, Row, Work, changed_words, cut_newline, side_by_side
from memoryhub.text.lines import MAX_COMPARED, Span, changes, is_text, same_head, same_tail, split, text_of


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
    """Two texts as lines, and what differs between them; rows for pages are made when they are asked for."""

    old_lines: list[str] = field(repr=False)
    new_lines: list[str] = field(repr=False)
    hunks: list[Hunk]
    context: int | None
    moved: dict[tuple[str, int], int] = field(repr=False)

    @property
    def added(self) -> int:
        return sum(hunk.new_end - hunk.new_start for hunk in self.hunks)

    @property
    def removed(self) -> int:
        return sum(hunk.old_end - hunk.old_start for hunk in self.hunks)

    @property
    def is_coarse(self) -> bool:
        """Whether a change is too large to be looked into: what is equal inside of it is shown as changed, too."""
        return any(
            min(before := hunk.old_end - hunk.old_start, after := hunk.new_end - hunk.new_start) > 0
            and before + after > MAX_COMPARED
            for hunk in self.hunks
        )

    def __bool__(self) -> bool:
        return bool(self.hunks)

    @cached_property
    def rows(self) -> list[Row | Fold]:
        """All rows of a unified view, from top to bottom."""
        return list(self._all_rows())

    def first_rows(self, limit: int, start: int = 0) -> list[Row | Fold]:
        """`limit` rows from `start` on; those after them are not made, which matters for a text of a million lines."""
        return list(islice(self._all_rows(), start, start + limit))

    @cached_property
    def pairs(self) -> list[Pair | Fold]:
        """All rows of a view side by side."""
        return list(side_by_side(self.rows))

    def first_pairs(self, limit: int) -> list[Pair | Fold]:
        """The first `limit` rows of the view side by side."""
        return list(islice(side_by_side(self.first_rows(2 * limit)), limit))

    def _all_rows(self) -> Iterator[Row | Fold]:
        at_old = at_new = 0
        work = Work()
        for hunk in self.hunks:
            yield from self._unchanged(at_old, at_new, hunk.old_start - at_old)
            yield from self._changed(hunk, work)
            at_old, at_new = hunk.old_end, hunk.new_end
        yield from self._unchanged(at_old, at_new, len(self.old_lines) - at_old)

    def _unchanged(self, old: int, new: int, count: int) -> Iterator[Row | Fold]:
        """`count` unchanged lines: `context` of them beside each change, a fold for the others. A gap of one line is shown."""
        if self.context is None:
            yield from self._context_rows(old, new, count)
            return
        has_change_after = old + count < len(self.old_lines) or new + count < len(self.new_lines)
        before = min(count, self.context) if old or new else 0
        after = min(count - before, self.context) if has_change_after else 0
        hidden = count - before - after
        if hidden <= 1:
            yield from self._context_rows(old, new, count)
            return
        yield from self._context_rows(old, new, before)
        yield Fold(old + before + 1, new + before + 1, hidden)
        yield from self._context_rows(old + count - after, new + count - after, after)

    def _context_rows(self, old: int, new: int, count: int) -> Iterator[Row]:
        for step in range(count):
            text, ends = cut_newline(self.new_lines[new + step])
            before = self.old_lines[old + step]
            other = before.removesuffix("\n") if before != self.new_lines[new + step] else None
            yield Row("ctx", old + step + 1, new + step + 1, text, ends=ends, other=other)

    def _changed(self, hunk: Hunk, work: Work) -> Iterator[Row]:
        before = self.old_lines[hunk.old_start : hunk.old_end]
        after = self.new_lines[hunk.new_start : hunk.new_end]
        old_marks, new_marks = changed_words(before, after, work)
        for i, (text, ends) in enumerate(map(cut_newline, before)):
            line = hunk.old_start + i
            moved = self.moved.get(("old", line))
            yield Row("del", line + 1, None, text, old_marks.get(i, ()), ends, hunk.number, moved)
        for j, (text, ends) in enumerate(map(cut_newline, after)):
            line = hunk.new_start + j
            moved = self.moved.get(("new", line))
            yield Row("add", None, line + 1, text, new_marks.get(j, ()), ends, hunk.number, moved)


def compare(
    old: str, new: str, *, context: int | None = 3, ignore_blanks: bool = False, ignore_last_newline: bool = False
) -> Diff:
    """Compare two texts; `context=None` shows all unchanged lines.

    `ignore_last_newline`: a line that ends one text and goes on in the other is unchanged, unless nothing else differs.
    """
    old_lines, new_lines = split(old), split(new)
    if ignore_last_newline and old.rstrip("\n") != new.rstrip("\n"):
        old_lines, new_lines = split(with_newline(old)), split(with_newline(new))
    if ignore_blanks:
        spans = changes([_without_blanks(line) for line in old_lines], [_without_blanks(line) for line in new_lines])
    else:
        spans = changes(old_lines, new_lines)
    hunks = [Hunk(number, *span) for number, span in enumerate(spans, 1)]
    return Diff(old_lines, new_lines, hunks, context, _find_moves(old_lines, new_lines, hunks))


def with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _without_blanks(line: str) -> str:
    return "".join(line.split())


# A short line such as `}` stands in many places; only what is long enough to be recognised counts as moved.
_MIN_MOVED_LENGTH = 12


def _find_moves(old: list[str], new: list[str], hunks: list[Hunk]) -> dict[tuple[str, int], int]:
    """Lines that were taken out at one place and put in at another, unchanged: ("old" or "new", place) -> the partner's
    number, counted from 1."""
    removed: dict[str, list[int]] = {}
    for hunk in hunks:
        for line in range(hunk.old_start, hunk.old_end):
            if len(old[line].strip()) >= _MIN_MOVED_LENGTH:
                removed.setdefault(old[line].strip(), []).append(line)
    moves: dict[tuple[str, int], int] = {}
    for hunk in hunks:
        for line in range(hunk.new_start, hunk.new_end):
            # A line changed at its own place (its indentation, its end) has not moved.
            origins = removed.get(new[line].strip(), [])
            if origins and not hunk.old_start <= origins[0] < hunk.old_end:
                origin = origins.pop(0)
                moves["old", origin], moves["new", line] = line + 1, origin + 1
    return moves


def changed_characters(old: str, new: str) -> tuple[int, int]:
    """Characters added and removed, within the lines that change."""
    added = removed = 0
    diff = compare(old, new, context=0)
    for hunk in diff.hunks:
        before = "".join(diff.old_lines[hunk.old_start : hunk.old_end])
        after = "".join(diff.new_lines[hunk.new_start : hunk.new_end])
        head = same_head(before, after)
        common = head + same_tail(before[head:], after[head:])
        added, removed = added + len(after) - common, removed + len(before) - common
    return added, removed


# ---- taking changes one by one


def take(old: str, new: str, numbers: Iterable[int]) -> str:
    """The old text with only these hunks of `compare(old, new)` taken."""
    wanted = set(numbers)
    before, after = split(old), split(new)
    lines: list[str] = []
    at = 0
    for number, (i1, i2, j1, j2) in enumerate(changes(before, after), 1):
        lines += before[at:i1]
        lines += after[j1:j2] if number in wanted else before[i1:i2]
        at = i2
    return "".join(_with_newlines(lines + before[at:]))


def _with_newlines(lines: list[str]) -> list[str]:
    """Only the last line may lack its newline: one taken from the end of a text gets it when others follow."""
    return [line if line.endswith("\n") else line + "\n" for line in lines[:-1]] + lines[-1:]


# ---- as text, in the unified form that `patch` and `git apply` read


def unified_bytes(old: bytes | None, new: bytes | None, path: str) -> str:
    """The unified diff of two contents; where one of them is no text, a sentence with the two sizes."""
    if is_text(old or b"") and is_text(new or b""):
        return unified(None if old is None else text_of(old), None if new is None else text_of(new), path)
    sizes = ["no file" if one is None else f"{len(one)} byte{'s' * (len(one) != 1)}" for one in (old, new)]
    return "" if old == new else f"Binary file {path.lstrip('/')}: {sizes[0]} before, {sizes[1]} after\n"


def unified(old: str | None, new: str | None, path: str, *, context: int = 3) -> str:
    """The unified diff of two texts. None is no file, which an empty one is not."""
    before, after = split(old or ""), split(new or "")
    blocks = list(_blocks(changes(before, after), context))
    if not blocks and (old is None) == (new is None):
        return ""
    name = path.lstrip("/")
    lines = [
        "--- /dev/null\n" if old is None else f"--- a/{name}\n",
        "+++ /dev/null\n" if new is None else f"+++ b/{name}\n",
    ]
    for block in blocks:
        lines.extend(_block_lines(block, before, after, context))
    return "".join(lines)


def _blocks(spans: list[Span], context: int) -> Iterator[list[Span]]:
    """Changes whose lines of context meet, in one block."""
    block: list[Span] = []
    for span in spans:
        if block and span[0] - block[-1][1] > 2 * context:
            yield block
            block = []
        block.append(span)
    if block:
        yield block


def _block_lines(block: list[Span], old: list[str], new: list[str], context: int) -> Iterator[str]:
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
