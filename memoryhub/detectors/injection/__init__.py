"""Text that speaks to the model with an authority it does not have: overrides, fake roles, secrecy, theft, poison.

The text is normalised first (lower case, look-alike letters to Latin, invisible characters out), so that disguises do not help,
and offsets are mapped back. A rule is tried only where its words stand. Sentences that forbid the act or quote it
as an example of an attack are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from .. import chinese
from ..duplicate import KnownText
from ..finding import Finding, Lines, without_overlaps
from ..patterns import Found, bounded, plain
from ..scanning import REACH, Needles, lines_around
from ..stems import Together
from . import chinese_rules, poison_rules, rules
from .beyond_rules import jailbreak_spans, orders_to_ignore, orders_to_reveal
from .mention_or_order import (
    QUOTES,
    describes_option,
    is_forbidden_or_described,
    is_in_code,
    is_listed_as_wrong,
    is_mention,
    opens_quote,
)
from .rule import Rule
from .rules import FOREIGN_LEAK, FOREIGN_OVERRIDE, JAILBREAK_STYLE

CODE = "injection"
RULES = (*rules.RULES, *poison_rules.RULES)

_TAG = plain(
    r"<(?P<close>/?)(?P<name>instructions?|memory|memories|context|assistant|user(?:_?(?:query|input|data))?|untrusted\w*|document|data|tool|human|query|system(?:[-_](?:reminder|prompt|message|instructions?))?)(?=[\s>])"
)
"""Tags that honest prompts open and close themselves. Those of a system have no business in memory but in code."""


_TOGETHER = Together([rule.groups for rule in RULES])
_WITH_NEEDLES = [rule for rule in RULES if rule.needles]
_CHINESE_RULES = chinese.Rules(chinese_rules.RULES)
_NEEDLES = Needles({needle for rule in _WITH_NEEDLES for needle in rule.needles})


def _where(lines: Lines) -> Iterator[tuple[Rule, Iterable[tuple[int, int]]]]:
    """The rules that may find something, and where."""
    for place, stretches in lines.rows.near(_TOGETHER):
        yield RULES[place], stretches
    words = lines.normalised_words
    there = _NEEDLES.there(words)
    for rule in _WITH_NEEDLES if there else ():
        if not there.isdisjoint(rule.needles):
            yield rule, lines_around(lines.normalised, rule.needles, words, following=1)


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """One finding per place and kind; of findings that overlap the most severe. What stands there in base64 counts as well."""
    found = _found(lines)
    for run in lines.decoded:
        found += [
            replace(
                one, start=run.start, end=run.end, line=lines.number(run.start), message=f"{one.message} In base64."
            )
            for one in _found(Lines(run.plain))[:1]
        ]
    for read in lines.readings:
        for one in _found(Lines(read.plain)):
            start, end = read.span(one.start, one.end)
            found.append(replace(one, start=start, end=end, line=lines.number(start)))
    found.sort(key=lambda one: (one.severity != "high", one.start))
    return without_overlaps(found, lambda one: (one.start, one.end))


def _found(lines: Lines) -> list[Finding]:
    found: list[Finding] = []
    is_told = cache(partial(is_mention, lines.normalised))
    for rule, stretches in _where(lines):
        found += [_finding(rule, lines, *span) for span in _spans(rule, lines, stretches, is_told)]
    for other, spans in _spans_without_rules(lines):
        found += [_finding(other, lines, *lines.in_original(*span)) for span in spans]
    return sorted(found, key=lambda one: one.severity != "high")


def _spans(
    rule: Rule, lines: Lines, stretches: Iterable[tuple[int, int]], is_told: Callable[[int, int], bool]
) -> Iterator[tuple[int, int]]:
    """`is_told`: whether what stands there is only mentioned; several rules find the words of one order."""
    text = lines.normalised
    for match in _matches(rule, lines, stretches):
        if rule.kind in ("poison", "override") and describes_option(
            text, match.start(), is_in_code(lines, match.start())
        ):
            continue
        if not (_is_own_markup(lines, match) if rule.kind == "markup" else is_told(*match.span())):
            yield lines.in_original(*match.span())


def _spans_without_rules(lines: Lines) -> Iterator[tuple[Rule | chinese.Rule, list[tuple[int, int]]]]:
    """What no pattern of a rule finds: Chinese sentences, the style of jailbreaks, and orders in other languages."""
    text = lines.normalised
    for one, start, end in chinese.found_by(_CHINESE_RULES, chinese.text_of(lines)):
        if not is_listed_as_wrong(text, start):
            yield one, [(start, end)]
    yield JAILBREAK_STYLE, [span for span in jailbreak_spans(lines) if not is_forbidden_or_described(text, span[0])]
    yield FOREIGN_OVERRIDE, [span for span in orders_to_ignore(lines) if not is_mention(text, *span)]
    yield FOREIGN_LEAK, [span for span in orders_to_reveal(lines) if not is_mention(text, *span)]


def _matches(rule: Rule, lines: Lines, stretches: Iterable[tuple[int, int]]) -> Iterator[Found]:
    text = lines.normalised
    if rule.opens is not None:
        return rule.pattern.matches_at(text, lines.rows.words(rule.opens), stretches)
    return (match for start, end in stretches for match in rule.pattern.finditer(text, start, end))


def _is_own_markup(lines: Lines, match: Found) -> bool:
    """A tag that the text itself opened and closes, or a mark in quotes: neither ends what stands around the text."""
    text = lines.normalised
    at = text.find("<", match.start(), match.end())
    is_paired = at >= 0 and at in lines.cached("paired tags", _paired)
    if is_paired and ("system" not in match.group() or is_in_code(lines, at)):
        return True
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return (before in QUOTES and after in QUOTES and bool(before and after)) or _is_template(text, match)


_OPENED = bounded(r"<system\b|\[inst\]")


def _is_template(text: str, match: Found) -> bool:
    """A mark that quotes or code on its line open and close again."""
    start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
    before = text[max(start, match.start() - REACH) : match.start()]
    after = text[match.end() : end if 0 <= end < match.end() + REACH else match.end() + REACH]
    has_pair = "/inst]" in after if "[inst]" in match.group() else bool(_OPENED.search(before))
    return has_pair and opens_quote(before)


def _paired(text: str) -> set[int]:
    """Where the tags stand that open and close each other."""
    opened: dict[str, list[int]] = {}
    paired: set[int] = set()
    for match in _TAG.finditer(text):
        if not match["close"]:
            opened.setdefault(match["name"], []).append(match.start())
        elif opened.get(match["name"]):
            paired |= {opened[match["name"]].pop(), match.start()}
    return paired


def _finding(rule: Rule | chinese.Rule, lines: Lines, start: int, end: int) -> Finding:
    return Finding(CODE, rule.severity, start, end, lines.number(start), f"Injection: {rule.says}", rule.kind)
