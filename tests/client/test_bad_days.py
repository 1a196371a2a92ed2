"""The Python client on bad days: every one ends in a sentence that says what to do, and never shows the token."""

import asyncio
import logging
import socket
import sys
import time

import pytest

from memoryhub.client import (
    AsyncMemoryHub,
    Forbidden,
    HubError,
    HubRefused,
    HubUnavailable,
    Invalid,
    MemoryHub,
    NotFound,
    RateLimited,
    Unauthenticated,
    wire,
)

FILE = {"path": "/memories/AGENTS.md", "content": "Be brief.\n", "encoding": "utf-8", "sha256": "ab", "revision": 3}


def refusal(code, message="No.", **more):
    return {"error": {"code": code, "message": message, **more}}


def closes_in_the_middle(handler, asked):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"items": [')
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def half_json_without_length(handler, asked):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(b'{"items": [')
    handler.close_connection = True


def sleeps(seconds):
    def answer(handler, asked):
        time.sleep(seconds)
        handler.close_connection = True

    return answer


def drips(handler, asked):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    try:
        for _ in range(40):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.1)
    except OSError:
        pass
    handler.close_connection = True


@pytest.mark.parametrize("code", ["unauthenticated", "token_revoked", "token_expired"])
def test_wrong_revoked_and_expired_tokens(server, hub, code):
    server.json(refusal(code), 401)
    with pytest.raises(Unauthenticated, match="Make a new one on the agent's Connect page"):
        hub.working()
    assert len(server.asked) == 1


def test_a_revoked_token_also_loses_its_copies(server, hub):
    server.json(FILE, ETag='"ab"').json(refusal("unauthenticated"), 401)
    hub.read("/memories/AGENTS.md")
    with pytest.raises(Unauthenticated):
        hub.read("/memories/AGENTS.md")
    server.close()
    with pytest.raises(HubUnavailable):
        hub.read("/memories/AGENTS.md")


def test_wrong_space(server, hub):
    server.json(refusal("not_found", "There is no such file in this space."), 404)
    with pytest.raises(NotFound, match="no such file in this space"):
        hub.read("/other/AGENTS.md")


def test_missing_scope(server, hub):
    server.json(refusal("people_only", "Only people decide."), 403)
    with pytest.raises(Forbidden) as refused:
        hub.approve(1, seen="x")
    assert (refused.value.code, refused.value.status) == ("people_only", 403)


def test_details_of_a_refusal_are_kept(server, hub):
    server.json(refusal("secret_found", "There is a key in the text.", kind="aws_key", line=3), 422)
    with pytest.raises(Invalid) as refused:
        hub.write("/memories/AGENTS.md", "key")
    assert refused.value.details == {"kind": "aws_key", "line": 3}


def test_hub_restarted_between_two_calls(server, hub):
    """The kept connection is dead; the read is simply sent again."""
    server.json({"items": []})
    hub.working()

    def drop(handler, asked):
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True

    server.answers.clear()
    server.next(drop).json({"items": [{"id": 1}]})
    assert hub.working() == [{"id": 1}]


def test_trouble_passes(server, hub):
    server.json(refusal("unavailable"), 503, Retry_After="0").json({"items": []})
    assert hub.working() == []
    assert len(server.asked) == 2


def test_a_write_that_may_have_arrived_is_not_sent_twice(server, hub):
    server.next(closes_in_the_middle)
    with pytest.raises(HubUnavailable, match="broke in the middle"):
        hub.edit("/memories/AGENTS.md", "a", "b")
    with pytest.raises(HubUnavailable):
        hub.write("/memories/AGENTS.md", "a", if_match="ab")
    assert len(server.asked) == 2


def test_a_put_may_be_sent_twice(server, hub):
    server.next(closes_in_the_middle).json({"status": "applied", "revision": 2})
    assert hub.write("/memories/AGENTS.md", "a").applied
    assert len(server.asked) == 2


def test_slow_hub(server, hub):
    server.next(sleeps(3))
    start = time.monotonic()
    with pytest.raises(HubUnavailable, match="did not answer within 1 seconds"):
        hub.edit("/memories/AGENTS.md", "a", "b")
    assert time.monotonic() - start < 2.5


def test_an_answer_that_drips_in_for_ever(server, cache_dir):
    server.next(drips)
    with MemoryHub(server.url, "mh_x", cache_dir=cache_dir, timeout=0.5, retries=0) as hub:
        start = time.monotonic()
        with pytest.raises(HubUnavailable, match="did not answer"):
            hub.working()
        assert time.monotonic() - start < 2


def text_without_a_kind(handler, asked):
    handler.send_response(200)
    handler.send_header("Content-Length", "2")
    handler.end_headers()
    handler.wfile.write(b"ok")


@pytest.mark.parametrize("bad", [closes_in_the_middle, half_json_without_length, text_without_a_kind])
def test_half_an_answer(server, hub, bad):
    server.next(bad).json({"items": []})
    assert hub.working() == []
    server.answers.clear()
    server.next(bad)
    with pytest.raises(HubUnavailable, match="Try again"):
        hub.working()


@pytest.mark.parametrize("status", [200, 403, 502])
def test_a_web_page_of_a_proxy(server, hub, status):
    server.raw(b"<html>Sign in</html>", status, "text/html; charset=utf-8")
    with pytest.raises(HubUnavailable, match=r"web page.*MEMORYHUB_URL") as refused:
        hub.read("/memories/AGENTS.md")
    assert refused.value.code == "not_a_hub"


def test_a_web_page_does_not_become_the_prompt(server, hub):
    server.raw(b"The prompt.", ETag='"1"').raw(b"<html></html>", 200, "text/html")
    hub.prompt()
    prompt = hub.prompt()
    assert (prompt, prompt.stale) == ("The prompt.", True)


def test_a_redirect_is_not_followed(server, hub):
    server.raw(b"", 302, Location="http://elsewhere.example/api?secret=1")
    with pytest.raises(HubRefused, match=r"redirect to http://elsewhere\.example/api\.") as refused:
        hub.working()
    assert refused.value.code == "redirected"
    assert len(server.asked) == 1


def test_too_many_requests_with_a_time(server, hub):
    server.json(refusal("too_many_requests"), 429, Retry_After="1").json({"items": []})
    start = time.monotonic()
    assert hub.working() == []
    assert time.monotonic() - start >= 1


def test_too_many_requests_for_longer_than_the_client_waits(server, hub):
    assert wire.retry_after({"retry-after": "\xb2"}) is None, "a digit that is no number"
    server.json(refusal("too_many_requests"), 429, Retry_After="600")
    with pytest.raises(RateLimited, match="in 600 seconds") as limited:
        hub.edit("/memories/AGENTS.md", "a", "b")
    assert limited.value.retry_after == 600
    assert len(server.asked) == 1


def test_a_hub_that_was_away_a_moment_ago_is_asked_once(server, hub, monkeypatch):
    paused: list[float] = []
    monkeypatch.setattr(hub, "_sleep", paused.append)
    monkeypatch.setattr(wire.random, "uniform", lambda low, high: high)
    server.json(refusal("disk_error", "Free some space, then try again."), 503)
    with pytest.raises(HubUnavailable, match=r"\(503\): Free some space, then try again\.$"):
        hub.working()
    assert paused == [wire.FIRST_PAUSE * times for times in (1, 2, 4)]
    tries = len(server.asked)
    with pytest.raises(HubUnavailable):
        hub.working()
    assert (tries, len(server.asked)) == (4, 5)


def test_nobody_there(cache_dir):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for place in (f"127.0.0.1:{port}", f"[::1]:{port}"):
        hub = MemoryHub(f"http://me:secret@{place}/", "mh_x", cache_dir=cache_dir, retries=1)
        with hub, pytest.raises(HubUnavailable, match=r"memoryhub up.*MEMORYHUB_URL") as away:
            hub.working()
        assert away.value.message.startswith(f"http://{place} cannot be reached.")


def test_tls_that_fails_is_not_told_as_a_hub_that_is_away(server, cache_dir):
    hub = MemoryHub(server.url.replace("http:", "https:"), "mh_x", cache_dir=cache_dir, retries=0)
    with hub, pytest.raises(HubUnavailable, match=r"^TLS with https://\S+ failed: \[SSL.*SSL_CERT_FILE"):
        hub.working()


@pytest.mark.parametrize(("name", "value", "why"), [
    ("SSL_CERT_FILE", "/no/such/file", "SSL_CERT_FILE.*No such file"), ("ALL_PROXY", "socks5://127.0.0.1:1080", "proxy.*socksio"),
])  # fmt: skip
def test_an_environment_that_cannot_be_used_is_refused_in_a_sentence(cache_dir, monkeypatch, name, value, why):
    monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "socksio", None)  # as where it is not installed
    with pytest.raises(ValueError, match=why):
        MemoryHub("http://192.0.2.1", "mh_x", cache_dir=cache_dir)


def test_hub_away_gives_last_good_copies(server, hub):
    server.json(FILE, ETag='"ab"').json(
        {"files": [{**FILE, "error": None}, {"path": "/memories/x.md", "error": "file_not_found"}]}
    ).raw(b"The prompt.", ETag='"1"')
    hub.read("/memories/AGENTS.md")
    hub.batch(["/memories/AGENTS.md", "/memories/x.md"])
    hub.prompt()
    server.close()
    text = hub.read("/memories/AGENTS.md")
    assert (text, text.stale) == ("Be brief.\n", True)
    files = hub.batch(["/memories/new.md", "/memories/AGENTS.md"])
    assert [file.error for file in files] == ["file_not_found", None]
    assert files[1].content == "Be brief.\n"
    assert hub.prompt().stale
    with pytest.raises(HubUnavailable, match="cannot be reached"):
        hub.write("/memories/AGENTS.md", "x")


def test_a_file_deleted_on_the_hub_leaves_no_copy(server, hub):
    server.json({"files": [{**FILE, "error": None}]}).json(
        {"files": [{"path": FILE["path"], "error": "file_not_found"}]}
    )
    hub.batch([FILE["path"]])
    hub.batch([FILE["path"]])
    server.close()
    assert hub.batch([FILE["path"]])[0].error == "file_not_found"


def test_a_file_that_a_read_finds_gone_leaves_no_copy_either(server, hub):
    server.json({"files": [{**FILE, "error": None}]}).json(refusal("file_not_found"), 404)
    hub.batch([FILE["path"]])
    with pytest.raises(NotFound):
        hub.read(FILE["path"])
    server.close()
    with pytest.raises(HubUnavailable):
        hub.read(FILE["path"])


def test_files_that_are_too_large_together_are_asked_for_in_halves(server, hub):
    def answer(handler, asked):
        paths = asked.json()["paths"]
        files = [{"path": path, "content": path, "encoding": "utf-8", "error": None} for path in paths]
        refusal = {"error": {"code": "too_many_bytes", "message": "Ask for fewer at once."}}
        server.json(*((refusal, 422) if len(paths) > 2 else ({"files": files}, 200)))
        server.answers.pop()(handler, asked)

    server.next(answer)
    paths = [f"/memories/{number}.md" for number in range(5)]
    assert [file.content for file in hub.batch(paths)] == paths
    assert [len(asked.json()["paths"]) for asked in server.asked] == [5, 2, 3, 1, 2]


def test_the_newer_of_a_read_and_a_batch_is_the_last_good_copy(server, hub):
    server.json({"files": [{**FILE, "error": None}]}).json({**FILE, "content": "Newer.\n"}, ETag='"cd"')
    hub.batch([FILE["path"]])
    hub.read(FILE["path"])
    server.close()
    assert hub.batch([FILE["path"]])[0].content == hub.read(FILE["path"]) == "Newer.\n"


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x", "", "http://"])
def test_a_wrong_address_is_named(url):
    with pytest.raises(ValueError, match="must look like"):
        MemoryHub(url, "mh_x")


@pytest.mark.parametrize("token", ["", "mh_a b", "mh_x\n"])
def test_a_damaged_token_is_named_without_showing_it(token):
    with pytest.raises(ValueError, match="Copy it again"):
        MemoryHub("http://127.0.0.1:1", token)


def test_the_token_is_never_shown(server, hub, caplog):
    caplog.set_level(logging.DEBUG)
    server.json(refusal("unauthenticated"), 401)
    with pytest.raises(HubError) as refused:
        hub.working()
    server.close()
    with pytest.raises(HubError) as away:
        hub.working()
    shown = caplog.text + repr(hub) + repr(hub.settings) + repr(refused.value.__dict__) + repr(away.value.__dict__)
    assert "secret-token" not in shown


def test_the_async_client_has_the_same_bad_days(server, cache_dir):
    server.next(closes_in_the_middle).raw(b"<html></html>", 200, "text/html")

    async def story():
        async with AsyncMemoryHub(server.url, "mh_x", cache_dir=cache_dir, timeout=1, patience=1) as hub:
            with pytest.raises(HubUnavailable, match="web page"):
                await hub.working()
            server.answers[:] = [sleeps(3)]
            with pytest.raises(HubUnavailable, match="did not answer"):
                await hub.edit("/a.md", "a", "b")

    asyncio.run(story())


def test_the_async_client_gives_last_good_copies_too(server, cache_dir):
    server.json(FILE, ETag='"ab"').json({"files": [{**FILE, "path": "/memories/b.md", "error": None}]})

    async def story():
        async with AsyncMemoryHub(server.url, "mh_x", cache_dir=cache_dir, retries=0) as hub:
            await hub.read(FILE["path"])
            await hub.batch(["/memories/b.md"])
            server.close()
            text = await hub.read(FILE["path"])
            return text, await hub.batch(["/memories/b.md", "/memories/c.md"])

    text, files = asyncio.run(story())
    assert (text, text.stale) == ("Be brief.\n", True)
    assert [(file.error, file.stale) for file in files] == [(None, True), ("file_not_found", True)]
