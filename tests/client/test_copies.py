"""Copies on disk: whose they are, what they answer, and when they go. The same for both clients."""

from __future__ import annotations

import asyncio
import socket

import pytest

from memoryhub.client import AsyncMemoryHub, Forbidden, HubUnavailable, MemoryHub, NotFound, Unauthenticated

AGENTS = "/memories/AGENTS.md"
FILE = {"path": AGENTS, "content": "Be brief.\n", "encoding": "utf-8", "sha256": "ab", "revision": 3}


class Waiting:
    """The async client, called like the other one."""

    def __init__(self, hub, loop):
        self.hub, self.loop = hub, loop

    def __getattr__(self, name):
        return lambda *args, **options: self.loop.run_until_complete(getattr(self.hub, name)(*args, **options))


@pytest.fixture(params=["sync", "async"])
def hub(request, server, cache_dir):
    """A client that asks once, so that a hub which is away is noticed at once."""
    options = {"cache_dir": cache_dir, "timeout": 1, "retries": 0}
    if request.param == "sync":
        with MemoryHub(server.url, "mh_secret-token", **options) as hub:
            yield hub
        return
    loop = asyncio.new_event_loop()
    hub = Waiting(AsyncMemoryHub(server.url, "mh_secret-token", **options), loop)
    yield hub
    hub.close()
    loop.close()


def refuses(server, status, code):
    """From now on."""
    server.answers.clear()
    server.json({"error": {"code": code, "message": "No."}}, status)


def answers(server, text):
    server.answers.clear()
    server.raw(text.encode(), ETag=f'"{text}"')


def test_a_prompt_and_a_file_are_kept_while_the_hub_is_away(server, hub):
    answers(server, "the prompt")
    hub.prompt()
    server.answers.clear()
    server.json(FILE)
    hub.read(AGENTS)
    server.close()
    assert (hub.prompt(), hub.prompt().stale) == ("the prompt", True)
    assert (hub.read(AGENTS), hub.read(AGENTS).stale) == ("Be brief.\n", True)


@pytest.mark.parametrize("asked", ["prompt", "read"])
def test_a_token_that_is_refused_gets_no_copy_any_more(server, hub, cache_dir, asked):
    ask = {"prompt": hub.prompt, "read": lambda: hub.read(AGENTS)}
    answers(server, "the prompt")
    hub.prompt()
    server.answers.clear()
    server.json(FILE)
    hub.read(AGENTS)
    refuses(server, 401, "unauthenticated")
    with pytest.raises(Unauthenticated):
        ask[asked]()
    assert [path for path in cache_dir.rglob("*") if path.is_file()] == []
    server.close()
    for call in ask.values():
        with pytest.raises(HubUnavailable):
            call()


@pytest.mark.parametrize(
    ("status", "code", "error"), [(403, "scope_missing", Forbidden), (404, "file_not_found", NotFound)]
)
def test_what_may_not_be_read_any_more_leaves_no_copy_and_takes_no_other_along(server, hub, status, code, error):
    answers(server, "the prompt")
    hub.prompt()
    server.answers.clear()
    server.json(FILE)
    hub.read(AGENTS)
    refuses(server, status, code)
    with pytest.raises(error):
        hub.read(AGENTS)
    server.close()
    with pytest.raises(HubUnavailable):
        hub.read(AGENTS)
    assert hub.prompt() == "the prompt"


def test_what_a_batch_does_not_find_leaves_no_copy_of_a_read(server, hub):
    server.json(FILE)
    hub.read(AGENTS)
    server.answers.clear()
    gone = {"path": AGENTS, "content": None, "encoding": None, "error": "file_not_found"}
    server.json({"files": [gone]})
    assert hub.batch([AGENTS])[0].error == "file_not_found"
    server.close()
    with pytest.raises(HubUnavailable):
        hub.read(AGENTS)


def test_a_prompt_that_is_refused_leaves_no_copy(server, hub):
    answers(server, "the prompt")
    hub.prompt()
    refuses(server, 403, "scope_missing")
    with pytest.raises(Forbidden):
        hub.prompt()
    server.close()
    with pytest.raises(HubUnavailable):
        hub.prompt()


QUESTIONS = [
    {},
    {"system_prompt": "You are terse."},
    {"system_prompt": "You are kind."},
    {"system_prompt": ""},
    {"query": "refunds"},
    {"task": "refunds"},
    {"thread": "refunds"},
    {"dialect": "hub"},
    {"at": "2026-01-01T00:00:00Z"},
    {"query": "refunds", "system_prompt": "You are terse."},
]


def test_each_question_has_a_copy_of_its_own(server, hub):
    for number, question in enumerate(QUESTIONS):
        answers(server, f"prompt {number}")
        assert hub.prompt(**question) == f"prompt {number}"
        assert "If-None-Match" not in server.asked[-1].headers, "it is no question that was asked before"
    server.answers.clear()
    server.json({"text": "with details"})
    hub.prompt_details()
    assert "If-None-Match" not in server.asked[-1].headers
    server.close()
    assert [hub.prompt(**question) for question in QUESTIONS] == [f"prompt {n}" for n in range(len(QUESTIONS))]
    with pytest.raises(HubUnavailable):
        hub.prompt(system_prompt="You are nobody.")


# ---- what is sent once and what is sent again


def breaks_off(handler, asked):
    """It is not known whether what was sent was done."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def is_away(handler, asked):
    handler.send_response(503)
    handler.send_header("Content-Type", "application/json")
    body = b'{"error": {"code": "database_away", "message": "Away."}}'
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


ONCE = {
    "a conditional write": lambda hub: hub.write(AGENTS, "x", if_match="ab"),
    "an edit": lambda hub: hub.edit(AGENTS, "a", "b"),
    "a deletion": lambda hub: hub.delete(AGENTS),
    "a move": lambda hub: hub.move(AGENTS, "/memories/b.md"),
    "a log": lambda hub: hub.log("said"),
    "a wish to promote": lambda hub: hub.promote(content="x", reason="y"),
    "an approval": lambda hub: hub.approve(1, seen="ab"),
    "a rejection": lambda hub: hub.reject(1, note="no"),
    "a withdrawal": lambda hub: hub.withdraw(1),
}
AGAIN = {
    "a write": lambda hub: hub.write(AGENTS, "x"),
    "a read": lambda hub: hub.read(AGENTS),
    "a list": lambda hub: hub.list("/memories/"),
    "a prompt": lambda hub: hub.prompt(system_prompt="x"),
    "a query": lambda hub: hub.retrieve("x"),
}


@pytest.fixture
def patient(server, cache_dir):
    with MemoryHub(server.url, "mh_secret-token", cache_dir=cache_dir, timeout=1, retries=1, patience=3) as hub:
        yield hub


@pytest.mark.parametrize("trouble", [breaks_off, is_away], ids=lambda trouble: trouble.__name__)
@pytest.mark.parametrize(
    ("call", "times"),
    [*((call, 1) for call in ONCE.values()), *((call, 2) for call in AGAIN.values())],
    ids=[*ONCE, *AGAIN],
)
def test_what_must_not_be_done_twice_is_sent_once(server, patient, call, times, trouble):
    server.next(trouble)
    with pytest.raises(HubUnavailable):
        call(patient)
    assert len(server.asked) == times
