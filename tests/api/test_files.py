"""Files over REST, to the letter of the contract."""

import base64

import pytest

from memoryhub.api import files as files_api
from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.models import HUB, Actor, Revision
from tests.api.calling import Caller, as_person, code

pytest.importorskip("memoryhub.domain.proposals")
pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"


@pytest.fixture
def space():
    space = spaces.create(HUB, "ledger")
    files.add_mount(space, HUB, "/memories/")
    files.add_mount(space, HUB, "/open/", policy="trusted")
    files.add_mount(space, HUB, "/locked/", policy="read_only")
    files.add_mount(space, HUB, "/scratch/", store="thread", policy="trusted")
    return space


@pytest.fixture
def rk(client, space):
    return as_person(client, space, "rk", "editor")


def test_a_file_is_read_as_json_and_as_bytes(space, forge):
    files.write(space, HUB, PATH, "# Höhe\r\n".encode())
    answer = forge("GET", "files/memories/AGENTS.md")
    found = answer.json()
    assert set(found) == {"path", "content", "encoding", "sha256", "revision", "created_at", "modified_at"}
    assert (found["path"], found["content"], found["encoding"], found["revision"]) == (PATH, "# Höhe\r\n", "utf-8", 1)
    assert answer["ETag"] == f'"{found["sha256"]}"'
    plain = forge("GET", "files/memories/AGENTS.md", Accept="text/plain")
    assert plain.content == "# Höhe\r\n".encode()
    assert plain["Content-Type"] == "text/plain; charset=utf-8"
    assert forge("GET", "files/memories/AGENTS.md", If_None_Match=answer["ETag"]).status_code == 304


def test_what_is_no_text_travels_as_base64(space, forge):
    files.write(space, HUB, "/memories/x.bin", b"\x00\xff")
    found = forge("GET", "files/memories/x.bin").json()
    assert (found["encoding"], base64.b64decode(found["content"])) == ("base64", b"\x00\xff")


def test_a_batch_keeps_the_order_and_says_what_is_wrong(space, forge):
    files.write(space, HUB, PATH, b"a")
    wanted = ["/memories/none.md", PATH, "/memories/../x", PATH]
    answer = forge("POST", "batch", {"paths": wanted})
    rows = answer.json()["files"]
    assert [(r["path"], r["content"], r["error"]) for r in rows] == [
        (wanted[0], None, "file_not_found"), (PATH, "a", None), (wanted[2], None, "invalid_path"), (PATH, "a", None),
    ]  # fmt: skip
    assert forge("POST", "batch", {"paths": wanted}, If_None_Match=answer["ETag"]).status_code == 304


def test_folders_are_listed_and_searched(space, forge):
    for path, text in (("sub/b.md", "needle [b]"), ("a.md", "x\nneedle [a]\n"), (".hidden/c.md", "needle")):
        files.write(space, HUB, f"/memories/{path}", text.encode())
    listed = forge("GET", "files?prefix=/memories/").json()["entries"]
    assert [(e["path"], e["is_dir"]) for e in listed] == [
        ("/memories/.hidden/", True), ("/memories/sub/", True), ("/memories/a.md", False),
    ]  # fmt: skip
    assert [e["path"] for e in forge("GET", "files").json()["entries"]] == [
        "/locked/",
        "/memories/",
        "/open/",
        "/scratch/",
    ]
    found = forge("GET", "grep?pattern=needle [&prefix=/memories/").json()
    assert found == {
        "matches": [
            {"path": "/memories/a.md", "line": 2, "text": "needle [a]"},
            {"path": "/memories/sub/b.md", "line": 1, "text": "needle [b]"},
        ],
        "truncated": False,
    }
    assert len(forge("GET", "grep?pattern=needle&glob=b*.md").json()["matches"]) == 1

    def glob(query):
        return [e["path"] for e in forge("GET", f"glob?{query}").json()["matches"]]

    assert glob("pattern=*.md&prefix=/memories/") == ["/memories/a.md", "/memories/sub/b.md"]
    assert glob("pattern=/*.md&prefix=/memories/") == ["/memories/a.md"]
    assert glob("pattern=**/*.md") == ["/memories/a.md", "/memories/sub/b.md"]
    assert glob("pattern=**/*.md&oldest=9") == ["/memories/sub/b.md", "/memories/a.md"]
    assert glob("pattern=**/*.md&oldest=1&offset=1") == ["/memories/a.md"]
    assert glob("pattern=**/*.md&oldest=9&prefix=/memories/") == ["/memories/sub/b.md", "/memories/a.md"]
    assert glob("pattern=a.*&oldest=1&prefix=/memories") == ["/memories/a.md"], (
        "the last of three that are read one by one"
    )
    assert glob("pattern=a.*&oldest=1&offset=1&prefix=/memories/") == []
    assert glob("pattern=.hidden/*.{md,txt}&prefix=/memories/") == ["/memories/.hidden/c.md"]


def test_a_trusted_path_is_written_at_once(space, forge):
    made = forge("PUT", "files/open/a.md", {"content": "one", "reason": "why"})
    assert (made.status_code, made.json()["status"], made.json()["revision"]) == (201, "applied", 1)
    again = forge("PUT", "files/open/a.md", {"content": "two"})
    assert (again.status_code, again.json()["revision"]) == (200, 2)
    edited = forge("POST", "edits", {"path": "/open/a.md", "old_string": "two", "new_string": "three"})
    assert (edited.status_code, edited.json()["occurrences"]) == (200, 1)
    moved = forge("POST", "moves", {"from": "/open/a.md", "to": "/open/b.md"})
    assert moved.status_code == 200
    assert forge("DELETE", "files/open/b.md").status_code == 200
    assert code(forge("GET", "files/open/b.md")) == (404, "file_not_found")
    first = Revision.objects.earliest("pk")
    assert (first.actor_kind, first.actor_name, first.reason) == ("agent", "forge", "why")


def test_a_write_to_a_path_under_review_waits(space, forge):
    answer = forge("PUT", "files/memories/AGENTS.md", {"content": "one", "reason": "why"})
    assert (answer.status_code, answer.json()["status"]) == (202, "pending")
    number = answer.json()["proposal"]["number"]
    assert (
        forge("PUT", "files/memories/AGENTS.md", {"content": "one", "reason": "why"}).json()["proposal"]["number"]
        == number
    )
    assert code(forge("GET", "files/memories/AGENTS.md")) == (404, "file_not_found")


def test_a_read_only_path_refuses_agents_and_takes_people(space, forge, rk):
    for answer in (
        forge("PUT", "files/locked/a.md", {"content": "x"}),
        forge("POST", "edits", {"path": "/locked/a.md", "old_string": "x", "new_string": "y"}),
        forge("POST", "moves", {"from": "/open/a.md", "to": "/locked/a.md"}),
    ):
        assert code(answer) == (403, "read_only")
        assert answer.json()["error"]["path"] == "/locked/a.md"
    assert rk("PUT", "files/locked/a.md", {"content": "x"}).status_code == 201
    assert Revision.objects.get().actor_name == "rk"


def test_edits_are_refused_as_agents_know_it(space, forge, rk):
    files.write(space, HUB, PATH, b"a a")
    files.write(space, HUB, "/open/a.md", b"a a")
    for path in (PATH, "/open/a.md"):
        edit = {"path": path, "old_string": "a", "new_string": "b"}
        twice = forge("POST", "edits", edit)
        assert code(twice) == (422, "string_not_unique")
        assert twice.json()["error"]["occurrences"] == 2
        assert code(forge("POST", "edits", {**edit, "old_string": "z"})) == (422, "string_not_found")
        assert code(forge("POST", "edits", {**edit, "path": path + "x"})) == (404, "file_not_found")
    everywhere = {"path": "/open/a.md", "old_string": "a", "new_string": "b", "replace_all": True}
    assert forge("POST", "edits", everywhere).json()["occurrences"] == 2


def test_a_stale_if_match_is_412_for_every_kind_of_writer(space, forge, rk):
    files.write(space, HUB, PATH, b"one")
    files.write(space, HUB, "/open/a.md", b"one")
    for caller, path in ((rk, "memories/AGENTS.md"), (forge, "open/a.md"), (forge, "memories/AGENTS.md")):
        answer = caller("PUT", f"files/{path}", {"content": "two"}, If_Match='"0"')
        assert answer.status_code == 412
        tag = caller("GET", f"files/{path}")["ETag"]
        assert caller(
            "PUT", f"files/{path}", {"content": f"three {path} {caller is rk}"}, If_Match=tag
        ).status_code in (200, 202)
        taken = caller("PUT", f"files/{path}", {"content": "four"}, If_None_Match="*")
        assert code(taken) == (412, "file_exists")


@pytest.mark.parametrize(
    "path",
    ["memories/../x", "memories/%2e%2e/x", "memories/a%00b", "memories/a%5cb", "memories/x//y", "memories/%E2%80%8Bx", "~/x"],
)  # fmt: skip
def test_paths_that_could_lead_out_are_422(space, forge, rk, path):
    for caller in (forge, rk):
        assert code(caller("PUT", f"files/{path}", {"content": "x"})) == (422, "invalid_path")
    assert code(forge("GET", f"files/{path}"))[0] in (404, 422)


def test_bad_content_and_no_mount_are_said_so(space, forge, rk):
    assert code(rk("PUT", "files/memories/a.md", {"content": "a\x00b"})) == (422, "invalid_content")
    assert code(rk("PUT", "files/memories/a.md", {"content": "!!", "encoding": "base64"})) == (422, "invalid_content")
    assert code(rk("PUT", "files/memories/a.md", {"content": "x", "encoding": "latin-1"})) == (422, "invalid_content")
    nowhere = rk("PUT", "files/elsewhere/a.md", {"content": "x"})
    assert code(nowhere) == (422, "no_mount")
    assert "/memories/" in nowhere.json()["error"]["prefixes"]
    assert code(forge("GET", "files/elsewhere/a.md")) == (404, "file_not_found")
    big = base64.b64encode(b"x" * ((1 << 20) + 1)).decode()
    assert code(rk("PUT", "files/memories/a.md", {"content": big, "encoding": "base64"})) == (413, "too_large")
    assert code(rk("PUT", "files/memories/a.md", {})) == (422, "invalid")
    assert not Revision.objects.exists()


def test_a_secret_is_refused_without_being_repeated(space, forge):
    secret = "AKIA" + "IOSFODNN7" + "ABCDEFG"
    for path in ("open/a.md", "memories/a.md"):
        answer = forge("PUT", f"files/{path}", {"content": f"first\nkey {secret}\n"})
        assert code(answer) == (422, "secret_found")
        error = answer.json()["error"]
        assert error["line"] == 2
        assert error["kind"]
        assert secret not in answer.content.decode()


def test_threads_have_files_of_their_own(space, forge):
    forge("PUT", "files/scratch/a.md", {"content": "one", "thread_id": "t1"})
    assert forge("GET", "files/scratch/a.md?thread_id=t1").json()["content"] == "one"
    assert forge("GET", "files/scratch/a.md?thread_id=t2").status_code == 404
    assert forge("GET", "files?prefix=/scratch/&thread_id=t1").json()["entries"][0]["path"] == "/scratch/a.md"
    assert forge("GET", "files?prefix=/scratch/&thread_id=t2").json()["entries"] == []


def test_who_may(client, space, forge):
    viewer = accounts.create_person(HUB, "vi")
    spaces.add_member(space, HUB, viewer, "viewer")
    _, secret = accounts.create_token(space, Actor.of_person(viewer, "viewer"), person=viewer)
    assert Caller(client, secret)("PUT", "files/open/a.md", {"content": "x"}).status_code == 403
    _, secret = accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "reader"), scopes=["files"])
    reader = Caller(client, secret)
    assert code(reader("PUT", "files/open/a.md", {"content": "x"})) == (403, "scope_missing")
    assert reader("GET", "files").status_code == 200
    other = spaces.create(HUB, "other")
    files.add_mount(other, HUB, "/memories/")
    files.write(other, HUB, PATH, b"secret plans")
    assert forge("GET", "files/memories/AGENTS.md").status_code == 404
    assert forge("GET", "grep?pattern=secret").json()["matches"] == []


def test_a_folder_is_no_file(space, forge):
    files.write(space, HUB, "/memories/sub/a.md", b"a")
    assert code(forge("GET", "files/memories/sub")) == (422, "is_directory")


def test_lists_are_as_the_document_says(space, forge):
    """They are written without going through their schemas."""
    files.write(space, HUB, PATH, b"one")
    for path, schema, item in (
        ("files?prefix=/memories/", files_api.Entries, files_api.Entry),
        ("glob?pattern=**", files_api.Matches, files_api.Entry),
        ("grep?pattern=one", files_api.Lines, files_api.Line),
    ):
        document = forge("GET", path).json()
        schema.model_validate(document)
        assert set(document) == set(schema.model_fields), path
        (found,) = document["entries" if "entries" in document else "matches"]
        assert set(found) == set(item.model_fields), path
