"""Texts as lines, and which lines of two texts belong together (pure). Bytes that are no UTF-8 survive: in through `text_of`, out
through `bytes_of`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from memoryhub.errors import Invalid


def text_of(content: bytes) -> str:
    """Bytes as text; those that are no UTF-8 become lone surrogates."""
    return content.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes that `text_of` read."""
    return text.encode("utf-8", "surrogateescape")


def text_as_bytes(text: str) -> bytes:
    """The bytes of a text from a person or an agent; refused with NUL or lone surrogates."""
    if "\x00" in text:
        raise Invalid("The text holds a NUL character. Send such content as base64.", code="invalid_content")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Invalid("The text holds half of a character (a lone surrogate).", code="invalid_content") from None


def is_text(content: bytes) -> bool:
    """Whether a content can travel as text: valid UTF-8 without NUL."""
    try:
        return "\x00" not in content.decode()
    except UnicodeDecodeError:
        return False


def split(text: str) -> list[str]:
    """Lines with their LF; the last one may have none."""
    lines = text.split("\n")
    last = lines.pop()
    result = [line + "\n" for line in lines]
    return [*result, last] if last else result


# ---- which lines of two texts belong together
#
# Like a patience diff: lines that are unique in both texts are anchors, and between two anchors this is done again; where there
# are none, lines that both texts have equally often are paired in order. It stays near n log n where `difflib` alone turns
# quadratic on many equal lines. A stretch of very many lines is not looked into: it counts as one change.

Span = tuple[int, int, int, int]
_MIN_FOR_WALK = 600  # items on both sides from which on `_small_changes` is tried first
_MAX_JUMP, _WINDOW = 6, 12  # items: how long a small change may be, and how much must agree after it
MAX_COMPARED = 200_000
"""Items of both sides together, without what both begin and end with; in more of them no equal ones are looked for."""
_MAX_FOR_DIFFLIB = 160  # items on both sides up to which difflib is quick, and its result reads best
MAX_COST = 30_000_000  # of all that difflib looks into; half a second of such stretches as it is slowest with
_ALWAYS = 2_000  # what less costs is nothing beside the rest


def changes(a: Sequence[Hashable], b: Sequence[Hashable], *, max_for_difflib: int = _MAX_FOR_DIFFLIB) -> list[Span]:
    """What differs between `a` and `b`, in order, as (start in a, end in a, start in b, end in b)."""
    result: list[Span] = []
    i = j = 0
    for at_a, at_b, size in [*matching_spans(a, b, max_for_difflib), (len(a), len(b), 0)]:
        if at_a > i or at_b > j:
            result.append((i, at_a, j, at_b))
        i, j = at_a + size, at_b + size
    return [_slide(span, a, b) for span in result]


def _slide(span: Span, a: Sequence[Hashable], b: Sequence[Hashable]) -> Span:
    """Let a pure insertion or deletion end at an empty line where it can: that is where people expect its end."""
    i1, i2, j1, j2 = span
    if (i1 == i2) == (j1 == j2):
        return span
    side, start, end = (b, j1, j2) if i1 == i2 else (a, i1, i2)
    if side[end - 1] == "\n" or start == 0 or side[start - 1] != side[end - 1]:
        return span
    # Sliding up by one keeps both texts the same as long as the line above equals the last one of the change.
    if end - 2 >= start and side[end - 2] == "\n" and i1 and j1:
        return (i1 - 1, i2 - 1, j1 - 1, j2 - 1)
    return span


def matching_spans(
    a: Sequence[Hashable], b: Sequence[Hashable], max_for_difflib: int = _MAX_FOR_DIFFLIB
) -> list[tuple[int, int, int]]:
    """Runs of equal items (start in `a`, start in `b`, length), in order and not overlapping."""
    pairs = sorted(_pairs(a, b, max_for_difflib))
    spans: list[tuple[int, int, int]] = []
    for i, j, size in pairs:
        if spans and spans[-1][0] + spans[-1][2] == i and spans[-1][1] + spans[-1][2] == j:
            spans[-1] = (spans[-1][0], spans[-1][1], spans[-1][2] + size)
        else:
            spans.append((i, j, size))
    return spans


def _pairs(a: Sequence[Hashable], b: Sequence[Hashable], max_for_difflib: int) -> Iterator[tuple[int, int, int]]:
    todo: list[Span] = [(0, len(a), 0, len(b))]
    left = MAX_COST
    while todo:
        i1, i2, j1, j2 = todo.pop()
        head = _common_head(a, b, i1, i2, j1, j2)
        if head:
            yield i1, j1, head
            i1, j1 = i1 + head, j1 + head
        tail = _common_tail(a, b, i1, i2, j1, j2)
        if tail:
            yield i2 - tail, j2 - tail, tail
            i2, j2 = i2 - tail, j2 - tail
        if i1 == i2 or j1 == j2 or i2 - i1 + j2 - j1 > MAX_COMPARED:
            continue
        if min(i2 - i1, j2 - j1) > _MIN_FOR_WALK and (runs := _small_changes(a, b, i1, i2, j1, j2)):
            yield from runs
            i, j, size = runs[-1]
            todo.append((i + size, i2, j + size, j2))
            continue
        if i2 - i1 == 1 == j2 - j1:
            continue  # they differ, else they were part of what both begin with
        if i2 - i1 <= max_for_difflib and j2 - j1 <= max_for_difflib:
            left -= (cost := difflib_cost(a[i1:i2], b[j1:j2]))
            is_quick = left > 0 or cost < _ALWAYS
        else:
            is_quick = False
        if is_quick:
            yield from _by_difflib(a, b, i1, i2, j1, j2)
            continue
        anchors = _anchors(a[i1:i2], b[j1:j2])
        if not anchors:
            continue
        for i, j in anchors:
            yield i1 + i, j1 + j, 1
        ends = [(-1, -1), *anchors, (i2 - i1, j2 - j1)]
        for (p, q), (r, s) in pairwise(ends):
            if r > p + 1 and s > q + 1:
                todo.append((i1 + p + 1, i1 + r, j1 + q + 1, j1 + s))


def _common_head(a: Sequence[Hashable], b: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int) -> int:
    return common_length(min(i2 - i1, j2 - j1), lambda at, n: a[i1 + at : i1 + at + n] == b[j1 + at : j1 + at + n])


def _common_tail(a: Sequence[Hashable], b: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int) -> int:
    return common_length(min(i2 - i1, j2 - j1), lambda at, n: a[i2 - at - n : i2 - at] == b[j2 - at - n : j2 - at])


def common_length(limit: int, same: Callable[[int, int], bool], first: int = 64) -> int:
    """How far two sequences agree, at most `limit`; `same(at, n)` compares the next n items from `at` on.

    Pieces grow while they agree and shrink at the difference, so most of the comparing runs at C speed.
    """
    at, size = 0, first
    while at < limit:
        step = min(size, limit - at)
        if same(at, step):
            at, size = at + step, size * 2
        elif step == 1:
            break
        else:
            size = step // 2
    return at


def _small_changes(
    a: Sequence[Hashable], b: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int
) -> list[tuple[int, int, int]]:
    """The runs of equal items between small changes, up to the first change that no window of equal items follows."""
    runs = []
    while i1 < i2 and j1 < j2:
        jump = _next_common_window(a, b, i1, i2, j1, j2)
        if jump is None:
            break
        i1, j1 = i1 + jump[0], j1 + jump[1]
        size = _common_head(a, b, i1, i2, j1, j2)
        runs.append((i1, j1, size))
        i1, j1 = i1 + size, j1 + size
    return runs


def _next_common_window(
    a: Sequence[Hashable], b: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int
) -> tuple[int, int] | None:
    for total in range(1, 2 * _MAX_JUMP):
        # The middle first: a line that changed is likelier than one that came or went.
        for down in sorted(
            range(max(0, total - _MAX_JUMP), min(total, _MAX_JUMP) + 1), key=lambda d: abs(2 * d - total)
        ):
            i, j = i1 + down, j1 + total - down
            if i + _WINDOW <= i2 and j + _WINDOW <= j2 and a[i : i + _WINDOW] == b[j : j + _WINDOW]:
                return down, total - down
    return None


def difflib_cost(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """At most so many steps difflib needs: pairs of equal items, for each stretch of equal ones. It grows with the cube of the
    length where items repeat."""
    in_a, in_b = Counter(a), Counter(b)
    pairs = sum(count * in_b[item] for item, count in in_a.items() if item != "\n")  # empty lines are passed over
    return pairs * min(len(a), len(b)) + len(a) + len(b)


def _by_difflib(
    a: Sequence[Hashable], b: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int
) -> Iterator[tuple[int, int, int]]:
    matcher = SequenceMatcher(lambda item: item == "\n", a[i1:i2], b[j1:j2], autojunk=False)
    for i, j, size in matcher.get_matching_blocks():
        if size:
            yield i1 + i, j1 + j, size


def _anchors(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of equal items in order: of unique items, else of items that both sides have equally often, else of any."""
    in_a, in_b = Counter(a), Counter(b)
    place = {item: j for j, item in enumerate(b) if in_b[item] == 1 == in_a[item]}  # without a list for each of them
    if place:
        return _longest_increasing([(i, place[item]) for i, item in enumerate(a) if item in place])
    for is_anchor in (
        lambda item: in_a[item] == in_b[item],
        lambda item: item in in_a and item in in_b,
    ):
        places: defaultdict[Hashable, list[int]] = defaultdict(list)
        for j, item in enumerate(b):
            if is_anchor(item):
                places[item].append(j)
        if places:
            left = {item: iter(at) for item, at in places.items()}
            found = ((i, next(left[item], None)) for i, item in enumerate(a) if item in left)
            pairs = [(i, j) for i, j in found if j is not None]
            return _longest_increasing(pairs)
    return []


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest choice of pairs that is in order on both sides."""
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for at, (_, j) in enumerate(pairs):
        pile = bisect_left(ends, j)
        before.append(tops[pile - 1] if pile else -1)
        if pile == len(ends):
            ends.append(j)
            tops.append(at)
        else:
            ends[pile], tops[pile] = j, at
    result = []
    at = tops[-1] if tops else -1
    while at >= 0:
        result.append(pairs[at])
        at = before[at]
    return result[::-1]


def added_and_removed(old: str, new: str) -> tuple[int, int]:
    """Lines added and removed."""
    # Whole lines at both ends are compared as text first: most changes are small.
    head = old.rfind("\n", 0, same_head(old, new)) + 1
    old, new = old[head:], new[head:]
    tail = same_tail(old, new)
    added, removed = new[: len(new) - tail], old[: len(old) - tail]
    if not (added and removed) and (added + removed).endswith("\n"):  # whole lines, only added or only taken out
        return added.count("\n"), removed.count("\n")
    cut = old.find("\n", len(old) - tail) + 1 or len(old)
    rest = len(old) - cut
    spans = changes(split(old[:cut]), split(new[: len(new) - rest]))
    return sum(j2 - j1 for _, _, j1, j2 in spans), sum(i2 - i1 for i1, i2, _, _ in spans)


def same_head(old: str, new: str) -> int:
    return common_length(min(len(old), len(new)), lambda at, n: old[at : at + n] == new[at : at + n])


def same_tail(old: str, new: str) -> int:
    ends = len(old), len(new)
    return common_length(
        min(ends), lambda at, n: old[ends[0] - at - n : ends[0] - at] == new[ends[1] - at - n : ends[1] - at]
    )


# ---- texts that went through a browser's text field

_END = re.compile(r"\r\n|\r|\n")
BOM = "\ufeff"


def for_editor(text: str) -> str:
    """The text without BOM and with LF at every line end, as a text field shows it."""
    return _END.sub("\n", text.removeprefix(BOM))


def keep_ends(before: str, edited: str) -> str:
    """An edited text with the BOM and the line ends of the text before: unchanged lines keep their own, new lines get that of
    the line above. Browsers send every line end as CR LF, whatever the file had."""
    rows, ends = _lines_and_ends(before.removeprefix(BOM))
    new_rows, _ = _lines_and_ends(edited)
    old_ends: dict[int, str] = {}  # by the place of the line in the edited text
    spans = list(matching_spans(rows, new_rows))
    # Lines that were rewritten one for one keep their place, and with it their end.
    spans += [(i, j, i2 - i) for i, i2, j, j2 in changes(rows, new_rows) if i2 - i == j2 - j]
    for i, j, size in spans:
        old_ends.update({j + step: ends[i + step] for step in range(size) if i + step < len(ends)})
    new_ends, last = [], ends[0] if ends else "\n"
    for at in range(len(new_rows) - 1):
        last = old_ends.get(at, last)
        new_ends.append(last)
    pieces = [row + end for row, end in zip(new_rows, [*new_ends, ""], strict=True)]
    return (BOM if before.startswith(BOM) else "") + "".join(pieces)


def _lines_and_ends(text: str) -> tuple[list[str], list[str]]:
    return _END.split(text), _END.findall(text)


def describe_ends(text: str) -> str:
    """Which line ends, BOM and final newline a text has, in a few words for people."""
    kinds = {"\n": "LF", "\r\n": "CR LF", "\r": "CR"}
    found = [kinds[end] for end in dict.fromkeys(_END.findall(text))]
    parts = [" and ".join(found) + (" mixed" if len(found) > 1 else "") if found else "one line"]
    parts.append("BOM" if text.startswith(BOM) else "no BOM")
    if text and not _END.search(text[-1]):
        parts.append("no newline at the end")
    return ", ".join(parts)


def places_of(wanted: Sequence[str], lines: Sequence[str], start: int = 0) -> Iterator[int]:
    """Where all of the wanted lines follow each other, from `start` on, in time that grows with the lines alone (Knuth, Morris, Pratt)."""
    if not wanted:
        return
    back, known = [0], 0  # for each wanted line: how many of the first ones end there
    for line in wanted[1:]:
        while known and line != wanted[known]:
            known = back[known - 1]
        known += line == wanted[known]
        back.append(known)
    known = 0
    for at in range(start, len(lines)):
        while known and (known == len(wanted) or lines[at] != wanted[known]):
            known = back[known - 1]
        known += lines[at] == wanted[known]
        if known == len(wanted):
            yield at - known + 1
