"""Whose turn it is, and which strangers have to wait."""

from __future__ import annotations

from memoryhub.requests import KNOWN
from memoryhub.server.http import turns
from memoryhub.server.http.turns import Strangers, Turns


def test_one_client_after_the_other_and_each_in_its_order():
    queue = Turns()
    for client, one in (("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)):
        queue.append(client, one)
    assert len(queue) == 6 and queue.is_waiting("c")
    assert [queue.popleft() for _ in range(6)] == [1, 4, 5, 2, 6, 3]
    assert not queue and not queue.is_waiting("a")


def flood(strangers: Strangers, client: str, count: int, **environ: str) -> int:
    """How many of so many requests are let through."""
    passed = 0
    for _ in range(count):
        if not strangers.refuses(client, environ):
            passed += 1
            strangers.note(client, dict(environ), is_refused=False)
    return passed


def test_the_limit_comes_back_with_time():
    now = [0.0]
    strangers = Strangers(60, clock=lambda: now[0])
    assert flood(strangers, "203.0.113.7", 100) == 60
    now[0] = 10
    assert flood(strangers, "203.0.113.7", 100) == 10
    now[0] = 1000
    assert flood(strangers, "203.0.113.7", 100) == 60


def test_no_limit_and_this_machine():
    assert flood(Strangers(0), "203.0.113.7", 100) == 100
    for own in ("", "127.0.0.1", "::/64"):
        assert flood(Strangers(1), own, 100) == 100, own


def test_a_token_that_ended_is_a_strangers_again():
    strangers = Strangers(5, clock=lambda: 0.0)
    token = {"HTTP_AUTHORIZATION": "Bearer mh_a"}
    strangers.note("203.0.113.7", {**token, KNOWN: True}, is_refused=False)
    flood(strangers, "203.0.113.7", 20, HTTP_AUTHORIZATION="Bearer other")
    assert not strangers.refuses("203.0.113.7", token)
    strangers.note("203.0.113.7", token, is_refused=True)
    assert strangers.refuses("203.0.113.7", token)


def test_what_is_remembered_has_an_end(monkeypatch):
    monkeypatch.setattr(turns, "MAX_KNOWN", 10)
    monkeypatch.setattr(turns, "MAX_ADDRESSES", 10)
    strangers = Strangers(5)
    for number in range(100):
        strangers.note(f"203.0.113.{number}", {}, is_refused=False)
        strangers.note("", {"HTTP_COOKIE": str(number), KNOWN: True}, is_refused=False)
    assert len(strangers._used) == len(strangers._known) == 10


def test_who_is_known_waits_in_a_line_of_its_own():
    strangers = Strangers(0)
    agent, other = ({"HTTP_AUTHORIZATION": f"Bearer mh_{name}"} for name in "ab")
    assert strangers.line_of("127.0.0.1", agent) == "127.0.0.1"  # nobody knows yet whether the token is good
    for one in (agent, other):
        strangers.note("127.0.0.1", {**one, KNOWN: True}, is_refused=False)
    lines = [strangers.line_of("127.0.0.1", one) for one in (agent, other, {}, {"HTTP_COOKIE": "a=b"})]
    assert len(set(lines)) == 3 and lines[2:] == ["127.0.0.1"] * 2
    assert strangers.line_of("203.0.113.7", {"HTTP_AUTHORIZATION": "bearer   mh_a "}) == lines[0]


def test_who_had_the_last_turn_waits_for_who_came_meanwhile():
    queue = Turns()
    for one in (1, 2, 3):
        queue.append("a", one)
    assert queue.popleft() == 1
    queue.append("b", 4)
    assert [queue.popleft() for _ in range(3)] == [4, 2, 3]
