"""Memory that each agent writes itself, in the folder where it lies: entries one by one, its history, blame and search."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, coding_agents, contexts, files, retrieval, spaces
from memoryhub.errors import Conflict
from memoryhub.models import HUB, Actor, Revision

CLAUDE = "# Index\n\n- [Tests](tests.md) — fast first\n- [Gateway](gw.md) — slow before 9:00\n"
PARAGRAPHS = "# Notes\n\nThe user likes\nshort answers.\n\n- Uses uv.\n  Never pip.\n\n```\nnot an entry\n```\n\n<!-- kept -->\nLast one.\n"
FILES = {
    ".claude/projects/-h-shop/memory/MEMORY.md": ("/claude/projects/-h-shop/memory/MEMORY.md", CLAUDE, 2),
    ".claude/agent-memory/review/MEMORY.md": ("/claude/agent-memory/review/MEMORY.md", CLAUDE, 2),
    ".codex/memories/memory_summary.md": ("/codex/memories/memory_summary.md", PARAGRAPHS, 3),
    ".codex/memories/MEMORY.md": ("/codex/memories/MEMORY.md", PARAGRAPHS, 3),
    ".codex/memories/extensions/ad_hoc/notes/1-uv.md": ("/codex/memories/extensions/ad_hoc/notes/1-uv.md", PARAGRAPHS, 3),
    ".gemini/tmp/shop/memory/MEMORY.md": ("/gemini/tmp/shop/memory/MEMORY.md", "- private fast\n- two\n", 2),
    ".hermes/memories/MEMORY.md": ("/hermes/memories/MEMORY.md", "Likes short answers.\n§\nUses uv, never pip.", 2),
    ".hermes/memories/USER.md": ("/hermes/memories/USER.md", "Name: Mia, fast.", 1),
    ".openclaw/workspace/MEMORY.md": ("/openclaw/MEMORY.md", PARAGRAPHS, 3),
    ".openclaw/workspace/USER.md": ("/openclaw/USER.md", PARAGRAPHS, 3),
    ".openclaw/workspace/memory/2026-11-19.md": ("/openclaw/memory/2026-11-19.md", PARAGRAPHS, 3),
}  # fmt: skip


@pytest.fixture
def home(tmp_path):
    home = (tmp_path / "mia").resolve()
    for name, (_, text, _) in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / ".codex/memories/.git").mkdir()
    (home / ".codex/memories/.git/HEAD").write_text("ref: refs/heads/main\n")
    return home


@pytest.fixture
def space(transactional_db, home):
    shown = contexts.show_laptop(HUB, str(home), coding_agents.find_agents(str(home), []), [])
    for mount in files.mounts_of_space(shown.space):
        files.take_in_mount(shown.space, mount)
    return shown.space


@pytest.fixture
def mia(space):
    person = accounts.create_person(HUB, "mia")
    spaces.add_member(space, HUB, person, "owner")
    return Actor.of_person(person, "owner")


def test_every_agents_memory_is_found_with_its_entries(space):
    found = {one.path: len(one.entries) for one in contexts.own_memories(space)}
    assert found == {path: count for path, _, count in FILES.values()}


@pytest.mark.parametrize("name", FILES)
def test_an_entry_is_changed_added_and_removed_and_nothing_else(space, home, mia, name):
    path, text, count = FILES[name]

    def change(**more):
        contexts.change_entry(space, mia, path, seen=contexts.own_memory(space, path).sha256, **more)
        return (home / name).read_text()

    last = contexts.own_memory(space, path).entries[-1]
    after = change(number=count, text="Changed here.")
    written = contexts.own_memory(space, path).entries[-1].text
    assert "Changed here." in written and after == text[: last.start] + written + text[last.end :]
    assert "One more." in change(text="One more.") and len(contexts.own_memory(space, path).entries) == count + 1
    assert "One more." not in change(number=count + 1)
    newest = files.file_row(space, path)
    assert Revision.objects.within(space).filter(path=path).count() == newest.revision == 4
    assert {one.author.name for one in files.blame(newest)} == ({"mia", "disk"} if count > 1 else {"mia"})
    with pytest.raises(Conflict):
        contexts.change_entry(space, mia, path, seen="0" * 64, number=1, text="late")
    files.restore(space, mia, path, 1)
    assert (home / name).read_text() == text


def test_one_search_goes_over_all_of_them(space):
    memories = contexts.own_memories(space)
    found = {memory.format.agent for memory, _ in contexts.find_entries(memories, "UV never")}
    assert found == {"codex", "hermes", "openclaw"}
    assert {memory.format.agent for memory, _ in contexts.find_entries(memories, "fast")} == {
        "claude-code",
        "gemini-cli",
        "hermes",
    }
    assert contexts.find_entries(memories, "") == contexts.find_entries(memories, "nowhere at all") == []
    hits = retrieval.search(space, "short answers")
    assert "/hermes/memories/MEMORY.md" in str(hits) and "/openclaw/MEMORY.md" in str(hits)


def test_a_paragraph_stays_one():
    known = coding_agents.format_of("/h/.openclaw/workspace/MEMORY.md")
    entries = [one.text for one in coding_agents.entries_of(known, PARAGRAPHS)]
    assert entries == ["The user likes\nshort answers.", "- Uses uv.\n  Never pip.", "Last one."]
    after = coding_agents.with_entry(known, PARAGRAPHS, 1, "Likes long ones.")
    assert after == PARAGRAPHS.replace("The user likes\nshort answers.", "Likes long ones.")
    windows = PARAGRAPHS.replace("\n", "\r\n")
    assert "Two\r\nlines" in coding_agents.with_entry(known, windows, 3, "Two\nlines")
    assert [one.text for one in coding_agents.entries_of(known, windows)][1] == "- Uses uv.\r\n  Never pip."


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n", "---\na: b\n---\n", "```\nopen", "\ufeff- a\n"])
def test_odd_texts_have_entries_that_lie_in_them(text):
    known = coding_agents.format_of("/h/.openclaw/workspace/MEMORY.md")
    for one in coding_agents.entries_of(known, text):
        assert text[one.start : one.end] == one.text and one.text.strip()
