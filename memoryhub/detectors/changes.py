"""What the detectors find in a change of a text: in the lines that it adds, and what comes about because these and the lines around
them stand together now (pure)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from memoryhub.text import comments
from memoryhub.text.lines import changes, split, text_of

from . import COST, MAX_FINDINGS, PROPOSAL, Finding, KnownText, find

MAX_STRETCHES = 60  # changes that are looked at one by one; of more, the whole text is looked at once
REACH = 4_000  # characters on each side of a change that are looked at together with it
JOINING = ("secrets", "hidden", "injection")
SAMPLE = 4_000  # bytes that tell the encoding of a text


def detectable(content: bytes | None) -> str:
    """A content as the detectors read it: text in UTF-16 is read as such."""
    content = content or b""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[2:].decode(encoding, "replace")
    if b"\x00" in content[:SAMPLE]:
        odd, even = content[1:SAMPLE:2], content[:SAMPLE:2]
        if odd.count(0) * 2 > len(odd):
            return content.decode("utf-16-le", "replace")
        if even.count(0) * 2 > len(even):
            return content.decode("utf-16-be", "replace")
    return text_of(content)


def findings_in(
    before: str, after: str, known: Sequence[KnownText] = (), *, only: Iterable[str] | None = None
) -> list[Finding]:
    """Findings in the lines that a change touches, at their places in the text it makes, and those that come about because
    these lines and the ones around them stand together now. Prompts leave HTML comments out, so words are read across them."""
    codes = tuple(only or PROPOSAL)
    found = _findings_in(before, after, known, codes)
    if comments.OPEN not in after:
        return found
    across = _across_comments(before, after, [code for code in codes if code in JOINING])
    new = [one for one in across if not any(one.code == other.code and _overlap(one, other) for other in found)]
    return sorted([*found, *new], key=lambda one: (one.start, one.end, one.code)) if new else found


def _overlap(one: Finding, other: Finding) -> bool:
    return one.start < other.end and other.start < one.end


def _across_comments(before: str, after: str, codes: Sequence[str]) -> Iterator[Finding]:
    """The findings of a text without its comments, at their places in the text with them."""
    if not codes:
        return
    cuts = list(comments.spans(after))
    removed = list(accumulate((end - start for start, end in cuts), initial=0))
    begins = [start - gone for (start, _), gone in zip(cuts, removed, strict=False)]  # of each in the text without them
    starts = _line_starts(split(after))
    for one in _findings_in(comments.without(before), comments.without(after), (), tuple(codes)):
        start = one.start + removed[bisect_right(begins, one.start)]
        end = max(start, one.end + removed[bisect_left(begins, one.end)])
        line = bisect_right(starts, start) if after else 1
        yield _moved(replace(one, start=0, end=end - start), start, line - one.line)


def _findings_in(before: str, after: str, known: Sequence[KnownText], codes: tuple[str, ...]) -> list[Finding]:
    if not before:
        return find(after, only=codes, context=known)
    old, new = split(before), split(after)
    starts, old_starts = _line_starts(new), _line_starts(old)
    found: list[Finding] = []
    touched = [
        Touched(starts[start], starts[end], old_starts[old_start], old_starts[old_end])
        for old_start, old_end, start, end in changes(old, new)
    ]
    if len(touched) > MAX_STRETCHES:
        return _in_whole(before, after, touched, known, codes)
    for one in touched:
        if one.start < one.end:
            added = find(after[one.start : one.end], only=codes, context=known)
            found += [_moved(finding, one.start, bisect_right(starts, one.start) - 1) for finding in added]
    for finding in _joined(before, after, touched, starts, [code for code in codes if code in JOINING]):
        if not any(finding.code == one.code and finding.start < one.end and one.start < finding.end for one in found):
            found.append(finding)
    return sorted(found, key=lambda one: (one.start, one.end, one.code))


@dataclass(frozen=True, slots=True)
class Touched:
    """Where a change begins and ends in the new text, and what it replaces in the old one."""

    start: int
    end: int
    old_start: int
    old_end: int

    def has(self, one: Finding) -> bool:
        """Whether a finding lies in it, in part at least; of a deletion, whether it goes over the place."""
        if self.start == self.end:
            return one.start < self.start < one.end
        return one.start < self.end and self.start < one.end


def _in_whole(
    before: str, after: str, touched: list[Touched], known: Sequence[KnownText], codes: tuple[str, ...]
) -> list[Finding]:
    """`findings_in` for very many changes: the findings of the whole text that lie in one of them, and those that the old text did
    not have. Where there are too many to list, all count: the ones that are missing may lie anywhere."""
    found = find(after, only=codes, context=known)
    count = Counter(one.code for one in found)
    ends = [one.end for one in touched]

    def is_touched(one: Finding) -> bool:
        near = touched[max(0, bisect_left(ends, one.start) - 1) : bisect_right(ends, one.end) + 1]
        return one.code == COST or count[one.code] >= MAX_FINDINGS or any(t.has(one) for t in near)

    here = [one for one in found if is_touched(one)]
    others = [one for one in found if one.code in JOINING and not is_touched(one)]
    joined = [code for code in codes if code in JOINING]
    new = _not_there(others, after, before, find(before, only=joined)) if others else ()
    return sorted([*here, *new], key=lambda one: (one.start, one.end, one.code))


def _joined(before: str, after: str, touched: list[Touched], starts: list[int], codes: list[str]) -> Iterator[Finding]:
    """Findings with the text around each change in view: those that touch it, and those that the old text did not have."""
    for group in _near(touched) if codes else ():
        left = min(REACH, group[0].start)
        right = min(REACH, len(after) - group[-1].end)
        first, last = group[0].start - left, group[-1].end + right
        line = bisect_right(starts, first) - 1
        found = [_moved(one, first, line) for one in find(after[first:last], only=codes)]
        yield from (one for one in found if any(part.has(one) for part in group))
        others = [one for one in found if not any(part.has(one) for part in group)]
        if others:
            was = before[group[0].old_start - left : group[-1].old_end + right]
            yield from _not_there(others, after, was, find(was, only=codes))


def _not_there(found: list[Finding], after: str, was: str, earlier: list[Finding]) -> Iterator[Finding]:
    """The findings that an earlier text did not have."""
    there = Counter((one.code, one.kind, was[one.start : one.end]) for one in earlier)
    for one in found:
        key = one.code, one.kind, after[one.start : one.end]
        if there[key]:
            there[key] -= 1
        else:
            yield one


def _near(touched: list[Touched]) -> Iterator[list[Touched]]:
    """The changes in groups whose surroundings overlap."""
    group: list[Touched] = []
    for one in touched:
        if group and one.start - group[-1].end > 2 * REACH:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _moved(one: Finding, start: int, line: int) -> Finding:
    """A finding of a stretch, at its place in the whole text; sentences name the line as well."""
    number = one.line + line
    message = one.message.replace(f"in line {one.line} ", f"in line {number} ", 1)
    message = message.replace(f"in line {one.line}.", f"in line {number}.", 1)
    return replace(one, start=one.start + start, end=one.end + start, line=number, message=message)


def _line_starts(lines: list[str]) -> list[int]:
    """Where each line begins, and where the last one ends."""
    return list(accumulate(map(len, lines), initial=0))
