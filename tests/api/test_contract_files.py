"""Files over REST with odd input: addresses, headers, folders, sizes. No answer is a crash, none is a surprise."""

import io
import unicodedata
from urllib.parse import quote

import pytest
from django.core.exceptions import RequestDataTooBig
from django.core.handlers.wsgi import WSGIRequest

from memoryhub.domain import files, spaces
from memoryhub.models import HUB, Proposal
from tests.api.calling import Caller, ServedClient, as_person, code

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"


@pytest.fixture
def space(tmp_path):
    space = spaces.create(HUB, "ledger")
    files.add_mount(space, HUB, "/memories/")
    files.add_mount(space, HUB, "/open/", policy="trusted")
    files.add_mount(space, HUB, "/disk/", store="filesystem", directory=str(tmp_path), policy="trusted")
    files.write(space, HUB, PATH, b"one\n")
    return space


@pytest.fixture
def ed(client, space):
    return as_person(client, space, "ed", "editor")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/plain", "text/plain"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("TEXT/PLAIN", "text/plain"),
        ("text/*", "text/plain"),
        ("text/plain, */*", "text/plain"),
        ("application/json;q=0.5, text/plain", "text/plain"),
        ("text/plain;q=0.1, application/json", "application/json"),
        ("text/plain;q=0", "application/json"),
        ("*/*", "application/json"),
        ("", "application/json"),
        ("nonsense;;q=x", "application/json"),
    ],
)
def test_plain_text_is_given_to_whoever_likes_it_best(forge, accept, kind):
    assert forge("GET", "files/memories/AGENTS.md", Accept=accept)["Content-Type"].split(";")[0] == kind


@pytest.mark.parametrize(
    "tail",
    [
        "memories/a%0ab", "memories/%2e%2e/x", "memories/..%2fx", "memories//x",
        "memories/a%5cb", "memories/a%00b", "memories/~root", "memories/.", "memories/x/", "memories/" + "a" * 300,
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_address_that_names_no_path_is_said_to_be_one(forge, method, tail):
    body = {"content": "x"} if method == "PUT" else None
    assert code(forge(method, f"files/{tail}", body)) == (422, "invalid_path")


def test_a_thread_is_named_by_text(forge):
    for call in ("files/memories/AGENTS.md?", "files?", "grep?pattern=x&", "glob?pattern=x&"):
        assert code(forge("GET", f"{call}thread_id=%00")) == (422, "invalid_content"), call
    assert code(forge("DELETE", "files/memories/AGENTS.md?thread_id=%00")) == (422, "invalid_content")
    assert code(forge("POST", "batch", {"paths": [PATH], "thread_id": "\ud800"})) == (422, "invalid_content")
    for name in ("thread_id", "tool_call_id"):
        look = {"command": "view", "path": "/memories/AGENTS.md", name: "\ud800"}
        assert code(forge("POST", "memory-tool", look)) == (422, "invalid_content"), name


def test_half_a_character_in_a_batch_is_one_bad_path(forge):
    rows = forge("POST", "batch", {"paths": [PATH, "/memories/\ud800"]}).json()["files"]
    assert [(row["path"], row["error"]) for row in rows] == [(PATH, None), ("/memories/\ud800", "invalid_path")]


def test_half_a_character_in_an_edit_is_refused(forge):
    files.write(spaces.get_by_slug("ledger"), HUB, "/open/a.md", b"a")
    for path, old in ((PATH, "one"), ("/open/a.md", "a")):
        edit = {"path": path, "old_string": old, "new_string": "\ud800"}
        assert code(forge("POST", "edits", edit)) == (422, "invalid_content"), path


def test_a_folder_is_no_file(forge, ed):
    files.write(spaces.get_by_slug("ledger"), HUB, "/open/sub/a.md", b"a")
    for folder in ("memories", "open", "open/sub", "disk"):
        assert code(forge("GET", f"files/{folder}")) == (422, "is_directory"), folder
        for who in (forge, ed):
            assert code(who("PUT", f"files/{folder}", {"content": "x"})) == (422, "is_directory"), folder
            moved = who("POST", "moves", {"from": PATH, "to": f"/{folder}"})
            assert code(moved) == (422, "is_directory"), folder
    rows = forge("POST", "batch", {"paths": ["/memories", "/open/sub", "/open/none"]}).json()["files"]
    assert [row["error"] for row in rows] == ["is_directory", "is_directory", "file_not_found"]
    assert not Proposal.objects.exists()


def test_a_link_out_of_the_mount_leads_nowhere(forge, tmp_path):
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    for path in ("disk/passwd", "disk/out/passwd"):
        assert code(forge("GET", f"files/{path}")) == (422, "invalid_path")
        assert code(forge("PUT", f"files/{path}", {"content": "x"})) == (422, "invalid_path")
    assert forge("GET", "grep?pattern=root&prefix=/disk/").json()["matches"] == []
    assert forge("GET", "glob?pattern=**&prefix=/disk/").json()["matches"] == []


def test_every_write_honours_if_match(forge, ed):
    for who in (forge, ed):
        for call in (
            ("PUT", "files/memories/AGENTS.md", {"content": "x"}),
            ("PUT", "files/memories/new.md", {"content": "x"}),
            ("POST", "edits", {"path": PATH, "old_string": "one", "new_string": "two"}),
            ("POST", "moves", {"from": PATH, "to": "/memories/b.md"}),
            ("DELETE", "files/memories/AGENTS.md"),
        ):
            assert who(*call, If_Match='"0"').status_code == 412, call


def test_if_match_takes_the_forms_in_which_a_tag_comes_back(forge):
    files.write(spaces.get_by_slug("ledger"), HUB, "/open/a.md", b"0")
    for number, form in enumerate(("{}", "W/{}", '"0", {}', "*"), 1):
        tag = form.format(forge("GET", "files/open/a.md").headers["ETag"])
        assert forge("PUT", "files/open/a.md", {"content": str(number)}, If_Match=tag).status_code == 200, tag
    assert forge("PUT", "files/open/b.md", {"content": "b"}, If_Match="*").status_code == 412


def test_a_write_under_if_none_match_changes_no_text_that_it_names(forge, ed):
    for who, path in (
        (forge, "files/open/n.md"),
        (forge, "files/memories/AGENTS.md"),
        (ed, "files/memories/AGENTS.md"),
    ):
        known = who("GET", path).headers.get("ETag") or (
            who("PUT", path, {"content": "n"}) and who("GET", path)["ETag"]
        )
        for tag in (known, f'"0", W/{known}', "*"):
            assert who("PUT", path, {"content": "m"}, If_None_Match=tag).status_code == 412
            assert who("DELETE", path, If_None_Match=tag).status_code == 412
        assert who("PUT", path, {"content": "m"}, If_None_Match='"0"').status_code in (200, 202)


def test_an_edit_makes_no_file_over_1_mib(forge):
    edit = {"path": PATH, "old_string": "one", "new_string": "b" * (1 << 20)}
    assert forge("POST", "edits", edit).status_code == 413
    assert not Proposal.objects.exists()


def test_a_body_sent_in_pieces_is_measured(monkeypatch):
    from memoryhub import wsgi

    def read_by_django(body):
        environ = {"wsgi.input": io.BytesIO(body), "HTTP_TRANSFER_ENCODING": "chunked", "REQUEST_METHOD": "PUT"}
        monkeypatch.setattr(wsgi, "django_application", lambda environ, _: WSGIRequest(environ).body)
        return wsgi.application(environ, None)

    assert read_by_django(b"in pieces") == b"in pieces"
    with pytest.raises(RequestDataTooBig):
        read_by_django(b"a" * (8 * 1024 * 1024 + 1))


def test_a_search_may_name_one_file(forge):
    found = forge("GET", "grep?pattern=one&prefix=/memories/AGENTS.md").json()
    assert found["matches"] == [{"path": PATH, "line": 1, "text": "one"}]
    assert forge("GET", "grep?pattern=one&prefix=/memories/AGENTS.md&glob=*.txt").json()["matches"] == []


def test_what_an_edit_looks_for_is_text_too(forge):
    files.write(spaces.get_by_slug("ledger"), HUB, "/memories/x.bin", b"a\xffb")
    for wrong in ("\udcff", "\x00"):
        edit = {"path": "/memories/x.bin", "old_string": wrong, "new_string": "x"}
        assert code(forge("POST", "edits", edit)) == (422, "invalid_content")


@pytest.mark.parametrize(
    ("name", "status"), [("höhe.md", 200), ("日記.md", 200), ("a\u200bb.md", 422), ("none.md", 404)]
)
def test_an_address_is_read_alike_with_and_without_django(forge, name, status):
    if status == 200:
        files.write(spaces.get_by_slug("ledger"), HUB, f"/memories/{name}", b"one")
    address = f"files/memories/{quote(name)}"
    answer = Caller(ServedClient(), forge.secret)("GET", address)
    usual = forge("GET", address)
    assert (answer.status_code, answer.content) == (usual.status_code, usual.content)
    assert answer.status_code == status


@pytest.mark.django_db(transaction=True)
def test_names_that_a_mac_took_apart_are_listed_read_and_written_as_any_other(tmp_path, ed):
    taken_apart = unicodedata.normalize("NFD", "Café.md")
    (tmp_path / taken_apart).write_bytes(b"one\n")
    listed = ed("GET", "files?prefix=/disk/").json()["entries"]
    assert [entry["path"] for entry in listed] == ["/disk/Café.md"]
    for spelled in ("Café.md", taken_apart):
        assert ed("GET", f"files/disk/{quote(spelled)}").json()["content"] == "one\n"
    assert ed("GET", "grep?pattern=one&prefix=/disk/").json()["matches"][0]["path"] == "/disk/Café.md"
    assert ed("PUT", f"files/disk/{quote('Café.md')}", {"content": "two\n"}).status_code == 200
    assert (tmp_path / taken_apart).read_bytes() == b"two\n"
    (tmp_path / "Café.md").write_bytes(b"three\n")
    assert code(ed("GET", f"files/disk/{quote('Café.md')}")) == (409, "two_spellings")
    (tmp_path / taken_apart).unlink()
    batch = ed("POST", "batch", {"paths": [f"/disk/{taken_apart}", "/disk/Café.md"]}).json()["files"]
    assert [one["content"] for one in batch] == ["three\n", "three\n"]


def test_refusals_of_the_disk_name_the_path_as_it_was_asked_for(tmp_path, ed):
    (tmp_path / "ln").symlink_to("/etc/hostname")
    told = ed("GET", "files/disk/ln").json()["error"]
    assert told["path"] == "/disk/ln"
    assert "“/disk/ln”" in told["message"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["n" * 252 + ".md", "x" * 240])
def test_names_may_be_as_long_as_file_systems_take_them(tmp_path, ed, name):
    assert ed("PUT", f"files/disk/{name}", {"content": "one\n"}).status_code == 201
    assert ed("PUT", f"files/disk/{name}", {"content": "two\n"}).status_code == 200
    assert (tmp_path / name).read_text() == "two\n"
    assert ed("DELETE", f"files/disk/{name}").status_code == 200
    assert code(ed("PUT", f"files/disk/{name}{'y' * 20}", {"content": "one\n"})) == (422, "invalid_path")
