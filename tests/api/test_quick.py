"""The quick way to read files answers like the long one, or not at all."""

from __future__ import annotations

import io
import json

import pytest

from memoryhub.api import quick
from memoryhub.domain import agents, files, mounts, people, proposals, spaces, tokens
from memoryhub.domain.access import HUB, Actor
from memoryhub.models import Token

pytestmark = pytest.mark.django_db
FILE = "/api/v1/files/memories/AGENTS.md"


@pytest.fixture
def space(tmp_path):
    space = spaces.create(HUB, "ledger")
    mounts.add(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path))
    mounts.add(space, HUB, "/hub/")
    mounts.add(space, HUB, "/scratch/", store="thread")
    return space


@pytest.fixture
def secret(space):
    return tokens.create(space, HUB, agent=agents.create(space, HUB, "forge"))[1]


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
    rk = people.create(HUB, "rk")
    spaces.add_member(space, HUB, rk, "viewer")
    person = tokens.create(space, Actor.of_person(rk, "viewer"), person=rk)[1]
    narrow = tokens.create(space, HUB, agent=agents.create(space, HUB, "narrow"), scopes=["prompt"])[1]
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
    for body in (b"{", b"[]", b'{"paths": []}', b'{"paths": [1]}', b'{"paths": ["/hub/a.md"], "thread_id": "t"}', b""):
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
    counter = tokens.create(space, HUB, agent=agents.create(space, HUB, "counter"))[1]
    narrow = tokens.create(space, HUB, agent=forge, scopes=["files"])[1]
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
