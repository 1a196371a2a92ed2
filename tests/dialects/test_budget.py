"""What is left out of a prompt that is over its budget, in which order, and how it is said."""

from __future__ import annotations

from datetime import UTC, datetime

from memoryhub import dialects
from memoryhub.dialects import (
    Entry,
    Ingredients,
    Source,
    render,
    tokens_of_bytes,
    tokens_of_text,
)
from tests.dialects import codes

NOON = datetime(2026, 11, 18, 12, 5, tzinfo=UTC)


def crowded(budget: int | None, cut_order=dialects.CUT_ORDER) -> dialects.Rendered:
    memory = Ingredients(
        base="base",
        guidelines="",
        sources=(Source("/a", "a" * 400), Source("/b", "b" * 400)),
        working=tuple(Entry(i, "w" * 40, NOON.replace(minute=i)) for i in (3, 2, 1)),
        longterm=(Entry(7, "l" * 40, NOON, 0.9), Entry(8, "m" * 40, NOON, 0.4)),
        budget=budget,
        cut_order=cut_order,
    )
    return render("hub", memory)


def shows(rendered: dialects.Rendered) -> list[tuple]:
    return [(part.kind, part.label if part.kind == "source" else part.entries) for part in rendered.parts[1:]]


def test_within_budget_nothing_gives_way():
    full = crowded(None)
    assert crowded(tokens_of_bytes(full.size)).text == full.text
    assert codes(crowded(tokens_of_bytes(full.size))) == []


def test_the_oldest_working_entry_gives_way_first_and_is_named():
    cut = crowded(tokens_of_bytes(crowded(None).size) - 1)
    assert shows(cut) == [("source", "/a"), ("source", "/b"), ("working", (3, 2)), ("longterm", (7, 8))]
    assert [warning.message for warning in cut.warnings] == [
        "1 of 3 entries of working memory are left out to keep the budget."
    ]


def test_then_the_weakest_long_term_memory_then_the_last_source():
    assert shows(crowded(230)) == [("source", "/a"), ("source", "/b"), ("longterm", (7,))]
    cut = crowded(120)
    assert shows(cut) == [("source", "/a")]
    assert cut.statuses == ("included", "unused")
    assert [warning.path for warning in cut.warnings] == [None, None, "/b"]


def test_the_order_can_be_set():
    cut = crowded(90, ("source", "working", "longterm"))
    assert cut.statuses == ("unused", "unused")
    assert shows(cut) == [("working", (3, 2, 1)), ("longterm", (7, 8))]


def test_a_budget_that_cannot_be_kept_is_said():
    assert codes(crowded(0))[-1] == "over_budget"
    assert crowded(0).text == "base"


def test_a_framework_of_others_is_never_cut_only_warned_of():
    memory = Ingredients(template="{agent_memory}", sources=(Source("/a", "a" * 400),), budget=10)
    rendered = render("deepagents", memory)
    assert rendered.statuses == ("included",)
    assert codes(rendered) == ["over_budget"]


def test_tokens_are_a_quarter_of_the_bytes_rounded_up():
    assert [tokens_of_text(text) for text in ("", "a", "abcd", "abcde", "漢字")] == [0, 1, 1, 2, 2]
