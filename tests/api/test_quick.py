"""The quick way to read files answers like the long one, or not at all."""

from __future__ import annotations

import importlib
import io
import json
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from memoryhub.api import quick
from memoryhub.db import statements
from memoryhub.domain import accounts, files, prompts, proposals, retrieval, spaces
from memoryhub.domain.files.read import READ_ROWS
from memoryhub.domain.prompts import serve
from memoryhub.models import HUB, Actor, Proposal, Token

search_module = importlib.import_module("memoryhub.domain.retrieval.search")

pytestmark = pytest.mark.django_db
FILE = "/api/v1/files/memories/AGENTS.md"


@pytest.fixture
def space(tmp_path):
    space = spaces.create(HUB, "ledger")
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path))
    files.add_mount(space, HUB, "/hub/")
    files.add_mount(space, HUB, "/scratch/", store="thread")
    return space


@pytest.fixture
def secret(space):
    return accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "forge"))[1]


def ask(secret, path=FILE, method="GET", body=b"", **headers):
    """The answer of the quick way as (status, headers, body), or nothing."""
    environ = {
        "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "wsgi.input": io.BytesIO(body),
        "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": "127.0.0.1", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
        "wsgi.url_scheme": "http", "HTTP_AUTHORIZATION": f"Bearer {secret}", **headers,
    }  # fmt: skip
    told = []
    answer = quick.application(environ, lambda status, fields: told.extend((status, dict(fields))))
    assert answer is not None or environ["wsgi.input"].read() == body, (
        "the body is there for whoever answers in the end"
    )
    return (int(told[0][:3]), told[1], b"".join(answer)) if answer is not None else None


def settled(space, path, content, tmp_path):
    """A file on disk whose stat has been taken in."""
    import os

    target = tmp_path / path.removeprefix("/memories/")
    target.write_bytes(content)
    os.utime(target, (1, 1))
    files.read(space, path)


def test_it_answers_as_the_long_way_does(space, secret, client, tmp_path):
    settled(space, "/memories/AGENTS.md", "# Höhe\r\n".encode(), tmp_path)
    files.write(space, HUB, "/hub/x.bin", b"\x00\xff")
    for path in (FILE, "/api/v1/files/hub/x.bin"):
        for accept in ("application/json", "text/plain"):
            long = client.get(path, headers={"Authorization": f"Bearer {secret}", "Accept": accept})
            status, fields, body = ask(secret, path, HTTP_ACCEPT=accept)
            assert (status, body) == (long.status_code, long.content)
            assert {k: fields[k] for k in ("ETag", "Content-Type", "Cache-Control", "Vary")} == {
                k: long.headers[k] for k in ("ETag", "Content-Type", "Cache-Control", "Vary")
            }
            assert ask(secret, path, HTTP_ACCEPT=accept, HTTP_IF_NONE_MATCH=fields["ETag"])[0] == 304
    wanted = json.dumps({"paths": ["/hub/x.bin", "/memories/AGENTS.md"]}).encode()
    long = client.post("/api/v1/batch", wanted, "application/json", headers={"Authorization": f"Bearer {secret}"})
    assert ask(secret, "/api/v1/batch", "POST", wanted)[2] == long.content


def test_it_sees_every_change_at_once(space, secret, client, tmp_path):
    files.write(space, HUB, "/hub/a.md", b"one")
    client.get(FILE, headers={"Authorization": f"Bearer {secret}"})
    assert json.loads(ask(secret, "/api/v1/files/hub/a.md")[2])["content"] == "one"
    files.write(space, HUB, "/hub/a.md", b"two")
    assert json.loads(ask(secret, "/api/v1/files/hub/a.md")[2])["content"] == "two"
    settled(space, "/memories/AGENTS.md", b"one", tmp_path)
    assert ask(secret)[0] == 200
    (tmp_path / "AGENTS.md").write_bytes(b"changed on disk")
    assert ask(secret) is None, "what is new on disk is taken in by the long way"
    (tmp_path / "AGENTS.md").unlink()
    assert ask(secret) is None


def test_everything_else_goes_the_long_way(space, secret, tmp_path):
    files.write(space, HUB, "/hub/a.md", b"one")
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, rk, "viewer")
    person = accounts.create_token(space, Actor.of_person(rk, "viewer"), person=rk)[1]
    narrow = accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "narrow"), scopes=["prompt"])[1]
    good = "/api/v1/files/hub/a.md"
    assert ask(secret, good)[0] == 200
    for one in (person, narrow, "mh_none_at_all", ""):
        assert ask(one, good) is None
    for path in (
        "/api/v1/files/hub/none.md",
        "/api/v1/files/hub/../a.md",
        "/api/v1/files/scratch/a.md",
        "/api/v1/files",
    ):
        assert ask(secret, path) is None
    for body in (
        b"{",
        b"[]",
        b'{"paths": []}',
        b'{"paths": [1]}',
        b'{"paths": ["/hub/a.md"], "thread_id": "t"}',
        b"[" * 100_000,
        b"",
    ):
        assert ask(secret, "/api/v1/batch", "POST", body) is None
    Token.objects.filter(agent__slug="forge").update(revoked_at="2020-01-01T00:00:00Z")
    assert ask(secret, good) is None


def test_a_proposal_that_still_waits_is_told_so(space, secret, client):
    files.write(space, HUB, "/hub/a.md", b"one")
    forge = space.agents.get(slug="forge")
    asked = proposals.propose(space, forge, kind="write", path="/hub/a.md", content=b"two")
    url = f"/api/v1/proposals/{asked.number}"
    first = client.get(url, headers={"Authorization": f"Bearer {secret}"})
    assert ask(secret, url) is None  # who has nothing yet gets all of it
    status, headers, body = ask(secret, url, HTTP_IF_NONE_MATCH=f'W/{first["ETag"]}, "x"')
    assert (status, headers["ETag"], body) == (304, first["ETag"], b"")
    Proposal.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert ask(secret, url, HTTP_IF_NONE_MATCH=first["ETag"]) is None  # it is past its date
    Proposal.objects.update(expires_at="2999-01-01T00:00:00Z")
    counter = accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "counter"))[1]
    narrow = accounts.create_token(space, HUB, agent=forge, scopes=["files"])[1]
    known = {"HTTP_IF_NONE_MATCH": first["ETag"]}
    for token, path in (
        (counter, url),
        (narrow, url),
        (secret, url + "x"),
        (secret, "/api/v1/proposals/99"),
        ("", url),
    ):
        assert ask(token, path, **known) is None
    files.write(space, HUB, "/hub/a.md", b"three")  # its diff is another one now
    assert ask(secret, url, **known) is None
    proposals.reject(space, HUB, asked.number, note="no")
    assert ask(secret, url, **known) is None


def body_of(content, **more):
    return json.dumps({"content": content, **more}).encode()


def long_write(client, secret, path, body, **headers):
    return client.put(path, body, "application/json", headers={"Authorization": f"Bearer {secret}", **headers})


def without_path(document):
    return {name: value for name, value in document.items() if name != "path"}


def test_a_trusted_write_is_answered_as_the_long_way_does(space, secret, client):
    files.add_mount(space, HUB, "/own/", policy="trusted")
    quick_path, long_path = "/api/v1/files/own/a.md", "/api/v1/files/own/b.md"
    for content, status in (("# One\n", 201), ("# Two\n", 200), ("# Two\n", 200)):
        long = long_write(client, secret, long_path, body_of(content, reason="why"))
        told = ask(secret, quick_path, "PUT", body_of(content, reason="why"))
        assert (
            (told[0], told[1]["Content-Type"])
            == (long.status_code, long.headers["Content-Type"])
            == (
                status,
                "application/json; charset=utf-8",
            )
        )
        assert without_path(json.loads(told[2])) == without_path(long.json())
    assert files.read(space, "/own/a.md").content == b"# Two\n"
    assert files.file_row(space, "/own/a.md").author_name == "forge"


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (body_of("x", encoding="utf-16"), {}, None, ""),
        (body_of("key = AKIAIOSFODNN7EXAMPLQ"), {}, 422, "secret_found"),
        (body_of("two"), {"HTTP_IF_MATCH": '"0"'}, 412, "precondition_failed"),
        (body_of("two"), {"HTTP_IF_NONE_MATCH": "*"}, 409, "file_exists"),
        (b"[]", {}, None, ""),
        (b"{", {}, None, ""),
    ],
)
def test_a_refused_write_changes_nothing(space, secret, body, headers, status, code):
    files.add_mount(space, HUB, "/own/", policy="trusted")
    files.write(space, HUB, "/own/a.md", b"one")
    told = ask(secret, "/api/v1/files/own/a.md", "PUT", body, **headers)
    assert told is None if status is None else (told[0], json.loads(told[2])["error"]["code"]) == (status, code)
    assert files.read(space, "/own/a.md").content == b"one"


def test_where_people_decide_and_for_whoever_may_not_the_long_way_answers(space, secret):
    for path in ("/api/v1/files/hub/a.md", "/api/v1/files/nowhere/a.md", "/api/v1/files/own/../a.md"):
        assert ask(secret, path, "PUT", body_of("one")) is None
    files.add_mount(space, HUB, "/own/", policy="trusted")
    agent = prompts.create_agent(space, HUB, "reader")
    weak = accounts.create_token(space, HUB, agent=agent, scopes=["files", "retrieve"])[1]
    assert ask(weak, "/api/v1/files/own/a.md", "PUT", body_of("one")) is None
    assert not files.exists(space, "/own/a.md") and not files.exists(space, "/hub/a.md")


def test_exceptions_to_a_policy_have_conditions_so_the_long_way_answers(space, secret):
    files.add_rule(space, HUB, "/hub/**", "trusted", max_added=5)
    assert ask(secret, "/api/v1/files/hub/a.md", "PUT", body_of("one")) is None
    assert not files.exists(space, "/hub/a.md")


def test_a_search_is_answered_as_the_long_way_does(space, secret, client):
    for number in range(3):
        files.write(space, HUB, f"/hub/note-{number}.md", f"Refunds of customer {number} wait.\n".encode())
    asked = {"q": "customer refunds", "layers": "files", "limit": "2"}
    long = client.get("/api/v1/search", asked, headers={"Authorization": f"Bearer {secret}"})
    status, _, body = ask(secret, "/api/v1/search", QUERY_STRING=urlencode(asked))
    assert (status, json.loads(body)) == (long.status_code, long.json())
    assert len(long.json()["items"]) == 2
    files.write(space, HUB, "/hub/new.md", b"Customer refunds are quick now.\n")
    assert "/hub/new.md" in [
        hit["id"] for hit in json.loads(ask(secret, "/api/v1/search", QUERY_STRING="q=quick")[2])["items"]
    ]
    for odd in ("q=a&limit=x", "q=a&limit=0", "q=a&layers=moon", "q=a&q=b", "q=a&more=1", "q=\xc3\xa9"):
        assert ask(secret, "/api/v1/search", QUERY_STRING=odd) is None


def test_ten_files_are_one_statement_and_unchanged_ones_none_but_the_token(space, secret, client, statements):
    wanted = [f"/hub/{number}.md" for number in range(10)]
    for path in wanted:
        files.write(space, HUB, path, b"text")
    client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})  # the use of the token is noted
    body = json.dumps({"paths": wanted}).encode()
    with statements() as sent:
        status, fields, _ = ask(secret, "/api/v1/batch", "POST", body)
    assert (status, sent) == (200, [serve.DOOR, READ_ROWS])  # who asks, for the first time; then all ten
    with statements() as sent:
        status, _, empty = ask(secret, "/api/v1/batch", "POST", body, HTTP_IF_NONE_MATCH=fields["ETag"])
    assert (status, empty, sent) == (304, b"", [serve.DOOR])
    with statements() as sent:
        status, _, others = ask(secret, "/api/v1/batch", "POST", json.dumps({"paths": wanted[:9]}).encode())
    assert (status, sent) == (200, [serve.with_door(READ_ROWS)])  # who asks and the files, in one
    assert [one["content"] for one in json.loads(others)["files"]] == ["text"] * 9
    files.write(space, HUB, wanted[0], b"another text")
    with statements() as sent:
        assert b"another text" in ask(secret, "/api/v1/batch", "POST", body)[2]
    assert sent == [serve.DOOR, READ_ROWS]  # it looked as if nothing had to be made


def test_what_comes_with_the_look_at_the_door_comes_to_whom_it_opens_alone(space, secret):
    other = spaces.create(HUB, "other")
    files.add_mount(other, HUB, "/hub/")
    for number in range(6):
        files.write(space, HUB, f"/hub/{number}.md", b"ours")
        files.write(other, HUB, f"/hub/{number}.md", b"theirs")
    strange = accounts.create_token(other, HUB, agent=prompts.create_agent(other, HUB, "stranger"))[1]

    def text(token, number):
        told = ask(token, f"/api/v1/files/hub/{number}.md")
        return told and json.loads(told[2])["content"]

    assert (text(secret, 0), text(strange, 0)) == ("ours", "theirs")
    assert (text(secret, 1), text(strange, 1)) == ("ours", "theirs")
    serve.seen[accounts.digest_of(strange)] = prompts.seen_last(secret)  # as if a token had moved to another space
    assert text(strange, 2) is None
    assert text(strange, 2) == "theirs"
    for change in ({"scopes": ["prompt"]}, {"scopes": ["files"], "revoked_at": "2020-01-01T00:00:00Z"}):
        Token.objects.filter(agent__slug="forge").update(**change)
        assert text(secret, 3) is None and text(secret, 0) is None
    Token.objects.filter(agent__slug="forge").update(revoked_at=None)
    assert text(secret, 4) == "ours"


def test_a_search_of_files_whose_words_are_listed_is_one_trip(space, secret, client, monkeypatch, statements):
    for number in range(3):
        files.write(space, HUB, f"/hub/note-{number}.md", f"Refunds of customer {number} wait.\n".encode())
    search_module.listed_revisions.clear()
    monkeypatch.setattr(
        search_module, "connection", SimpleNamespace(in_atomic_block=False)
    )  # nothing is taken back here

    def found(query):
        asked = {"q": query, "layers": "files"}
        quickly = json.loads(ask(secret, "/api/v1/search", QUERY_STRING=urlencode(asked))[2])
        long = client.get("/api/v1/search", asked, headers={"Authorization": f"Bearer {secret}"})
        assert quickly == long.json()
        return [hit["id"] for hit in quickly["items"]]

    for _ in range(2):  # the first lists the words, the second sees that all are
        assert len(found("customer refunds")) == 3
    with statements() as sent:
        ask(secret, "/api/v1/search", QUERY_STRING="q=customer+refunds&layers=files")
    assert sent == [serve.with_door(retrieval.IN_FILES)]
    assert found("customer 2")[0] == "/hub/note-2.md"
    assert found("!") == []
    files.write(space, HUB, "/hub/new.md", b"Customer refunds are quick now.\n")
    assert set(found("quick")) == {"/hub/new.md"}
    assert set(found("customer")) == {"/hub/new.md", *(f"/hub/note-{number}.md" for number in range(3))}


def test_files_are_looked_up_one_by_one_before_the_database_has_counted_them(space, uncounted):
    """A young database would else plan every file against every revision: 300 files made a read thirty times slower."""
    for number in range(40):
        files.write(space, HUB, f"/hub/{number}.md", b"text")
    asked = {"paths": ["/hub/7.md"], "space": space.pk, "thread": "", "digest": "x", "hot": False, "scopes": "{}"}
    for sql in (READ_ROWS, serve.with_door(READ_ROWS)):
        plan = "\n".join(row[0] for row in statements.rows(f"EXPLAIN {sql}", asked))
        looking = plan.partition("unnest")[2]
        assert looking and "Join Filter" not in looking and "Hash" not in looking and "Merge Join" not in looking, plan
        # Not all files of the space, nor the whole history of one.
        assert "using one_file_per_path" in plan and "using one_revision_number" in plan, plan
