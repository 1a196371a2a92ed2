"""`memoryhub export`: what the hub holds, readable without it."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.domain.exchange import exporting
from memoryhub.errors import HubError
from memoryhub.models import HUB, Space

pytestmark = pytest.mark.django_db


@pytest.fixture
def space() -> Space:
    space = spaces.create(HUB, "team", "Team")
    files.add_mount(space, HUB, "/memories/")
    return space


def lines(file) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_files_lie_below_their_virtual_paths_with_every_earlier_text(space, tmp_path):
    files.write(space, HUB, "/memories/notes/a.md", b"one \xff\r\n")
    files.write(space, HUB, "/memories/notes/a.md", b"two\n")
    files.write(space, HUB, "/memories/gone.md", b"gone\n")
    files.delete(space, HUB, "/memories/gone.md")
    call_command("export", str(tmp_path / "out"))
    out = tmp_path / "out/team"
    assert (out / "files/memories/notes/a.md").read_bytes() == b"two\n"
    assert (out / "history/memories/notes/a.md/0001.md").read_bytes() == b"one \xff\r\n"
    assert not (out / "files/memories/gone.md").exists()
    assert (out / "history/memories/gone.md/0001.md").read_bytes() == b"gone\n"


def test_lists_are_lines_of_json(space, tmp_path):
    prompts.create_agent(space, HUB, "forge")
    call_command("export", str(tmp_path / "out"))
    assert [agent["slug"] for agent in lines(tmp_path / "out/team/agents.jsonl")] == ["forge"]
    assert [mount["prefix"] for mount in lines(tmp_path / "out/team/mounts.jsonl")] == ["/memories/"]
    assert "agents.create" in [line["verb"] for line in lines(tmp_path / "out/team/activity.jsonl")]
    assert json.loads((tmp_path / "out/team/space.json").read_text())["slug"] == "team"


def test_no_secret_is_in_it(space, tmp_path):
    person = accounts.create_person(HUB, "rk", password="a-long-enough-passphrase")
    agent = prompts.create_agent(space, HUB, "forge")
    token, secret = accounts.create_token(space, HUB, agent=agent)
    call_command("export", str(tmp_path / "out"))
    told = "".join(file.read_text() for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert "rk" in told
    for hidden in (secret, token.digest, person.password):
        assert hidden not in told


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(HubError, match="is not empty"):
        call_command("export", str(tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_a_path_that_is_no_file_name_is_still_kept(tmp_path):
    exporting._put(tmp_path, "a", b"1")
    exporting._put(tmp_path, "a/b.md", b"2")
    exporting._put(tmp_path, "../outside", b"3")
    assert (tmp_path / "a_b.md").read_bytes() == b"2"
    assert (tmp_path / ".._outside").read_bytes() == b"3"
    assert not (tmp_path.parent / "outside").exists()
