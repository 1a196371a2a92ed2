"""The prompt of an agent that does not exist yet, and the choice of what stands in every prompt."""

from __future__ import annotations

import pytest

from memoryhub.domain import files, prompts, spaces
from memoryhub.errors import Forbidden, Invalid
from memoryhub.models import HUB, Actor, Role, Source

AGENTS, STYLE = "/memories/AGENTS.md", "/memories/docs/style.md"


@pytest.fixture
def space(db):
    space = spaces.create(HUB, "shop")
    files.add_mount(space, HUB, "/memories/")
    return space


@pytest.mark.parametrize("guidelines", [None, b"# Ours <!-- for people -->\n"])
def test_it_is_byte_for_byte_what_a_new_agent_gets(space, tmp_path, guidelines):
    directory = tmp_path / "notes"
    directory.mkdir()
    (directory / "broken.md").write_bytes(b"\xff\xfe")
    (directory / "folder.md").mkdir()
    files.add_mount(space, HUB, "/notes/", store="filesystem", directory=str(directory))
    files.write(space, HUB, AGENTS, "\ufeff# Shop\r\n<!-- note -->\r\nCents, 不是元.\r\n".encode())
    if guidelines is not None:
        files.write(space, HUB, files.GUIDELINES_PATH, guidelines)
        files.write(space, HUB, files.POSITIONING_PATH, b"The shop of a bakery.\n")
    for path in (AGENTS, STYLE, "memories/AGENTS.md", "/notes/broken.md", "/notes/folder.md", "/nowhere/x.md"):
        prompts.add_source(space, HUB, path)
    prompts.switch_source(space, HUB, prompts.add_source(space, HUB, "/memories/off.md").pk, False)
    before = prompts.prompt_of_new_agent(space)
    assert "Cents" in before.text
    after = prompts.assemble(space, prompts.create_agent(space, HUB, "forge"))
    assert before.data == after.data
    assert before.sources == after.sources


def test_choosing_switches_shown_paths_and_no_others(space):
    other = prompts.add_source(space, HUB, "/memories/other.md")
    assert prompts.choose_sources(space, HUB, [AGENTS, STYLE], [AGENTS]) == [AGENTS]
    assert prompts.choose_sources(space, HUB, [AGENTS, STYLE], [AGENTS]) == []
    assert prompts.choose_sources(space, HUB, [AGENTS, STYLE], [STYLE]) == [AGENTS, STYLE]
    assert prompts.choose_sources(space, HUB, [AGENTS], [AGENTS]) == [AGENTS]
    listed = [(source.path, source.is_on) for source in prompts.sources_of(space)]
    assert listed == [(other.path, True), (AGENTS, True), (STYLE, True)]


def test_what_no_mount_shows_cannot_be_chosen(space):
    with pytest.raises(Invalid):
        prompts.choose_sources(space, HUB, ["/elsewhere/a.md"], ["/elsewhere/a.md"])
    assert not Source.objects.within(space).exists()


def test_only_who_manages_chooses(space):
    from memoryhub.domain import accounts

    editor = accounts.create_person(HUB, "ed")
    spaces.add_member(space, HUB, editor, Role.EDITOR)
    with pytest.raises(Forbidden):
        prompts.choose_sources(space, Actor.of_person(editor, Role.EDITOR), [AGENTS], [AGENTS])
