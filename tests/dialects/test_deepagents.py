"""deepagents byte for byte, each form of it; the library itself is compared in tests/conformance."""

from __future__ import annotations

import pytest

from memoryhub.dialects import (
    Ingredients,
    Source,
    deepagents,
    render,
)
from memoryhub.errors import Invalid
from tests.dialects import TEMPLATE, codes, sources


def fragment(name: str, *texts: str, template: str = "{agent_memory}", base: str = "") -> str:
    listed = tuple(Source(f"/{'abcdef'[i]}", text) for i, text in enumerate(texts))
    return render(name, Ingredients(base=base, template=template, sources=listed)).fragment


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
