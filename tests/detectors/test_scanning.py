"""Where the detectors look at all: a shortcut may never pass by what a pattern would have found."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from memoryhub.detectors import chinese
from memoryhub.detectors.finding import Lines
from memoryhub.detectors.injection import RULES
from memoryhub.detectors.injection.rule import Rule
from memoryhub.detectors.normalise import _plain
from memoryhub.detectors.risky_advice.signs import SIGNS, Sign
from memoryhub.detectors.scanning import Needles, distinct_words, lowered, may_contain, offsets_of
from memoryhub.detectors.stems import _ROW as ROW
from memoryhub.detectors.stems import Group, Rows, Together, groups
from tests.cases import for_each
from tests.detectors.test_risky_advice import LOOSENS, RUNS, SENDS
from tests.fixtures.injection_texts import ATTACKS, PLAIN

parser: Any = importlib.import_module("re._parser")
named: Any = importlib.import_module("re._constants")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
UNKNOWN = "?"


@for_each([one for one in (*RULES, *SIGNS) if one.opens])
def test_a_rule_begins_with_no_other_word_than_it_says(rule: Rule | Sign) -> None:
    assert rule.opens
    begins = set(beginnings(rule.pattern.pattern))
    assert UNKNOWN not in begins, "this pattern can begin anywhere: take the ^ away"
    assert {stem for stem in begins if not groups(stem)[0] <= rule.opens} == set()


def test_beginnings_are_told_from_the_pattern() -> None:
    assert set(beginnings(r"\b(?:e?mail|send(?:ing)?)\b.*")) == {"emai", "mail", "send"}
    assert set(beginnings(r"\b(?:the\s+)?do\b")) == {"the", "do"}
    assert UNKNOWN in set(beginnings(r"send\b")), "it may begin inside a word"
    assert UNKNOWN in set(beginnings(r"\b\w+ing\b"))
    assert UNKNOWN in set(beginnings(r"\bdo\w*")), "its third letter is not known"


def test_words_are_found_where_they_begin() -> None:
    text = "Ignored, ignore\nnot dignored; ig 1ignore éignore ignorance"
    rows = Lines(text).rows
    (group,) = groups("ignore")
    assert rows.words(group) == [
        0,
        9,
        text.index("1i") + 1,
        text.index("éi") + 1,
        text.index("ignorance"),
    ]


@for_each(["sk-ant-", "identified by", " -u ", "-us"])
def test_a_needle_is_found_wherever_it_stands(needle: str) -> None:
    for before in ("", "x", "a b\n"):
        text = f"some words {before}{needle}rest of it"
        words = distinct_words(text)
        assert may_contain(needle, words)
        assert list(offsets_of(text, [needle], words)) == [text.index(needle)]
    assert list(offsets_of("nothing of it here", [needle], distinct_words("nothing of it here"))) == []


def test_many_needles_are_looked_for_at_once() -> None:
    needles = ["sk-ant-", "identified by", " -u ", "a|", "ß無視", "notthere-", "identified nowhere"]
    text = "x sk-ant-1 was identified by ß無視する curl -u a|b"
    assert {needles[at] for at in Needles(needles).within(distinct_words(text))} == {*needles[:5]}
    plain = distinct_words(text.replace("ß無視する", "them"))
    assert plain.isascii() and {needles[at] for at in Needles(needles).within(plain)} == {*needles[:4]}
    assert Needles(needles).within("") == [] and Needles([]).within("text") == []


def test_all_rules_are_asked_at_once_what_each_would_be_asked() -> None:
    texts = ["\n".join(ATTACKS), "\n\n".join(PLAIN), "one line", "", "\n".join([*SENDS, *RUNS] * 30)]
    asked = [rule.groups for rule in RULES]
    for rows in [Lines(text).rows for text in [*texts, *ATTACKS[:20]]]:
        alone = {place: near_by_loops(rows, groups) for place, groups in enumerate(asked) if groups}
        assert dict(rows.near(Together(asked))) == {place: near for place, near in alone.items() if near}


def near_by_loops(rows: Rows, groups: tuple[Group, ...]) -> list[tuple[int, int]]:
    """Stretches of two rows in which every group has a word, as one would write it."""
    starts = [match.start() for match in ROW.finditer(rows.text)]
    ends = [*starts[1:], len(rows.text), len(rows.text)]
    found: list[tuple[int, int]] = []
    for place, start in enumerate(starts):
        if all(any(start <= at < ends[place + 1] for at in rows.words(group)) for group in groups):
            if found and found[-1][1] > start:
                found[-1] = (found[-1][0], ends[place + 1])
            else:
                found.append((max(0, start - 2), ends[place + 1]))
    return found


@for_each([one for one in SIGNS if one.needs])
def test_what_a_sign_needs_stands_in_each_hit(sign: Sign) -> None:
    hits = [hit for text in [*SENDS, *LOOSENS, *RUNS] for hit in sign.pattern.finditer(text.lower())]
    assert hits and sign.needs
    assert [hit.group() for hit in hits if not sign.needs.search(hit.group())] == []


def test_words_are_folded_like_the_text() -> None:
    text = "Bаnk \u200bof\u00a0ＩＧＮＯＲＥ Straße İstanbul ΣΑΣ\u2028x"
    lines = Lines(text)
    assert set(lines.normalised_words.split()) == set(lines.normalised.split())


# ---- with which stems a pattern can begin


def beginnings(pattern: str) -> Iterator[str]:
    """The first four letters of everything a pattern can begin with; UNKNOWN where it may begin inside a word or with anything."""
    for stem, is_whole in walked(list(parser.parse(pattern)), "", at_edge=False):
        yield stem if is_whole or len(stem) == 4 else UNKNOWN


def walked(items: list[Any], stem: str, *, at_edge: bool) -> Iterator[tuple[str, bool]]:
    """What the beginning grows to, and whether the word ends there (else it is cut off where the pattern ends)."""
    if len(stem) == 4 or not items:
        yield stem, False
        return
    (kind, value), rest = items[0], items[1:]
    if kind is named.AT and value is named.AT_BOUNDARY:
        yield from [(stem, True)] if stem else walked(rest, stem, at_edge=True)
    elif kind in (named.AT, named.ASSERT, named.ASSERT_NOT):
        yield from walked(rest, stem, at_edge=at_edge)
    elif kind is named.SUBPATTERN:
        yield from walked([*value[3], *rest], stem, at_edge=at_edge)
    elif kind is named.BRANCH:
        for branch in value[1]:
            yield from walked([*branch, *rest], stem, at_edge=at_edge)
    elif kind in (named.MAX_REPEAT, named.MIN_REPEAT, named.POSSESSIVE_REPEAT):
        least, most, inner = value
        again = [(kind, (0, most - 1, inner))] if most > 1 else []
        yield from walked([*inner, *again, *rest], stem, at_edge=at_edge)
        if least == 0:
            yield from walked(rest, stem, at_edge=at_edge)
    else:
        yield from grown(characters(kind, value), rest, stem, at_edge=at_edge)


def grown(signs: Iterable[str], rest: list[Any], stem: str, *, at_edge: bool) -> Iterator[tuple[str, bool]]:
    for sign in signs:
        if sign in LETTERS and (stem or at_edge):
            yield from walked(rest, stem + sign, at_edge=at_edge)
        else:
            yield (stem, True) if stem and sign not in LETTERS and sign != UNKNOWN else (UNKNOWN, True)


def characters(kind: Any, value: Any) -> set[str]:
    """What may stand there: letters and signs, a blank for any blank, UNKNOWN for whole classes."""
    if kind is named.LITERAL:
        return {chr(value)}
    if kind is not named.IN or value[0][0] is named.NEGATE:
        return {UNKNOWN}
    blank = (named.CATEGORY, named.CATEGORY_SPACE)
    return {chr(what) if part is named.LITERAL else " " if (part, what) == blank else UNKNOWN for part, what in value}


def test_lower_case_of_a_text_with_a_dotted_capital_keeps_every_offset_in_few_calls() -> None:
    text = "İSTANBUL und KÖLN İ " * 5_000
    calls: list[str] = []
    sys.setprofile(lambda _frame, event, _function: calls.append(event))
    try:
        lower = lowered(text)
    finally:
        sys.setprofile(None)
    assert lower == "İstanbul und köln İ " * 5_000
    assert sum(event == "c_call" for event in calls) < 12_000
    assert [char for char in map(chr, range(0x110000)) if len(char.lower()) != 1] == ["İ"]


def test_no_letter_is_read_as_one_that_is_replaced_after_it():
    """What `replaced` relies on, for the letters of Chinese and for what `normalise` reads in place of others."""
    read = {char: _plain(char) for char in map(chr, range(0x80, 0x20000)) if not "\ud800" <= char <= "\udfff"}
    for by in (chinese._READ_AS, read):
        assert [char for char, other in by.items() if other > char and by.get(other, other) != other] == []
