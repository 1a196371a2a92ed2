"""`POST /api/v1/memory-tool`: for people without the SDK."""

import pytest

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.domain.files.disk import sync as disk
from memoryhub.models import HUB, ActivityLine, Actor
from tests.fixtures.secret_texts import made

pytestmark = pytest.mark.django_db
VIEW = {"command": "view", "path": "/memories/a.md"}
CREATE = {"command": "create", "path": "/memories/a.md", "file_text": "text\n"}


@pytest.fixture
def space():
    made = spaces.create(HUB, "books")
    files.add_mount(made, HUB, "/memories/", store="database", policy="trusted")
    return made


@pytest.fixture
def call(client, space):
    agent = prompts.create_agent(space, HUB, "forge")

    def post(body, scopes=None, accept="*/*"):
        secret = accounts.create_token(space, HUB, agent=agent, scopes=scopes)[1]
        headers = {"Authorization": f"Bearer {secret}", "Accept": accept}
        return client.post("/api/v1/memory-tool", body, content_type="application/json", headers=headers)

    return post


def test_the_answer_is_the_result_text(call):
    made = call(CREATE)
    assert made.status_code == 200
    assert made["Content-Type"] == "text/plain; charset=utf-8"
    assert made.content.decode() == "File created successfully at: /memories/a.md"
    assert call(VIEW).content.decode().endswith("     1\ttext\n     2\t")


def test_json_tells_errors_and_proposals_apart(call, space):
    missing = call(VIEW, accept="application/json").json()
    assert missing == {
        "content": "The path /memories/a.md does not exist. Please provide a valid path.",
        "is_error": True,
        "proposal": None,
    }
    files.change_mount(space, HUB, files.mounts_of_space(space)[0], policy="review")
    waits = call(CREATE, accept="application/json").json()
    assert (waits["is_error"], waits["proposal"]) == (False, 1)
    assert "proposal 1" in waits["content"]


def test_half_a_character_in_a_path_is_a_mistake_like_any_other(call):
    answer = call({**VIEW, "path": "/memories/\ud800"})
    assert (answer.status_code, "U+D800" in answer.content.decode()) == (200, True)
    assert call({**VIEW, "path": "\ud800"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"command": "explode", "path": "/memories"}, "unknown_command"),
        ({"path": "/memories"}, "invalid"),
        ({"command": "view", "path": 7}, "invalid"),
    ],
)
def test_what_is_no_command_is_refused(call, body, code):
    answer = call(body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


def test_a_token_without_files_may_not(call):
    assert call(VIEW, scopes=["prompt"]).status_code == 403


@pytest.mark.parametrize("missing", [{"command": "view"}, {"command": "create", "path": "/memories/a.md"}])
def test_a_missing_argument_is_told_to_the_model(call, missing):
    assert "needs `" in call(missing).content.decode()


@pytest.fixture
def reviewed(space):
    files.change_mount(space, HUB, files.mounts_of_space(space)[0], policy="review")
    return space


def test_the_agents_own_new_file_can_be_edited_while_it_waits(call, reviewed):
    def say(body):
        return call(body, accept="application/json").json()

    assert say(CREATE)["proposal"] == 1
    edit = {"command": "str_replace", "path": "/memories/a.md", "old_str": "text", "new_str": "better text"}
    assert (say(edit)["is_error"], say(edit)["proposal"]) == (False, 2)
    insert = {"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "more"}
    assert (say(insert)["is_error"], say(insert)["proposal"]) == (False, 3)
    far = say({**insert, "insert_line": 9})
    assert "within the range [0, 2]" in far["content"]
    twice = say({**edit, "old_str": "e"})
    assert "Multiple occurrences" in twice["content"]
    stacked = [proposals.get(reviewed, number).stacked_on for number in (1, 2, 3)]
    assert stacked == [None, 1, 2]
    ops = Actor.of_person(accounts.create_person(HUB, "ops"), "owner")
    for number in (1, 2, 3):
        seen = proposals.result(proposals.get(reviewed, number)).sha256
        proposals.approve(reviewed, ops, number, seen=seen)
    assert files.read(reviewed, "/memories/a.md").content == b"better text\nmore\n"


def test_an_insert_into_a_new_file_that_was_approved_with_edits_is_merged(call, reviewed):
    call({**CREATE, "file_text": "one\ntwo\nthree\nfour\n"})
    call({"command": "insert", "path": "/memories/a.md", "insert_line": 4, "insert_text": "five"})
    ops = Actor.of_person(accounts.create_person(HUB, "ops"), "owner")
    changed = b"ONE\ntwo\nthree\nfour\n"
    proposals.approve(reviewed, ops, 1, seen=proposals.result(proposals.get(reviewed, 1)).sha256, content=changed)
    assert proposals.result(proposals.get(reviewed, 2)).after == changed + b"five\n"


def test_a_file_that_somebody_else_asked_for_does_not_exist(call, client, reviewed):
    other = accounts.create_token(reviewed, HUB, agent=prompts.create_agent(reviewed, HUB, "other"))[1]
    client.post(
        "/api/v1/memory-tool", CREATE, content_type="application/json", headers={"Authorization": f"Bearer {other}"}
    )
    edit = {"command": "str_replace", "path": "/memories/a.md", "old_str": "text", "new_str": "mine"}
    assert call(edit).content.decode() == "The path /memories/a.md does not exist. Please provide a valid path."


def test_paths_are_said_as_they_were_given(call):
    refused = call({**CREATE, "path": "/memories/d/"}).content.decode()
    assert refused.startswith("The path /memories/d/ ends in a slash, which names a folder.")
    assert "does not exist" in call({"command": "view", "path": "/memories/d"}).content.decode()
    call({**CREATE, "path": "/memories/d/a.md"})
    assert "deep in /memories/d/, excluding" in call({"command": "view", "path": "/memories/d/"}).content.decode()
    moved = call({"command": "rename", "old_path": "/memories/d/a.md", "new_path": "/memories/e/"}).content.decode()
    assert moved.startswith("The path /memories/e/ ends in a slash")
    moved = call({"command": "rename", "old_path": "/memories/d/", "new_path": "/memories/e/"}).content.decode()
    assert moved == "Successfully renamed /memories/d/ to /memories/e/"
    assert call({"command": "delete", "path": "/memories/e/"}).content.decode() == "Successfully deleted /memories/e/"
    gone = call({"command": "delete", "path": "/memories/e/"}).content.decode()
    assert gone == "The path /memories/e/ does not exist"


@pytest.fixture
def folder(call):
    for name in "abc":
        call({**CREATE, "path": f"/memories/d/{name}.md", "file_text": f"{name}\n"})


RENAME = {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e"}
DELETE = {"command": "delete", "path": "/memories/d"}


@pytest.mark.parametrize("command", [RENAME, DELETE])
def test_of_a_folder_all_changes_or_nothing(call, space, folder, command):
    protected = b"<!-- protected -->\nours\n<!-- /protected -->\n"
    files.write(space, HUB, "/memories/d/b.md", protected)
    lines = ActivityLine.objects.filter(verb__startswith="files.")
    before = lines.count()
    answer = call(command, accept="application/json").json()
    assert answer["is_error"] and answer["content"].startswith("This change touches a region that people protected.")
    assert answer["content"].endswith(
        "Nothing was changed: it is one of 3 files, and all of a folder changes or nothing."
    )
    assert [files.read(space, f"/memories/d/{name}.md").content for name in "abc"] == [b"a\n", protected, b"c\n"]
    assert not files.exists(space, "/memories/e/a.md") and lines.count() == before


def test_a_key_in_the_new_name_of_a_folder_is_told_though_nothing_changed(call, space, folder):
    call({**RENAME, "new_path": f"/memories/ghp_{made(36)}"})
    told = ActivityLine.objects.get(verb="files.refuse_secret")
    assert told.thing == "/memories/d/a.md" and files.exists(space, "/memories/d/a.md")


def test_the_files_of_a_folder_that_wait_say_what_they_are_a_part_of(call, space, folder):
    files.add_rule(space, HUB, "/memories/d/b.md", "review", confirmed=True)
    answer = call(RENAME, accept="application/json").json()
    assert answer["content"].startswith(
        "2 of 3 files were changed at once; the others wait for a person.\nRecorded as proposal 1"
    )
    assert (answer["proposal"], answer["is_error"]) == (1, False)
    assert proposals.get(space, 1).reason == "Rename the folder /memories/d to /memories/e (file 2 of 3)"
    assert [files.exists(space, f"/memories/e/{name}.md") for name in "abc"] == [True, False, True]


def test_of_a_folder_on_a_disk_a_file_that_could_not_be_written_follows(call, space, tmp_path, monkeypatch):
    files.add_mount(space, HUB, "/memories/disk/", store="filesystem", directory=str(tmp_path), policy="trusted")
    for name in "abc":
        call({**CREATE, "path": f"/memories/disk/d/{name}.md", "file_text": f"{name}\n"})
    real, full = disk.push_revision, []
    monkeypatch.setattr(disk, "push_revision", lambda *args: full.append(args) if len(full) < 3 else real(*args))
    moved = {"command": "rename", "old_path": "/memories/disk/d", "new_path": "/memories/disk/e"}
    assert call(moved).content.decode().startswith("Successfully renamed")
    monkeypatch.setattr(disk, "push_revision", real)
    for name in "abc":
        assert files.read(space, f"/memories/disk/e/{name}.md").content == f"{name}\n".encode()
        assert not files.exists(space, f"/memories/disk/d/{name}.md")
    assert sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*.md")) == ["e/a.md", "e/b.md", "e/c.md"]
