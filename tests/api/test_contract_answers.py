"""Answers as they leave the hub: one shape for every refusal, strong ETags, who may decide, new or not new."""

from importlib import import_module

import pytest
from ninja import Schema

from memoryhub.api.v1 import NOUNS
from memoryhub.domain import files, spaces
from memoryhub.domain.files.revisions import sha_of
from memoryhub.models import HUB
from tests.api.calling import as_person, code

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"


@pytest.fixture
def space():
    space = spaces.create(HUB, "ledger")
    files.add_mount(space, HUB, "/memories/")
    files.add_mount(space, HUB, "/open/", policy="trusted")
    files.write(space, HUB, PATH, b"- one\n" * 200)
    return space


@pytest.fixture
def jt(client, space):
    return as_person(client, space, "jt", "reviewer")


def test_the_etag_of_a_file_is_its_sha256_for_browsers_that_unpack_too(forge):
    answer = forge("GET", "files/memories/AGENTS.md", Accept_Encoding="gzip")
    assert answer["ETag"] == f'"{answer.json()["sha256"]}"'
    assert forge("GET", "files/memories/AGENTS.md", If_None_Match=f"W/{answer['ETag']}").status_code == 304


@pytest.mark.parametrize(
    ("method", "path"),
    [("PATCH", "files"), ("POST", "files/a.md"), ("GET", "edits"), ("PUT", "proposals/1"), ("OPTIONS", "batch"), ("PUT", "prompt")],
)  # fmt: skip
def test_a_method_that_is_not_taken_is_refused_in_the_one_shape(forge, method, path):
    answer = forge(method, path)
    assert code(answer) == (405, "method_not_allowed")
    assert answer["Allow"] and ("GET" in answer["Allow"]) == ("HEAD" in answer["Allow"])


def test_head_answers_like_get_without_a_body(forge):
    answer = forge("HEAD", "files/memories/AGENTS.md")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["ETag"]


def test_only_a_put_that_makes_the_file_is_201(forge):
    for expected in (201, 200):
        assert forge("PUT", "files/open/a.md", {"content": "same"}).status_code == expected
    assert forge("DELETE", "files/open/a.md").status_code == 200
    assert forge("PUT", "files/open/a.md", {"content": "same"}).status_code == 201


def test_no_file_lies_below_a_file(forge):
    forge("PUT", "files/open/a.md", {"content": "x"})
    assert code(forge("PUT", "files/open/a.md/b.md", {"content": "x"})) == (422, "invalid_path")
    assert code(forge("PUT", "files/memories/AGENTS.md/b.md", {"content": "x"})) == (422, "invalid_path")


def test_a_home_directory_is_outside(forge):
    assert code(forge("GET", "files/~/.ssh/id_rsa")) == (422, "invalid_path")
    rows = forge("POST", "batch", {"paths": ["~/.deepagents/AGENTS.md"]}).json()["files"]
    assert rows[0]["error"] == "file_not_found"  # a source that is not there is normal


def test_an_agent_is_told_that_people_decide_whatever_it_sends(forge):
    number = forge("PUT", "files/memories/b.md", {"content": "b"}).json()["proposal"]["number"]
    for decision in ("approve", "reject"):
        for body in ({}, {"seen": sha_of(b"b"), "note": "yes"}, None):
            assert code(forge("POST", f"proposals/{number}/{decision}", body)) == (403, "people_only")
    assert code(forge("POST", "proposals/999/approve", {"seen": "x"})) == (403, "people_only")


def test_an_approved_move_keeps_the_sha256_of_its_text(forge, jt):
    asked = forge("POST", "moves", {"from": PATH, "to": "/memories/b.md"}).json()["proposal"]
    done = jt("POST", f"proposals/{asked['number']}/approve", {"seen": asked["result_sha256"]}).json()
    assert done["proposal"]["result_sha256"] == asked["result_sha256"] == sha_of(b"- one\n" * 200)


def test_a_text_that_is_not_in_a_new_file_that_waits_is_not_found_there(forge):
    forge("PUT", "files/memories/new.md", {"content": "hello"})
    edit = {"path": "/memories/new.md", "old_string": "moon", "new_string": "sun"}
    assert code(forge("POST", "edits", edit)) == (422, "string_not_found")
    assert code(forge("POST", "edits", {**edit, "path": "/memories/none.md"})) == (404, "file_not_found")


def test_the_list_goes_on_with_its_cursor_by_either_name(forge, jt):
    for number in range(3):
        forge("PUT", f"files/memories/{number}.md", {"content": f"{number} things"})
    first = jt("GET", "proposals?limit=2&state=").json()
    assert [one["number"] for one in first["items"]] == [3, 2]
    for name in ("cursor", "next"):
        rest = jt("GET", f"proposals?limit=2&{name}={first['next']}").json()
        assert ([one["number"] for one in rest["items"]], rest["next"]) == ([1], None)
    assert code(jt("GET", "proposals?cursor=dHJ1ZQ")) == (422, "invalid_cursor")


@pytest.mark.parametrize(
    "call",
    [
        "prompt?dialect=&query=&task=&thread=&at=", "files?prefix=", "grep?pattern=x&prefix=&glob=",
        "glob?pattern=*&prefix=", "proposals?state=", "retrieve?query=&threshold=&scope=", "search?q=&layers=",
        "working?unknown=1",
    ],
)  # fmt: skip
def test_a_parameter_without_a_value_is_as_good_as_none(forge, call):
    assert forge("GET", call).status_code == 200


def test_no_two_shapes_of_the_document_share_a_name(client, db):
    named = {}
    for noun in NOUNS:
        module = import_module(f"memoryhub.api.{noun}")
        for shape in vars(module).values():
            if isinstance(shape, type) and issubclass(shape, Schema):
                assert named.setdefault(shape.__name__, shape) is shape, shape
    assert client.get("/api/v1/openapi.json").status_code == 200
