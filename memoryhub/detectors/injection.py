"""Text that speaks to the model with an authority it does not have: overrides, fake roles, secrecy, theft, poison.

The text is folded first (lower case, look-alike letters to Latin, invisible characters out), so that disguises do not help,
and offsets are mapped back. A rule is tried only where its words stand. Sentences that forbid the act or quote it
as an example of an attack are left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from .finding import Finding, Lines
from .injection_rules import CARELESS, FORBIDS, QUOTED, RULES, Rule
from .known import Known
from .scanning import REACH, stretches

CODE = "injection"


def find(text: str, lines: Lines, known: Sequence[Known] = ()) -> list[Finding]:
    """One finding per place and kind; overlapping ones keep the graver."""
    found: list[Finding] = []
    for rule in RULES:
        found += [_finding(rule, lines, *span) for span in _spans(rule, lines)]
    return _graver(found)


def _spans(rule: Rule, lines: Lines) -> Iterator[tuple[int, int]]:
    folded, places = lines.folded
    for match in _matches(rule, lines):
        if rule.kind in CARELESS or not _only_mentioned(folded, match):
            start, end = match.span()
            yield (start, end) if places is None else (places[start], places[end - 1] + 1)


def _matches(rule: Rule, lines: Lines) -> Iterator[re.Match[str]]:
    rows = lines.rows
    for start, end in _where(rule, lines):
        if rule.opens is None:
            yield from rule.pattern.finditer(rows.text, start, end)
            continue
        for at in rows.words(rule.opens, start, end):
            if at >= start and (match := rule.pattern.match(rows.text, at, end)):
                yield match
                start = match.end()


def _where(rule: Rule, lines: Lines) -> Iterable[tuple[int, int]]:
    if rule.needles:
        return stretches(lines.folded[0], rule.needles, lines.folded_words, following=1)
    return lines.rows.near(rule.groups)


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
