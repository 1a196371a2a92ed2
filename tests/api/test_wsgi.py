"""Some calls are answered without Django's middleware, and some from a cache: always what Django answers, and never an old text."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import pytest
from django.test import Client

from memoryhub import wsgi
from memoryhub.db import statements
from memoryhub.domain import accounts, files, longterm, prompts, proposals, quarantine, spaces
from memoryhub.domain.accounts.authenticate import statement
from memoryhub.domain.files.read import READ_ROWS, cache
from memoryhub.models import HUB, Actor, File, Proposal, Space, WorkingEntry
from tests.api.calling import Caller, ServedClient, code

pytestmark = pytest.mark.django_db
SHOWN = ("ETag", "Content-Type", "Cache-Control", "X-Content-Type-Options", "WWW-Authenticate")


@pytest.fixture
def space(tmp_path):
    space = spaces.create(HUB, "ledger")
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path))
    files.add_mount(space, HUB, "/hub/")
    files.add_mount(space, HUB, "/scratch/", store="thread")
    return space


@pytest.fixture
def agent(forge):
    """The agent that calls, without Django's middleware."""
    return Caller(ServedClient(), forge.secret)


def on_disk(tmp_path, name: str, content: bytes) -> None:
    """A file that was not touched lately: what is younger than the clock's ticks is read again each time."""
    (tmp_path / name).write_bytes(content)
    os.utime(tmp_path / name, (1, 1))


def same(secret: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """The answer, which has to be that of Django to the same call; twice, as the second may come from a cache."""
    usual = Caller(Client(), secret)(method, path, body, **headers)
    for _ in range(2):
        answer = Caller(ServedClient(), secret)(method, path, body, **headers)
        assert (answer.status_code, answer.content) == (usual.status_code, usual.content), path
        differs = {name for name in SHOWN if answer.headers.get(name) != usual.headers.get(name)}
        assert not differs, f"{path}: {differs}"
    return answer


def test_files_are_answered_as_django_does(space, forge, tmp_path):
    on_disk(tmp_path, "AGENTS.md", "# Höhe\r\n".encode())
    files.write(space, HUB, "/hub/x.bin", b"\x00\xff")
    for path in ("files/memories/AGENTS.md", "files/hub/x.bin"):
        for accept in ("application/json", "text/plain"):
            answer = same(forge.secret, "GET", path, Accept=accept)
            assert same(forge.secret, "GET", path, Accept=accept, If_None_Match=answer["ETag"]).status_code == 304
            assert same(forge.secret, "HEAD", path, Accept=accept).content == b""
    wanted = {"paths": ["/hub/x.bin", "/memories/AGENTS.md", "/hub/none.md", "/memories", "/../x"]}
    answer = same(forge.secret, "POST", "batch", wanted)
    errors = [one["error"] for one in answer.json()["files"]]
    assert errors == [None, None, "file_not_found", "is_directory", "invalid_path"]
    assert same(forge.secret, "POST", "batch", wanted, If_None_Match=answer["ETag"]).status_code == 304


@pytest.mark.parametrize(
    "path", ["hub/none.md", "hub/../a.md", "hub", "scratch/a.md", "nowhere/a.md", "~/a.md", "", "a%2F%2Fb"]
)
def test_what_is_refused_is_refused_as_django_does(forge, path):
    assert same(forge.secret, "GET", f"files/{path}").status_code in (404, 422)


@pytest.mark.parametrize("body", ["{", "[]", "", "null", '{"paths": []}', '{"paths": [1]}', '{"paths": null}', "[" * 100_000,
                                  json.dumps({"paths": ["/a"] * 201}), '{"paths": ["/hub/a.md"], "thread_id": 1}'])  # fmt: skip
def test_a_body_that_does_not_validate_is_refused_as_django_does(forge, body):
    same(forge.secret, "POST", "batch", body)


def test_a_retrieval_by_a_query_alone_is_answered_as_django_does(space, forge):
    longterm.store(space, HUB, "Refunds go to the card: Höhe 100 %.")
    for query in ("query=refund", "query=H%C3%B6he+100+%25", "query=", "query=%00", "query=%ff", "query", "query=a&query=b",
                  "query=a;scope=x", "query=refund&cold=1", "query=refund&cold=x", f"query={'a' * 9000}"):  # fmt: skip
        for accept in ("application/json", "text/plain"):
            answer = same(forge.secret, "GET", f"retrieve?{query}", Accept=accept)
            assert answer.status_code in (200, 422)
    assert same(forge.secret, "GET", "retrieve?query=refund").json()["items"]
    assert same(forge.secret, "HEAD", "retrieve?query=refund").content == b""
    assert wsgi.answer_for({"PATH_INFO": "/api/v1/retrieve", "REQUEST_METHOD": "GET", "QUERY_STRING": "query=refund"})
    only_files = accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "other"), scopes=["files"])[1]
    assert same(only_files, "GET", "retrieve?query=refund").status_code == 403
    assert same("mh_none", "GET", "retrieve?query=refund").status_code == 401


def test_a_log_is_answered_as_django_does(space, forge):
    text, key = "Refunds go to the card: Höhe 100 %.", "ghp_" + "aZ3kQ9xW7vB2nM5tR8yL1pC4sD6fG0hJ3kL9"

    def answered(secret: str, client: Any, body: Any) -> Any:
        answer = Caller(client, secret)("POST", "quarantine", body)
        said = {name: value for name, value in answer.json().items() if name not in ("id", "working_id")}
        WorkingEntry.objects.all().delete()  # or the next one repeats it
        return answer.status_code, said, {name: answer.headers.get(name) for name in SHOWN}

    for body in ({"content": text}, {"content": f"{text} {key}", "metadata": {"a": key}, "session_id": "s"}, {"content": ""}, {}, "{",
                 "[]", "null", "[" * 100_000, {"content": text, "node_kind": "tool", "scope": 1}, {"content": text, "session_id": None},
                 {"content": "a\x00"}, {"content": "\ud800"}, {"content": text, "metadata": {"n": float("nan")}},
                 {"content": "x" * (1 << 21)}, {"content": text, "other": 1}):  # fmt: skip
        usual = answered(forge.secret, Client(), body)
        assert answered(forge.secret, ServedClient(), body) == usual and usual[0] in (201, 400, 413, 422), usual
    said = {"PATH_INFO": "/api/v1/quarantine", "REQUEST_METHOD": "POST", "CONTENT_LENGTH": "15"}
    assert wsgi.answer_for(said | {"wsgi.input": io.BytesIO(b'{"content":"a"}')})
    only_files = accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "other"), scopes=["files"])[1]
    for secret, status in ((only_files, 403), ("mh_none", 401)):
        usual = answered(secret, Client(), {"content": text})
        assert answered(secret, ServedClient(), {"content": text}) == usual and usual[0] == status


def test_working_memory_is_answered_as_django_does(space, forge):
    for n in range(3):
        quarantine.log(space, None, content=f"Refund {n} went to the card: Höhe {n} %.", session_id="s", node_id="n")
    for query in (
        "limit=2",
        "limit=50",
        "limit=0",
        "limit=51",
        "limit=x",
        "limit=",
        "limit",
        "limit=2&cursor=1",
        "limit=1&limit=2",
        "",
    ):
        assert same(forge.secret, "GET", f"working?{query}").status_code in (200, 422)
    assert len(same(forge.secret, "GET", "working?limit=2").json()["items"]) == 2
    assert same(forge.secret, "HEAD", "working?limit=2").content == b""
    assert wsgi.answer_for({"PATH_INFO": "/api/v1/working", "REQUEST_METHOD": "GET", "QUERY_STRING": "limit=2"})
    assert same("mh_none", "GET", "working?limit=2").status_code == 401
    only_files = accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "other"), scopes=["files"])[1]
    assert same(only_files, "GET", "working?limit=2").status_code == 403


def test_a_search_is_answered_as_django_does(space, forge):
    files.write(space, HUB, "/hub/a.md", "Refunds go to the card: Höhe 100 %.".encode())
    for query in ("q=refund", "q=H%C3%B6he+100+%25&layers=files&limit=10", "q=refund&layers=files,longterm", "layers=files", "q=",
                  "q=refund&limit=0", "q=refund&limit=201", "q=refund&limit=x", "q=refund&limit=%2B5", "q=refund&limit=%D9%A3",
                  "q=refund&limit=", "q", "", "q=%00", "q=%ff", "q=a&q=b", "q=refund&layers=x", "q=refund&cursor=1", "q=refund&next=x",
                  "q=refund&other=1", "q=a;limit=x", f"q={'a' * 9000}", "q=a" + "&q=a" * 2000):  # fmt: skip
        assert same(forge.secret, "GET", f"search?{query}").status_code in (200, 400, 422)
    assert same(forge.secret, "GET", "search?q=refund&layers=files").json()["items"][0]["created_at"].endswith("Z")
    assert same(forge.secret, "HEAD", "search?q=refund").content == b""
    sent_sql = {"PATH_INFO": "/api/v1/search", "REQUEST_METHOD": "GET", "QUERY_STRING": "q=a&layers=files&limit=10"}
    assert wsgi.answer_for(sent_sql)
    only_files = accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "other"), scopes=["files"])[1]
    assert same(only_files, "GET", "search?q=refund").status_code == 403


def test_a_persons_token_reads_as_well(space):
    files.write(space, HUB, "/hub/a.md", b"one")
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, rk, "viewer")
    secret = accounts.create_token(space, Actor.of_person(rk, "viewer"), person=rk)[1]
    assert same(secret, "GET", "files/hub/a.md").json()["content"] == "one"


def test_every_change_is_seen_at_once(space, agent, tmp_path):
    def content(path: str) -> str | None:
        return agent("GET", f"files{path}").json().get("content")

    files.write(space, HUB, "/hub/a.md", b"one")
    assert [content("/hub/a.md"), content("/hub/a.md")] == ["one", "one"]
    files.write(space, HUB, "/hub/a.md", b"two")
    assert content("/hub/a.md") == "two"
    on_disk(tmp_path, "AGENTS.md", b"one")
    for _ in range(3):
        assert content("/memories/AGENTS.md") == "one"
    on_disk(tmp_path, "AGENTS.md", b"two")
    assert content("/memories/AGENTS.md") == "two"
    (tmp_path / "AGENTS.md").unlink()
    assert content("/memories/AGENTS.md") is None
    files.delete(space, HUB, "/hub/a.md")
    assert content("/hub/a.md") is None


def test_files_of_a_thread_are_those_of_that_thread(space, agent):
    for thread in ("t-1", "t-2"):
        files.write(space, HUB, "/scratch/a.md", thread.encode(), thread_id=thread)
    for thread in ("t-1", "t-2", "t-1"):
        assert agent("GET", f"files/scratch/a.md?thread_id={thread}").json()["content"] == thread
        batch = agent("POST", "batch", {"paths": ["/scratch/a.md"], "thread_id": thread}).json()["files"]
        assert [one["content"] for one in batch] == [thread]


def test_a_space_never_gets_the_cached_file_of_another(space, agent):
    other = spaces.create(HUB, "other")
    files.add_mount(other, HUB, "/hub/")
    stranger = Caller(
        ServedClient(), accounts.create_token(other, HUB, agent=prompts.create_agent(other, HUB, "stranger"))[1]
    )
    files.write(space, HUB, "/hub/a.md", b"ours")
    files.write(other, HUB, "/hub/a.md", b"theirs")
    for _ in range(2):
        assert agent("GET", "files/hub/a.md").json()["content"] == "ours"
        assert stranger("GET", "files/hub/a.md").json()["content"] == "theirs"


def test_a_text_that_waits_to_be_written_is_not_answered_from_the_cache(space, agent, tmp_path):
    """To read it is what tries to write it."""
    on_disk(tmp_path, "AGENTS.md", b"one")
    agent("GET", "files/memories/AGENTS.md")
    File.objects.update(written_revision=None)
    spaces.mark_setup(space)
    agent("GET", "files/memories/AGENTS.md")
    now = Space.objects.get(pk=space.pk).revision
    assert cache.get((space.pk, "/memories/AGENTS.md"), now) is None


def test_a_proposal_that_still_waits_is_a_304(space, forge, agent):
    files.write(space, HUB, "/hub/a.md", b"one")
    mine = space.agents.get(slug="forge")
    sent_sql = proposals.propose(space, mine, kind="write", path="/hub/a.md", content=b"two")
    path = f"proposals/{sent_sql.number}"
    first = same(forge.secret, "GET", path)
    assert first.status_code == 200
    again = same(forge.secret, "GET", path, If_None_Match=f'W/{first["ETag"]}, "x"')
    assert (again.status_code, again["ETag"], again.content) == (304, first["ETag"], b"")
    counter = accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "counter"))[1]
    narrow = accounts.create_token(space, HUB, agent=mine, scopes=["files"])[1]
    for secret, where, refused in (
        (counter, path, (404, "not_found")), (narrow, path, (403, "scope_missing")),
        (forge.secret, f"{path}x", (404, "not_found")), (forge.secret, "proposals/99", (404, "not_found")),
    ):  # fmt: skip
        assert code(same(secret, "GET", where, If_None_Match=first["ETag"])) == refused
    files.write(space, HUB, "/hub/a.md", b"three")  # its diff is another one now
    assert agent("GET", path, If_None_Match=first["ETag"]).status_code == 200
    second = agent("GET", path)
    Proposal.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert agent("GET", path, If_None_Match=second["ETag"]).json()["state"] == "expired"


@pytest.fixture
def sent_sql(monkeypatch):
    """The prepared statements from now on."""
    sent_sql, rows = [], statements.rows
    monkeypatch.setattr(
        statements, "rows", lambda sql, *rest, **more: (sent_sql.append(sql), rows(sql, *rest, **more))[1]
    )
    return sent_sql


def test_ten_files_are_one_statement_and_unchanged_ones_none_but_the_token(space, agent, sent_sql):
    wanted = [f"/hub/{number}.md" for number in range(10)]
    for path in wanted:
        files.write(space, HUB, path, b"text")
    agent("GET", "prompt")
    sent_sql.clear()
    assert agent("POST", "batch", {"paths": wanted[:9]}).status_code == 200
    assert sent_sql == [statement("NULL"), READ_ROWS]
    sent_sql.clear()
    answer = agent("POST", "batch", {"paths": wanted[:9]})
    assert agent("GET", "files/hub/3.md").status_code == 200
    assert sent_sql == [statement("NULL")] * 2
    sent_sql.clear()
    files.write(space, HUB, wanted[0], b"another text")
    sent_sql.clear()
    assert agent("POST", "batch", {"paths": wanted[:9]}).json()["files"][0]["content"] == "another text"
    assert sent_sql == [statement("NULL"), READ_ROWS]
    assert answer.json()["files"][0]["content"] == "text"


def test_files_are_looked_up_one_by_one_before_the_database_has_counted_them(space, uncounted):
    """A young database would else plan every file against every revision: 300 files made a read thirty times slower."""
    for number in range(40):
        files.write(space, HUB, f"/hub/{number}.md", b"text")
    values = {"paths": ["/hub/7.md"], "space": space.pk, "thread": ""}
    plan = "\n".join(row[0] for row in statements.rows(f"EXPLAIN {READ_ROWS}", values))
    looking = plan.partition("unnest")[2]
    assert looking and "Join Filter" not in looking and "Hash" not in looking and "Merge Join" not in looking, plan
    # Not all files of the space, nor the whole history of one.
    assert "using one_file_per_path" in plan and "using one_revision_number" in plan, plan


@pytest.mark.parametrize(("call", "is_short"), [
    ("GET prompt?query=x", True), ("POST prompt", True), ("GET files/hub/a.md", True), ("HEAD files/hub/a.md", True),
    ("GET proposals/7", True), ("GET files/hub/a.md?thread_id=t", False), ("PUT files/hub/a.md", False), ("GET files", False),
    ("GET proposals/7x", False), ("DELETE proposals/7", False), ("GET promptx", False),
    ("GET search?q=x&limit=5", True), ("GET search?q=x&cursor=1", False), ("POST search?q=x", False),
])  # fmt: skip
def test_which_calls_go_past_django(call, is_short):
    """Else the comparisons above would compare Django with itself."""
    method, _, address = call.partition(" ")
    path, _, query = address.partition("?")
    environ = {"REQUEST_METHOD": method, "PATH_INFO": f"/api/v1/{path}", "QUERY_STRING": query}
    assert (wsgi.answer_for(environ) is not None) == is_short


def test_a_bug_is_an_answer_with_the_number_of_the_request(agent, monkeypatch):
    def broken(request, path):
        raise ZeroDivisionError

    monkeypatch.setattr(wsgi.files, "read", broken)
    answer = agent("GET", "files/hub/a.md", X_Request_Id="from-the-proxy")
    assert code(answer) == (500, "error")
    assert "from-the-proxy" in answer.json()["error"]["message"]
