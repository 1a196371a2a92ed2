"""The lines of a coding agent's context as they are drawn: folded where they are many, findings and cuts at their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memoryhub.detectors import Finding
from memoryhub.domain.coding_agents import Cut

FOLD_AT, SHOWN_LINES, SHOWN_LOST = 40, 24, 3
MAX_LINES, MAX_LOST, MAX_LINE = 2_000, 200, 4_000


@dataclass(frozen=True)
class Piece:
    """A stretch of one section as it is drawn: lines, lines behind a fold, a finding, a cut, or lost lines."""

    kind: str  # lines more finding cut lost lost_more note
    lines: Sequence[str] = ()
    first: int = 1
    finding: Finding | None = None
    cut: Cut | None = None
    count: int = 0


def with_cut(lines: list[str], first: int, found: dict[int, list[Finding]], cut: Cut | None, head: int) -> list[Piece]:
    """The lines of a file with findings under their line, and its cut at its line."""
    if cut is None:
        return folded(lines, first, found)
    after = min(cut.after + head, len(lines))
    shown = max(0, after - 2) if after > FOLD_AT else after  # the lines just above a cut are never folded
    pieces = folded(lines[:shown], first, found)
    pieces += _with_findings(lines[shown:after], first + shown, found)
    pieces.append(Piece("cut", cut=cut, count=len(cut.lost)))
    lost = list(cut.lost)
    pieces.append(Piece("lost", _short_lines(lost[:SHOWN_LOST]), cut.first))
    if len(lost) > SHOWN_LOST:
        more = lost[SHOWN_LOST:MAX_LOST]
        pieces.append(Piece("lost_more", _short_lines(more), cut.first + SHOWN_LOST, count=len(lost) - SHOWN_LOST))
    return pieces + (folded(lines[after:], first + after, found) if after < len(lines) else [])


def folded(lines: list[str], first: int, found: dict[int, list[Finding]]) -> list[Piece]:
    """Lines with findings under theirs; of many, most are behind a fold, but never one with a finding."""
    drawn = lines[:MAX_LINES]
    if len(drawn) <= FOLD_AT:
        pieces = list(_with_findings(drawn, first, found))
    else:
        pieces = list(_with_findings(drawn[:SHOWN_LINES], first, found))
        rest = first + SHOWN_LINES
        for number in sorted(at for at in found if rest <= at < first + len(drawn)):
            pieces += _more(lines, first, rest, number)
            pieces += _with_findings([lines[number - first]], number, found)
            rest = number + 1
        pieces += _more(lines, first, rest, first + len(drawn))
    if len(lines) > len(drawn):
        pieces.append(Piece("note", count=len(lines) - len(drawn)))
    return pieces


def _more(lines: list[str], first: int, start: int, end: int) -> list[Piece]:
    hidden = lines[start - first : end - first]
    return (
        [Piece("more" if len(hidden) > 3 else "lines", _short_lines(hidden), start, count=len(hidden))]
        if hidden
        else []
    )


def _with_findings(lines: list[str], first: int, found: dict[int, list[Finding]]) -> Iterator[Piece]:
    start = 0
    for at in range(len(lines)):
        here = found.get(first + at)
        if here:
            yield Piece("lines", _short_lines(lines[start : at + 1]), first + start)
            yield from (Piece("finding", finding=one) for one in here[:5])
            start = at + 1
    if start < len(lines):
        yield Piece("lines", _short_lines(lines[start:]), first + start)


def _short_lines(lines: Sequence[str]) -> list[str]:
    """Lines as they are drawn: of a very long one only its beginning."""
    return [line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} … +{len(line) - MAX_LINE:,}" for line in lines]
