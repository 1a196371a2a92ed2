"""Text that speaks to the model with an authority it does not have: overrides, fake roles, secrecy, theft, poison.

The text is folded first (lower case, look-alike letters to Latin, invisible characters out), so that disguises do not help,
and offsets are mapped back. A rule is tried only where its words stand. Sentences that forbid the act or quote it
as an example of an attack are left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from .finding import Finding, Lines
from .injection_rules import CARELESS, FORBIDS, QUOTED, RULES, Rule
from .known import Known
from .scanning import REACH, Rows, stretches

CODE = "injection"


def find(text: str, lines: Lines, known: Sequence[Known] = ()) -> list[Finding]:
    """One finding per place and kind; overlapping ones keep the graver."""
    rows, places = lines.rows, lines.folded[1]
    found: list[Finding] = []
    for rule in RULES:
        found += [_finding(rule, lines, *span) for span in _spans(rule, rows, places)]
    return _graver(found)


def _spans(rule: Rule, rows: Rows, places: Sequence[int] | None) -> Iterator[tuple[int, int]]:
    for match in _matches(rule, rows):
        if rule.kind in CARELESS or not _only_mentioned(rows.text, match):
            start, end = match.span()
            yield (start, end) if places is None else (places[start], places[end - 1] + 1)


def _matches(rule: Rule, rows: Rows) -> Iterator[re.Match[str]]:
    spans = stretches(rows.text, rule.needles, following=1) if rule.needles else rows.near(rule.groups)
    for start, end in spans:
        yield from rule.pattern.finditer(rows.text, start, end)


def _only_mentioned(folded: str, match: re.Match[str]) -> bool:
    """Forbidden by the words before it, or quoted on a line that speaks of attacks."""
    start = folded.rfind("\n", 0, match.start()) + 1
    if FORBIDS.search(folded, max(start, match.start() - 60), match.start()):
        return True
    before = folded[match.start() - 1 : match.start()]
    end = folded.find("\n", match.end())
    # A line may be the whole text: what is said of attacks stands near.
    end = min(end if end >= 0 else len(folded), match.end() + REACH)
    line = folded[max(start, match.start() - REACH) : end]
    return before in ('"', "'", "`", "“", "‘", "«") and bool(QUOTED.search(line))


def _finding(rule: Rule, lines: Lines, start: int, end: int) -> Finding:
    return Finding(CODE, rule.severity, start, end, lines.number(start), f"Injection: {rule.says}", rule.kind)


def _graver(found: list[Finding]) -> list[Finding]:
    kept: list[Finding] = []  # in order, so that a text full of them is not compared each with each
    for one in sorted(found, key=lambda one: (one.severity != "high", one.start)):
        at = bisect_left(kept, one.start, key=lambda other: other.start)
        is_free_before = at == 0 or kept[at - 1].end <= one.start
        if is_free_before and (at == len(kept) or one.end <= kept[at].start):
            kept.insert(at, one)
    return kept
