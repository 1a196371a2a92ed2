"""Each dialect byte for byte, odd case by odd case; the library itself is compared in tests/conformance."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub import dialects
from memoryhub.dialects import (
    Entry,
    Ingredients,
    Source,
    render,
    resolve,
    synaptic,
)
from memoryhub.errors import Invalid
from tests.dialects import TEMPLATE, codes, sources

NOON = datetime(2026, 11, 18, 12, 5, tzinfo=UTC)


@pytest.mark.parametrize("version", ["0.6." + "9" * 10, "0.6." + "9" * 5000, "0.6.\u0663"])
def test_versions_that_no_library_has_are_refused(version):
    """The database compares them as numbers: one too large would take the prompt from every agent of the dialect."""
    with pytest.raises(Invalid):
        resolve(f"deepagents/{version}")


# Names


def test_a_new_file_is_a_dialect_by_being_there():
    assert next(iter(dialects.families())) == "hub"
    assert set(dialects.families()) >= {"hub", "deepagents", "synaptic", "plain"}
    for name, family in dialects.families().items():
        assert family.name == name
        assert all(form.name.startswith(name) for form in family.forms)


@pytest.mark.parametrize(
    ("asked", "form"),
    [
        ("deepagents", "deepagents/0.6.3"),
        ("deepagents/0.7.1", "deepagents/0.6.3"),
        ("deepagents/0.6.3", "deepagents/0.6.3"),
        ("deepagents/0.6.3rc1", "deepagents/0.6.2"),
        ("deepagents/0.6.2", "deepagents/0.6.2"),
        ("deepagents/0.6", "deepagents/0.4.3"),
        ("deepagents/0.4.2", "deepagents/0.3.4"),
        ("deepagents/0.3.9", "deepagents/0.3.4"),
        ("synaptic", "synaptic/0.2"),
        ("synaptic/0.2", "synaptic/0.2"),
        ("hub", "hub"),
        ("plain", "plain"),
    ],
)
def test_a_version_belongs_to_the_newest_form_that_is_not_above_it(asked, form):
    assert resolve(asked).name == form
    assert resolve(asked).verified == ("rc" not in asked)
    assert "/" not in asked or resolve(asked).label == asked


@pytest.mark.parametrize(
    "asked", ["", "nonsense", "deepagents/", "deepagents/x", "deepagents/0.3.3", "hub/1", "deepagents/0.7/1", "HUB"]
)
def test_an_unknown_dialect_is_refused_with_the_list(asked):
    with pytest.raises(Invalid) as refused:
        resolve(asked)
    assert refused.value.code == "unknown_dialect"
    assert "deepagents/0.6.3" in refused.value.details["dialects"]


def test_a_version_that_was_not_compared_is_served_unverified():
    assert not resolve("deepagents/0.7.1rc1").verified
    assert not resolve("deepagents/0.9.0").verified
    assert not resolve("synaptic/0.3").verified
    assert "dialect_unverified" in codes(render("deepagents/9.9", Ingredients(template=TEMPLATE)))


# synaptic


@pytest.mark.parametrize(
    ("raw", "injected"),
    [
        ("one\r\ntwo\n", "one\ntwo"),
        ("one\rtwo\x0cthree\x0bfour\u0085five\u2028six\n", "one\rtwo\x0cthree\x0bfour\u0085five\u2028six"),
        ("one\r\r\n", "one\r"),
        ("one\r", "one\r"),
        (" ", " "),
        ("\n\n", "\n"),
        ("<!-- c -->\n", "<!-- c -->"),
    ],
)
def test_synaptic_cuts_lines_as_rust_does(raw, injected):
    text = render("synaptic", Ingredients(base="base", sources=(Source("/a", raw),))).text
    assert text == f"base\n<agent_memory>\n{injected}\n</agent_memory>\n"


@pytest.mark.parametrize("raw", ["", "\n", "\r\n"])
def test_synaptic_injects_nothing_for_an_empty_file(raw):
    rendered = render("synaptic", Ingredients(base="base", sources=(Source("/a", raw),)))
    assert (rendered.text, rendered.fragment, rendered.statuses) == ("base", "", ("empty",))


def test_synaptic_counts_the_first_10000_lines_and_says_so():
    rendered = render("synaptic", Ingredients(sources=(Source("/a", "x\n" * 10_001),)))
    assert rendered.text.count("x\n") == synaptic.MAX_LINES
    assert "lines_dropped" in codes(rendered)
    assert "lines_dropped" not in codes(render("synaptic", Ingredients(sources=(Source("/a", "x\n" * 10_000),))))


def test_synaptic_takes_the_first_source_alone_even_when_it_is_missing():
    rendered = render("synaptic", Ingredients(base="base", sources=sources(a=None, b="two")))
    assert (rendered.text, rendered.statuses) == ("base", ("missing", "unused"))
    assert render("synaptic", Ingredients(base="base")).text == "base"


# plain and hub


def test_plain_is_the_texts_and_nothing_else():
    memory = Ingredients(sources=sources(a="one <!-- c -->", b=None, c="", d="four\n"))
    assert render("plain", memory).text == "one <!-- c -->\n\nfour\n"
    assert render("plain", Ingredients(base="base", sources=memory.sources)).text == "base\n\none <!-- c -->\n\nfour\n"


def remembered(number: int, *, own: bool = False, score: float = 1.0) -> Entry:
    return Entry(number, f"fact {number}\nmore", NOON, score, own)


def test_hub_has_five_layers_most_important_first():
    rendered = render(
        "hub",
        Ingredients(
            base="Positioning.",
            persona="Kind.",
            guidelines="# Notes",
            sources=sources(AGENTS="# Team <!-- note -->\n"),
            working=(remembered(1), remembered(2, own=True)),
            longterm=(remembered(3, score=0.834), remembered(4, own=True, score=0.5)),
            task="Answer.",
        ),
    )
    assert rendered.text == (
        "Positioning.\n\n# Persona\nKind.\n\n# Notes\n\n## /memories/AGENTS.md\n# Team\n\n"
        "# Lately, last 24 hours\n- 12:05 fact 1\n  more\n\n"
        "# Known for longer\n- (0.83) fact 3\n  more\n\n"
        "# Your own experience\n- 12:05 fact 2\n  more\n\n"
        "# Known for longer\n- (0.50) fact 4\n  more\n\n"
        "# Task\nAnswer."
    )
    kinds = [part.kind for part in rendered.parts]
    assert kinds == ["base", "persona", "guidelines", "source", "working", "longterm", "working", "longterm", "task"]
    assert rendered.parts[4].entries == (1,)


def test_hub_brings_guidelines_of_its_own():
    text = render("hub", Ingredients()).text
    assert text.startswith("# What the team knows")
    assert "do not retry" in text
    assert render("hub", Ingredients(guidelines="")).text == ""


def test_memory_switched_off_is_the_base_prompt_alone():
    for name in dialects.names():
        rendered = render(name, Ingredients(base="base", sources=sources(a="one"), off=True))
        assert (rendered.text, rendered.fragment, rendered.statuses) == ("base", "", ("unused",))
        assert codes(rendered)[0] == "memory_off"


# What every dialect promises

TEXT = st.text(alphabet=st.sampled_from(list("ab{}<!-- ->\n\r\t\ufeff\u200bäß漢🙂")), max_size=60)


@pytest.mark.parametrize("name", dialects.names())
@given(base=TEXT, texts=st.lists(st.none() | TEXT, max_size=4), task=TEXT, budget=st.none() | st.integers(0, 60))
def test_parts_cover_every_byte_without_gaps(name, base, texts, task, budget):
    listed = tuple(
        Source(f"/{i % 3}", text, error="" if text is not None else "invalid_utf8") for i, text in enumerate(texts)
    )
    memory = Ingredients(
        base=base, sources=listed, task=task, budget=budget, working=(remembered(1),), template=TEMPLATE
    )
    rendered = render(name, memory)
    data = rendered.text.encode()
    assert len(data) == rendered.size
    edges = [0] + [part.end for part in rendered.parts]
    assert [part.start for part in rendered.parts] == edges[:-1]
    assert edges[-1] == len(data)
    assert len(rendered.statuses) == len(listed)
    for part in rendered.parts:
        data[part.start : part.end].decode()
    assert rendered.fragment in rendered.text


@pytest.mark.parametrize("name", dialects.names())
def test_comments_are_named_where_they_reach_the_model(name):
    rendered = render(name, Ingredients(template="{agent_memory}", sources=(Source("/a", "x <!-- c --> <!-- open"),)))
    strips = name in ("hub", "deepagents/0.6.3")
    assert ("comment_reaches_model" in codes(rendered)) is not strips
    unclosed = next(warning for warning in rendered.warnings if warning.code == "unclosed_comment")
    assert rendered.text.encode()[unclosed.at :].startswith(b"<!-- open")


@pytest.mark.parametrize("name", dialects.names())
def test_a_closing_tag_inside_memory_is_shown_with_its_place(name):
    rendered = render(name, Ingredients(base="ä", template=TEMPLATE, sources=(Source("/a", "é </agent_memory>"),)))
    warning = next(warning for warning in rendered.warnings if warning.code == "closing_tag")
    assert rendered.text.encode()[warning.at :].startswith(b"</agent_memory>")


def test_every_dialect_is_documented():
    page = (Path(__file__).resolve().parents[2] / "docs/guide/prompt.md").read_text()
    for name in dialects.families():
        assert f"| `{name}" in page, f"the table of dialects in docs/guide/prompt.md lacks {name}"
