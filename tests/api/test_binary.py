"""What is no text, what is empty and what changes nothing, through the door of files."""

import base64
import json

import pytest

from memoryhub.domain import files, spaces
from memoryhub.models import HUB
from tests.api.calling import as_person

pytestmark = pytest.mark.django_db
PATH = "/memories/a.md"


@pytest.fixture
def space():
    made = spaces.create(HUB, "books")
    files.add_mount(made, HUB, "/memories/", store="database", policy="review")
    return made


def put(forge, content, path="files/memories/a.bin"):
    return forge("PUT", path, {"content": base64.b64encode(content).decode(), "encoding": "base64"})


def test_the_diff_of_a_binary_says_so_with_sizes(client, space, forge):
    asked = put(forge, b"\xff\x00\x01").json()["proposal"]
    assert asked["diff"] == "Binary file memories/a.bin: no file before, 3 bytes after\n"
    done = as_person(client, space, "ops", "owner")("POST", "proposals/1/approve", {"seen": asked["result_sha256"]})
    assert done.json()["proposal"]["diff"] == asked["diff"]
    assert put(forge, b"plain").json()["proposal"]["diff"].endswith("3 bytes before, 5 bytes after\n")
    for answer in (forge("GET", "proposals"), forge("GET", "proposals/2")):
        assert "\\ud" not in answer.content.decode() and "\\u0000" not in answer.content.decode()


def test_a_file_emptied_stays_a_file_in_the_diff(client, space, forge):
    files.write(space, HUB, PATH, b"old\n")
    ops = as_person(client, space, "ops", "owner")
    asked = forge("PUT", "files/memories/a.md", {"content": "new\n"}).json()["proposal"]
    done = ops("POST", "proposals/1/approve", {"seen": asked["result_sha256"], "content": ""}).json()["proposal"]
    assert done["diff"].splitlines()[:2] == ["--- a/memories/a.md", "+++ b/memories/a.md"]
    asked = forge("PUT", "files/memories/b.md", {"content": ""}).json()["proposal"]
    assert asked["diff"].splitlines() == ["--- /dev/null", "+++ b/memories/b.md"]
    gone = forge("DELETE", "files/memories/a.md").json()["proposal"]
    assert gone["diff"].splitlines()[1:2] == ["+++ /dev/null"]


@pytest.mark.parametrize("policy", ["review", "trusted"])
@pytest.mark.parametrize("replace_all", [False, True])
def test_an_edit_that_changes_nothing_is_done_at_once(space, forge, policy, replace_all):
    files.change_mount(space, HUB, files.mounts_of_space(space)[0], policy=policy)
    files.write(space, HUB, PATH, b"same\n")
    edit = {"path": PATH, "old_string": "same", "new_string": "same", "replace_all": replace_all}
    answer = forge("POST", "edits", edit)
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["revision"], answer.json()["occurrences"]) == ("applied", 1, 1)
    assert forge("GET", "proposals").json()["items"] == []
    assert files.file_row(space, PATH).revision == 1


def test_the_document_names_the_headers_that_conditions_travel_in(client, space):
    paths = json.loads(client.get("/api/v1/openapi.json").content)["paths"]

    def headers(path, method):
        return {one["name"] for one in paths[path][method].get("parameters", []) if one["in"] == "header"}

    file = "/api/v1/files/{path}"
    assert headers(file, "put") == headers(file, "delete") == {"If-Match", "If-None-Match"}
    assert headers(file, "get") == {"If-None-Match"}
    assert headers("/api/v1/edits", "post") == headers("/api/v1/moves", "post") == {"If-Match"}
    assert headers("/api/v1/proposals/{number}", "get") == headers("/api/v1/batch", "post") == {"If-None-Match"}
    told = {one["name"]: one.get("description") for one in paths["/api/v1/proposals"]["get"]["parameters"]}
    assert told["cursor"] and told["next"]
