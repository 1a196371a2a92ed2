"""Memory that agents write, as entries: found, changed one by one, and everything else stays byte for byte."""

from __future__ import annotations

import time

import pytest

from memoryhub.domain import coding_agents
from memoryhub.errors import Invalid, TooLarge

CLAUDE = coding_agents.format_of("/home/mia/.claude/projects/-home-mia-shop/memory/MEMORY.md")
HERMES = coding_agents.format_of("/home/mia/.hermes/memories/MEMORY.md")
INDEX = (
    "---\nname: x\n---\n# Index\n\n- [Tests](tests.md) — fast first\n- [Gateway](gw.md)\n  slow before 9:00\n"
    "\n```\n- no entry\n```\nEnd.\n"
)
SECTIONS = "Likes short answers.\n§\nUses uv,\nnever pip.\n§\n\n  \n"


@pytest.mark.parametrize(("path", "agent"), [
    ("/h/.claude/projects/-h-p/memory/MEMORY.md", "claude-code"), ("/h/p/.claude/agent-memory/review/MEMORY.md", "claude-code"),
    ("/h/.hermes/memories/USER.md", "hermes"), ("/h/.gemini/tmp/shop/memory/MEMORY.md", "gemini-cli"),
    ("/h/.codex/memories/memory_summary.md", "codex"), ("/h/p/MEMORY.md", None), ("/h/.claude/projects/-h-p/memory/tests.md", None),
])  # fmt: skip
def test_a_format_is_known_by_where_a_file_lies(path, agent):
    found = coding_agents.format_of(path)
    assert (found.agent if found else None) == agent


def texts(known, text):
    return [one.text for one in coding_agents.entries_of(known, text)]


def test_the_entries_of_an_index_and_of_sections():
    assert texts(CLAUDE, INDEX) == ["- [Tests](tests.md) — fast first", "- [Gateway](gw.md)\n  slow before 9:00"]
    assert [one.target for one in coding_agents.entries_of(CLAUDE, INDEX)] == ["tests.md", "gw.md"]
    assert texts(HERMES, SECTIONS) == ["Likes short answers.", "Uses uv,\nnever pip."]
    assert texts(CLAUDE, "") == texts(HERMES, "") == []


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_change_leaves_the_rest_as_it_is(ends):
    text = INDEX.replace("\n", ends)
    changed = coding_agents.with_entry(CLAUDE, text, 1, "[Tests](tests.md) — slow first")
    assert changed == text.replace("- [Tests](tests.md) — fast first", "- [Tests](tests.md) — slow first")
    removed = coding_agents.without_entry(CLAUDE, text, 1)
    assert removed == text.replace(f"- [Tests](tests.md) — fast first{ends}", "")
    added = coding_agents.and_entry(CLAUDE, text, "one\nline")
    assert added == f"{text}- one line{ends}"


def test_sections_are_joined_again():
    assert coding_agents.with_entry(HERMES, SECTIONS, 2, "Uses uv.") == "Likes short answers.\n§\nUses uv.\n§\n\n  \n"
    assert coding_agents.without_entry(HERMES, SECTIONS, 1) == "Uses uv,\nnever pip."
    assert coding_agents.and_entry(HERMES, SECTIONS, "Third.").endswith("\n§\nThird.")
    assert coding_agents.and_entry(HERMES, "", "First.") == "First."


@pytest.mark.parametrize("text", ["", "  \n", "a\n§\nb"])
def test_what_is_no_entry_is_refused(text):
    with pytest.raises(Invalid):
        coding_agents.with_entry(HERMES, SECTIONS, 1, text)


def test_an_entry_that_is_not_there_is_refused():
    for number in (0, 3, -1):
        with pytest.raises(Invalid):
            coding_agents.without_entry(HERMES, SECTIONS, number)


def test_the_limit_of_a_program_that_refuses_is_kept():
    with pytest.raises(TooLarge, match="2,200"):
        coding_agents.and_entry(HERMES, SECTIONS, "x" * 2_200)
    (limit,) = coding_agents.limits_of(HERMES, SECTIONS)
    assert (limit.name, limit.used, limit.most) == ("characters", len(SECTIONS.strip()), 2_200)
    lines, units = coding_agents.limits_of(CLAUDE, "- a\n" * 214)
    assert lines.is_over and lines.used == 214 and not units.is_over


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "line", ["- a\n", "- [a\n", "-" + " [" * 20, "x\n\n", "- a\nb\n", " c\n", "§\n", "[](", "# \n", "```\n"]
)
def test_a_file_of_a_megabyte_is_read_at_once(line):
    for path in ("/h/.codex/memories/MEMORY.md", "/h/.gemini/tmp/p/memory/MEMORY.md", "/h/.hermes/memories/USER.md"):
        text = "- a\nb\n" + line * (400_000 // len(line))
        began = time.process_time()
        coding_agents.entries_of(coding_agents.format_of(path), text)
        assert time.process_time() - began < 5, path


def test_lines_below_a_bullet_are_its_own_until_something_else_stands_there():
    gemini = coding_agents.format_of("/h/.gemini/tmp/p/memory/MEMORY.md")
    text = "- a\n  b\n\n  c\nd\n  e\n- f\n```\n  g\n```\n  h\n"
    assert texts(gemini, text) == ["- a\n  b\n\n  c", "- f"]
    codex = coding_agents.format_of("/h/.codex/memories/MEMORY.md")
    assert texts(codex, "p\n- a\n  b\nq\nr\n\ns\n") == ["p", "- a\n  b", "q\nr", "s"]
