"""Each dialect byte for byte, odd case by odd case; the library itself is compared in tests/conformance."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub import dialects
from memoryhub.dialects import Entry, Ingredients, Source, deepagents, render, resolve, synaptic, tokens
from memoryhub.errors import Invalid

TEMPLATE = "<m>\n{agent_memory}\n</m> {{kept}}"
NOON = datetime(2026, 11, 18, 12, 5, tzinfo=UTC)


@pytest.mark.parametrize("version", ["0.6." + "9" * 10, "0.6." + "9" * 5000, "0.6.\u0663"])
def test_versions_that_no_library_has_are_refused(version):
    """The database compares them as numbers: one too large would take the prompt from every agent of the dialect."""
    with pytest.raises(Invalid):
        resolve(f"deepagents/{version}")


def sources(**texts: str | None) -> tuple[Source, ...]:
    return tuple(
        Source(f"/memories/{name}.md", text, error="" if text is not None else dialects.MISSING)
        for name, text in texts.items()
    )


def fragment(name: str, *texts: str, template: str = "{agent_memory}", base: str = "") -> str:
    listed = tuple(Source(f"/{'abcdef'[i]}", text) for i, text in enumerate(texts))
    return render(name, Ingredients(base=base, template=template, sources=listed)).fragment


def codes(rendered: dialects.Rendered) -> list[str]:
    return [warning.code for warning in rendered.warnings]


# Names


def test_a_new_file_is_a_dialect_by_being_there():
    assert next(iter(dialects.families())) == "hub"
    assert set(dialects.families()) >= {"hub", "deepagents", "synaptic", "plain"}
    for one in dialects.families().values():
        assert one.title
        assert one.says
        assert one.forms
        assert all(form.says for form in one.forms)


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
    assert resolve(asked).verified


@pytest.mark.parametrize(
    "asked", ["", "nonsense", "deepagents/", "deepagents/x", "deepagents/0.3.3", "hub/1", "deepagents/0.7/1", "HUB"]
)
def test_an_unknown_dialect_is_refused_with_the_list(asked):
    with pytest.raises(Invalid) as refused:
        resolve(asked)
    assert refused.value.code == "unknown_dialect"
    assert "deepagents/0.6.3" in refused.value.details["dialects"]


def test_a_version_newer_than_any_compared_is_served_unverified():
    assert not resolve("deepagents/0.9.0").verified
    assert not resolve("synaptic/0.3").verified
    assert "dialect_unverified" in codes(render("deepagents/9.9", Ingredients(template=TEMPLATE)))


# deepagents


def test_old_forms_print_path_and_raw_text():
    for form in ("deepagents/0.3.4", "deepagents/0.4.3"):
        assert fragment(form, "one  \n", "<!-- c -->two\n\n") == "/a\none  \n\n\n/b\n<!-- c -->two\n\n"


def test_0_6_2_trims_the_end_and_keeps_comments():
    assert fragment("deepagents/0.6.2", "\n one \r\n\t", "<!-- c -->") == "/a\n\n\n one\n\n/b\n\n<!-- c -->"


def test_0_6_2_prints_the_path_of_a_file_of_blanks():
    assert fragment("deepagents/0.6.2", " \n ") == "/a\n\n"


@pytest.mark.parametrize(
    ("raw", "injected"),
    [
        ("x <!-- a <!-- b --> c --> y", "x  c --> y"),
        ("a<!-->b-->c", "ac"),
        ("```\n<!-- fenced -->\n```", "```\n\n```"),
        ("open <!-- never closed", "open <!-- never closed"),
        ("a<!--\n\n-->b  \n", "ab"),
        ("\ufeff\r\n one\r\n", "\ufeff\r\n one"),
        ("{braces} {0} {{", "{braces} {0} {{"),
        ("</agent_memory>", "</agent_memory>"),
    ],
)
def test_0_6_3_strips_comments_by_a_plain_pattern(raw, injected):
    assert fragment("deepagents/0.6.3", raw) == f"/a\n\n{injected}"


def test_0_6_3_leaves_out_a_source_that_is_empty_afterwards():
    rendered = render(
        "deepagents", Ingredients(template="{agent_memory}", sources=sources(a="<!-- all -->  ", b="two"))
    )
    assert rendered.fragment == "/memories/b.md\n\ntwo"
    assert rendered.statuses == ("empty", "included")


@pytest.mark.parametrize("form", ["deepagents/0.3.4", "deepagents/0.4.3", "deepagents/0.6.2", "deepagents/0.6.3"])
def test_nothing_to_show_is_said_inside_the_template(form):
    rendered = render(form, Ingredients(template=TEMPLATE, sources=sources(gone=None, empty="")))
    assert rendered.fragment == "<m>\n(No memory loaded)\n</m> {kept}"
    assert rendered.statuses == ("missing", "empty")


def test_order_is_the_configured_one_and_a_path_twice_is_printed_twice():
    twice = Source("/z", "last"), Source("/a", "first"), Source("/z", "last")
    rendered = render("deepagents", Ingredients(template="{agent_memory}", sources=twice))
    assert rendered.fragment == "/z\n\nlast\n\n/a\n\nfirst\n\n/z\n\nlast"
    assert codes(rendered).count("duplicate_source") == 1


@pytest.mark.parametrize(
    ("asked", "placement", "text"),
    [
        ("deepagents/0.3.4", "prepend", "/a\none\n\nbase"),
        ("deepagents/0.3.6", "prepend", "/a\none\n\nbase"),
        ("deepagents/0.3.7", "append", "base\n\n/a\none"),
        ("deepagents/0.4.3", "append", "base\n\n/a\none"),
        ("deepagents", "append", "base\n\n/a\n\none"),
    ],
)
def test_memory_stands_before_or_behind_the_system_prompt(asked, placement, text):
    memory = Ingredients(base="base", template="{agent_memory}", sources=(Source("/a", "one"),))
    rendered = render(asked, memory)
    assert (rendered.placement, rendered.text) == (placement, text)


@pytest.mark.parametrize("asked", ["deepagents/0.3.4", "deepagents/0.7.1"])
def test_with_an_empty_system_prompt_the_memory_stands_alone(asked):
    rendered = render(asked, Ingredients(template=TEMPLATE, sources=(Source("/a", "one"),)))
    assert rendered.text == rendered.fragment


def test_without_a_template_the_memory_block_alone_and_how_to_mend_it():
    rendered = render("deepagents", Ingredients(sources=(Source("/a", "one"),)))
    assert rendered.text == "/a\n\none"
    warning = rendered.warnings[0]
    assert warning.code == "template_unknown"
    assert "memoryhub template import deepagents" in warning.message


def test_what_would_stop_a_stock_agent_is_said():
    broken = Source("/a", None, error="invalid_utf8"), Source("/d", None, error="is_directory"), Source("/b", "two")
    rendered = render("deepagents", Ingredients(template="{agent_memory}", sources=broken))
    assert rendered.text == "/b\n\ntwo"
    assert rendered.statuses == ("error", "error", "included")
    assert codes(rendered) == ["invalid_utf8", "is_directory"]
    assert all("end the agent's run" in warning.message for warning in rendered.warnings)


@pytest.mark.parametrize(
    "template",
    [
        "none",
        "{agent_memory}{agent_memory}",
        "{other}{agent_memory}",
        "{{agent_memory}}",
        "{agent_memory",
        "{agent_memory!r}",
        "{agent_memory:>9}",
        "{}",
    ],
)
def test_a_broken_template_is_refused(template):
    with pytest.raises(Invalid) as refused:
        deepagents.check_template(template)
    assert refused.value.code == "invalid_template"


def test_a_template_is_read_without_running_the_module():
    source = 'import nothing_there\nMEMORY_SYSTEM_PROMPT: str = """a {agent_memory} b"""\n'
    assert deepagents.read_template(source) == "a {agent_memory} b"
    with pytest.raises(Invalid):
        deepagents.read_template("X = 1")


def test_a_template_of_ones_own_is_told_from_the_librarys():
    assert not deepagents.compare("deepagents/0.6.3", TEMPLATE).known


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


# Budget


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
    assert crowded(tokens.of_bytes(full.size)).text == full.text
    assert codes(crowded(tokens.of_bytes(full.size))) == []


def test_the_oldest_working_entry_gives_way_first_and_is_named():
    cut = crowded(tokens.of_bytes(crowded(None).size) - 1)
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
    assert [tokens.estimate(text) for text in ("", "a", "abcd", "abcde", "漢字")] == [0, 1, 1, 2, 2]


def test_every_dialect_is_documented():
    page = (Path(__file__).resolve().parents[2] / "docs/guide/prompt.md").read_text()
    for name in dialects.families():
        assert f"| `{name}" in page, f"the table of dialects in docs/guide/prompt.md lacks {name}"
