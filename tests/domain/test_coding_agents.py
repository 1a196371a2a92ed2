"""Coding agents on made-up folders: what becomes of files below, cuts, fixes that work, rules that contradict each other."""

from __future__ import annotations

import pytest

from memoryhub.dialects import coding
from memoryhub.dialects.coding import ChangedTree
from memoryhub.domain import coding_agents
from tests.conformance.coding_agents import trees

NO_HOME = "/nonexistent"


@pytest.fixture
def project(tmp_path):
    """Writes files below `p` and answers that folder."""
    root = tmp_path.resolve()

    def made(files):
        trees.build(trees.Case("one", {f"p/{name}": text for name, text in files.items()}, "p", {}, "p"), root)
        return str(root / "p")

    return made


def below(folder, agent):
    return list(coding_agents.memory_files(folder, [agent]))


FILES = {
    "AGENTS.md": "- a\n", "CLAUDE.md": "- c\n", "GEMINI.md": "- g\n", "web/CLAUDE.md": "- w\n", "web/AGENTS.md": "- x\n",
    "web/GEMINI.md": "- y\n", "web/.claude/rules/r.md": "- r\n",
}  # fmt: skip


@pytest.mark.parametrize(("agent", "later", "ignored"), [
    ("claude-code", {"web/CLAUDE.md", "web/.claude/rules/r.md"}, {"AGENTS.md", "web/AGENTS.md"}),
    ("codex", set(), {"web/AGENTS.md"}),
    ("gemini-cli", {"web/GEMINI.md"}, set()),
    ("opencode", {"web/AGENTS.md"}, {"CLAUDE.md", "web/CLAUDE.md"}),
    ("copilot-cli", {"web/AGENTS.md", "web/CLAUDE.md", "web/GEMINI.md"}, set()),
])  # fmt: skip
def test_files_below_wait_or_are_never_read(project, agent, later, ignored):
    folder = project(FILES)
    found = coding_agents.context_in(agent, folder, NO_HOME, below=below(folder, agent))
    assert {one.path.removeprefix(f"{folder}/") for one in found.later} == later
    assert {one.path.removeprefix(f"{folder}/") for one in found.ignored} == ignored
    assert found.text == coding.context_of(agent, folder, NO_HOME).text


def test_gemini_adds_what_a_touched_file_brings(project):
    folder = project(FILES)
    found = coding.context_of("gemini-cli", folder, NO_HOME, touched=["web/a.ts"])
    head, _, tail = found.text.decode().partition("--- Newly Discovered Project Context ---\n")
    assert "- g" in head and f"--- Context from: {folder}/web/GEMINI.md ---\n- y" in tail
    assert [one.kind for one in found.blocks] == ["project", "nested"]
    assert found.text[found.blocks[1].start : found.blocks[1].end] == b"- y"


@pytest.mark.parametrize(("loaded", "file", "first", "after", "lost"), [
    ("a\nb", "a\nb\nc\nd\n", 3, 2, ("c", "d")),
    ("a\nbb", "a\nbbcc\nd\n", 2, 2, ("cc", "d")),  # in the middle of a line
    ("a\nb\n[...]\ny\nz", "a\nb\nc\nd\ny\nz\n", 3, 2, ("c", "d")),  # head and tail are kept
    ("abc", "abcdef", 1, 1, ("def",)),
    ("", "a\nb\n", 1, 0, ("a", "b")),
])  # fmt: skip
def test_a_cut_stands_where_the_text_breaks_off(loaded, file, first, after, lost):
    cut = coding_agents.cut_of(loaded, file, first)
    assert (cut.after, cut.lost) == (after, lost)


@pytest.mark.parametrize(("agent", "files", "path", "codes"), [
    ("claude-code", {"AGENTS.md": "- a\n", "CLAUDE.md": "- c\n"}, "AGENTS.md", {"import", "write"}),
    ("claude-code", {"claude.md": "- c\n"}, "claude.md", {"rename"}),
    ("codex", {"AGENTS.md": "- a\n", "AGENTS.override.md": ""}, "AGENTS.md", {"remove"}),
    ("opencode", {"AGENTS.md": "- a\n", "CLAUDE.md": "- c\n"}, "CLAUDE.md", {"write"}),
    ("codex", {"AGENTS.md": "- a\n", "agents.md": "- b\n"}, "agents.md", {"write"}),
])  # fmt: skip
def test_each_fix_brings_the_text_in_and_loses_none(project, agent, files, path, codes):
    folder = project(files)
    tree = coding.DiskTree()

    def read(changed):
        return coding.context_of(agent, folder, NO_HOME, tree=changed)

    before = read(tree)
    fixes = coding_agents.fixes_for_ignored(agent, f"{folder}/{path}", before, tree, folder, NO_HOME, read)
    assert {one.code for one in fixes} == codes
    for fix in fixes:
        after = read(ChangedTree(tree, fix.changes))
        assert files[path].strip().encode() in after.text and len(after.text) == fix.size


def test_a_setting_is_a_fix_where_the_home_is_known(project, tmp_path):
    folder, home = project({"TEAM.md": "- t\n", "AGENTS.md": "- a\n" * 9_000}), tmp_path / "home"
    (home / ".codex").mkdir(parents=True, exist_ok=True)
    (home / ".codex" / "config.toml").write_text('model = "x"\nproject_doc_max_bytes = 100\n[features]\na = true\n')
    tree = coding.DiskTree()

    def read(changed):
        return coding.context_of("codex", folder, str(home), tree=changed)

    before = read(tree)
    assert before.blocks[0].cut_at
    (fix,) = coding_agents.fixes_for_cut("codex", before.blocks[0].path, before, tree, str(home), read)
    text = next(iter(fix.changes.values())).decode()
    assert fix.code == "setting" and 'model = "x"' in text and text.count("project_doc_max_bytes") == 1


@pytest.mark.parametrize(("one", "other", "found"), [
    ("- Always use tabs.\n", "- Never use tabs.\n", True),
    ("- Use pnpm, not npm.\n", "- Use npm.\n", True),
    ("- Indent with 4 spaces\n", "- Indent with tabs.\n", True),
    ("- Commit to main.\n", "- Do not commit to main.\n", True),
    ("- Use `npm test` before a push.\n", "- Use `pnpm` for packages.\n", False),
    ("- Use npm.\n", "- Use npm.\n", False),
    ("- Never log a card.\n", "- Log each request.\n", False),
    ("```\nuse npm\n```\n", "- Use pnpm.\n", False),
    ("- Use tabs.\n- Never mind.\n", "- Nothing of it.\n", False),
])  # fmt: skip
def test_rules_that_contradict_each_other(project, one, other, found):
    folder = project({"AGENTS.md": one, "GEMINI.md": other, "web/CLAUDE.md": "- Never use tabs in docs.\n"})
    codes = [finding.code for finding in coding_agents.check_folder(folder)]
    assert codes.count("contradiction") == found


def test_what_memory_files_import_is_checked_too(project):
    folder = project(
        {"CLAUDE.md": "@docs/style.md\n", "docs/style.md": "- Close\u202e at nine.\n", "docs/free.md": "- \u202e\n"}
    )
    found = coding_agents.check_folder(folder)
    assert [(one.code, one.path) for one in found] == [("hidden", f"{folder}/docs/style.md")]
