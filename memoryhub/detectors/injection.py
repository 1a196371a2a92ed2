"""Text that speaks to the model with an authority it does not have: overrides, fake roles, secrecy, theft, poison.

The text is folded first (lower case, look-alike letters to Latin, invisible characters out), so that disguises do not help,
and offsets are mapped back. A rule is tried only where its words stand. Sentences that forbid the act or quote it
as an example of an attack are left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from . import injection_rules, poison_rules
from .finding import Finding, Lines
from .foreign_orders import dropped, shown
from .injection_parts import Rule
from .injection_rules import DROPPED, REGISTER, SHOWN
from .known import Known
from .mentioned import QUOTES, describes_option, only_mentioned, opens_quote, told_of
from .register import talked_out
from .scanning import REACH, stretches

CODE = "injection"
RULES = (*injection_rules.RULES, *poison_rules.RULES)

_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>instructions?|memory|memories|context|assistant|user(?:_?(?:query|input|data))?|untrusted\w*|document|data|tool|human|query|system(?:[-_](?:reminder|prompt|message|instructions?))?)(?=[\s>])"
)
"""Tags that honest prompts open and close themselves. Those of a system have no business in memory but in code."""


def find(text: str, lines: Lines, known: Sequence[Known] = ()) -> list[Finding]:
    """One finding per place and kind; overlapping ones keep the graver."""
    found: list[Finding] = []
    for rule in RULES:
        if rule.needles or lines.rows.have(rule.groups):
            found += [_finding(rule, lines, *span) for span in _spans(rule, lines)]
    folded = lines.folded[0]
    talk = (span for span in talked_out(lines) if not told_of(folded, span[0]))
    found += [_finding(REGISTER, lines, *_unfolded(lines, *span)) for span in talk]
    for rule, look in ((DROPPED, dropped), (SHOWN, shown)):
        spans = (span for span in look(lines) if not only_mentioned(folded, *span))
        found += [_finding(rule, lines, *_unfolded(lines, *span)) for span in spans]
    return _graver(found)


def _spans(rule: Rule, lines: Lines) -> Iterator[tuple[int, int]]:
    folded = lines.folded[0]
    for match in _matches(rule, lines):
        if rule.kind == "poison" and describes_option(folded, match.start(), _is_in_code(lines, match.start())):
            continue
        if not (_is_own_markup(lines, match) if rule.kind == "markup" else only_mentioned(folded, *match.span())):
            yield _unfolded(lines, *match.span())


def _unfolded(lines: Lines, start: int, end: int) -> tuple[int, int]:
    """Where a stretch of the folded text stands in the text as it was given."""
    places = lines.folded[1]
    return (start, end) if places is None else (places[start], places[end - 1] + 1)


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


def _is_own_markup(lines: Lines, match: re.Match[str]) -> bool:
    """A tag that the text itself opened and closes, or a mark in quotes: neither ends what stands around the text."""
    folded = lines.folded[0]
    at = folded.find("<", match.start(), match.end())
    is_paired = at >= 0 and at in lines.cached("paired tags", _paired)
    if is_paired and ("system" not in match.group() or _is_in_code(lines, at)):
        return True
    before, after = folded[match.start() - 1 : match.start()], folded[match.end() : match.end() + 1]
    return (before in QUOTES and after in QUOTES and bool(before and after)) or _is_template(folded, match)


_OPENED = re.compile(r"<system\b|\[inst\]")


def _is_template(folded: str, match: re.Match[str]) -> bool:
    """A mark that quotes or code on its line open and close again."""
    start, end = folded.rfind("\n", 0, match.start()) + 1, folded.find("\n", match.end())
    before = folded[max(start, match.start() - REACH) : match.start()]
    after = folded[match.end() : end if 0 <= end < match.end() + REACH else match.end() + REACH]
    has_pair = "/inst]" in after if "[inst]" in match.group() else bool(_OPENED.search(before))
    return has_pair and opens_quote(before)


def _is_in_code(lines: Lines, at: int) -> bool:
    return bisect_left(lines.cached("fences", _fences), at) % 2 == 1


def _fences(folded: str) -> list[int]:
    return [match.start() for match in re.finditer("```", folded)]


def _paired(folded: str) -> set[int]:
    """Where the tags stand that open and close each other."""
    opened: dict[str, list[int]] = {}
    paired: set[int] = set()
    for match in _TAG.finditer(folded):
        if not match["close"]:
            opened.setdefault(match["name"], []).append(match.start())
        elif opened.get(match["name"]):
            paired |= {opened[match["name"]].pop(), match.start()}
    return paired


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
