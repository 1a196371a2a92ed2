"""What coding agents load of a space's files: the same as of a folder on disk, through mounts of any kind."""

from __future__ import annotations

import pytest

from memoryhub.dialects import coding
from memoryhub.domain import contexts, files, spaces
from memoryhub.domain.contexts import space_readers
from memoryhub.models import HUB, File, Revision, Space

TREE = {
    "AGENTS.md": "# Shop\n\nCents, never floats.\n",
    "CLAUDE.md": "@AGENTS.md\nSee @docs/style.md\n",
    "docs/style.md": "Short sentences.\n",
    "docs/deploy.md": "A pattern names it.\n",
    "web/AGENTS.md": "Components own the basket.\n",
    "api/CLAUDE.md": "Name the order of migrations.\n",
    ".cursor/rules/checkout.mdc": "---\nalwaysApply: true\n---\nRounding.\n",
    ".claude/rules/tests.md": '---\npaths: "api/**"\n---\nTapes.\n',
    "GEMINI.md": "Short.\n",
    "opencode.json": '{"instructions": ["docs/*.md"]}',
}


@pytest.fixture
def root(tmp_path):
    for path, text in TREE.items():
        (tmp_path / "shop" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / path).write_text(text)
    (tmp_path / "shop/.git").mkdir()
    return tmp_path / "shop"


@pytest.fixture
def space(db):
    return spaces.create(HUB, "shop")


def mounted(space, store, root, prefix="/memories/"):
    if store == "filesystem":
        mount = files.add_mount(space, HUB, prefix, store="filesystem", directory=str(root), takes="all")
        files.take_in_mount(space, mount)
    else:
        mount = files.add_mount(space, HUB, prefix)
        for path, text in TREE.items():
            files.write(space, HUB, prefix + path, text.encode())
    return mount, Space.objects.get(pk=space.pk)


@pytest.mark.parametrize("store", ["filesystem", "database"])
@pytest.mark.parametrize("folder", ["", "web/", "api/"])
def test_each_agent_loads_what_it_loads_of_the_folder_on_disk(space, root, store, folder):
    mount, space = mounted(space, store, root)
    loaded = contexts.mount_readers(space, mount).loaded["/memories/" + folder]
    assert len(loaded) == len(coding.agents()) >= 10
    for one in loaded:
        context = coding.context_of(one.agent.name, str(root / folder), "/nobody")
        there = [block.path.replace(f"{root}/", "/memories/") for block in context.blocks]
        assert list(one.why) == there, one.agent.name
        assert set(one.later) == {later.path.replace(f"{root}/", "/memories/") for later in context.later}
        assert set(one.ignored) == {other.path.replace(f"{root}/", "/memories/") for other in context.ignored}


def test_a_reader_is_named_with_its_reason(space, root):
    mount, space = mounted(space, "filesystem", root)
    readers = contexts.mount_readers(space, mount)

    def states(path):
        return {one.agent.name: one.state for one in readers.readers(path)}

    assert states("/memories/docs/deploy.md") == {"opencode": "in"}
    assert states("/memories/docs/style.md")["claude-code"] == "in"
    assert states("/memories/web/AGENTS.md")["codex"] == "in"
    assert states("/memories/web/AGENTS.md")["claude-code"] == "ignored"
    assert states("/memories/.claude/rules/tests.md")["claude-code"] == "later"
    assert "Claude Code" not in readers.names("/memories/web/AGENTS.md")
    why = next(one.why for one in readers.readers("/memories/web/AGENTS.md") if one.agent.name == "claude-code")
    assert "/memories/CLAUDE.md exists" in why and "/project" not in why


def test_a_change_is_seen_and_what_a_mount_leaves_out_is_not_there(space, root):
    mount, space = mounted(space, "filesystem", root)
    contexts.mount_readers(space, mount)
    files.write(space, HUB, "/memories/CLAUDE.md", b"Nothing else.\n")
    space = Space.objects.get(pk=space.pk)
    assert "Claude Code" not in contexts.mount_readers(space, mount).names("/memories/docs/style.md")
    (root / "CLAUDE.local.md").write_text("@AGENTS.md\n")
    (root / ".gitignore").write_text("CLAUDE.local.md\n")
    files.take_in_mount(space, mount)
    space = Space.objects.get(pk=space.pk)
    assert "/memories/CLAUDE.local.md" not in contexts.mount_readers(space, mount).known


@pytest.mark.parametrize("prefix", ["/", "~/notes/", "/a/b/"])
def test_any_prefix_will_do(space, root, prefix):
    mount, space = mounted(space, "database", root, prefix)
    readers = contexts.mount_readers(space, mount)
    assert "Codex" in readers.names(prefix + "web/AGENTS.md")
    assert next(iter(readers.loaded)) == prefix


def test_many_files_cost_few_statements(space, statements):
    mount = files.add_mount(space, HUB, "/memories/")
    many = [f"/memories/d{n}/{name}" for n in range(300) for name in ("AGENTS.md", "notes.md", "CLAUDE.md")]
    rows = File.objects.bulk_create(File(space=space, path=path, revision=1, size=4) for path in many)
    Revision.objects.bulk_create(
        Revision(space=space, file=row, number=1, path=row.path, sha256="x", content=b"Hi.\n") for row in rows
    )
    space = Space.objects.get(pk=space.pk)
    with statements() as sent:
        readers = contexts.mount_readers(space, mount)
    assert len(sent) < 5
    assert len(readers.loaded) == space_readers.MAX_FOLDERS
    with statements() as sent:
        contexts.mount_readers(space, mount)
    assert not sent


def test_a_nasty_import_leads_nowhere(space):
    mount = files.add_mount(space, HUB, "/memories/")
    files.write(space, HUB, "/memories/CLAUDE.md", b"@/etc/passwd @../../x.md @~/.ssh/id_rsa @CLAUDE.md @\x01.md\n")
    space = Space.objects.get(pk=space.pk)
    found = contexts.mount_readers(space, mount)
    assert list(found.known) == ["/memories/CLAUDE.md"]
    assert all(path == "/memories/CLAUDE.md" for one in found.at_root for path in one.why)
