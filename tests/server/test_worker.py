"""The loop of a web worker with an application of its own: what is served, and who has to go when there are too many."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from memoryhub.requests import KNOWN
from memoryhub.server import serve
from memoryhub.server.http import connection, worker
from memoryhub.server.http.loop import Limits
from memoryhub.server.http.turns import Strangers
from memoryhub.server.http.watchdog import Heartbeat
from memoryhub.server.http.worker import Worker
from tests.slow import Address, connect, exchange, head

GET = head("GET / HTTP/1.1")
workers: list[int] = []  # their processes, the newest last
LAST = head("GET / HTTP/1.1", "Connection: close")


def application(environ, start_response):
    """Answers with what it was asked; `/pieces` in pieces, `/slow` after a while, `/broken` not at all, `/large` a lot,
    `/unwritable` with a header that no bytes can stand for."""
    path = environ["PATH_INFO"]
    if environ.get("HTTP_AUTHORIZATION", "").startswith("Bearer good"):
        environ[KNOWN] = True
    body = environ["wsgi.input"].read()
    if path == "/broken":
        raise ZeroDivisionError
    if path == "/slow":
        time.sleep(1.5)
    if path == "/unwritable":
        start_response("200 OK", [("X-Name", "\u7121")])
        return [b""]
    if path == "/pieces":
        start_response("200 OK", [])
        return (b"piece %d\n" % number for number in range(20_000))
    if path == "/broken-off":
        start_response("200 OK", [])
        return (b"x" * 100_000 if number else 1 / 0 for number in (1, 1, 0))
    content = b"a" * 5_000_000 if path == "/large" else b"%s %s %s" % (
        environ["REQUEST_METHOD"].encode(), environ["REMOTE_ADDR"].encode(), body,
    )  # fmt: skip
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [content]


@pytest.fixture
def server(request) -> Iterator[Address]:
    """One worker in a process of its own."""
    limits = getattr(request, "param", Limits())
    listener = serve.bind("127.0.0.1", 0)
    listener.listen(1000)
    parent = os.getpid()
    child = os.fork()
    if not child:
        try:
            strangers = Strangers(10)
            Worker(listener, application, lambda environ: 1 << 20, Heartbeat(), limits=limits, strangers=strangers).run(
                parent
            )
        finally:
            os._exit(0)
    workers.append(child)
    try:
        yield listener.getsockname()
    finally:
        os.kill(child, signal.SIGTERM)
        began = time.monotonic()
        os.waitpid(child, 0)
        listener.close()
        assert time.monotonic() - began < 10


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def test_a_request_gets_the_applications_answer(server):
    assert body_of(exchange(server, LAST)[0]) == b"GET 127.0.0.1 "
    post = head("POST / HTTP/1.1", "Content-Length: 5", "Connection: close")
    assert body_of(exchange(server, post + b"hello")[0]) == b"POST 127.0.0.1 hello"
    answer, _ = exchange(server, head("HEAD / HTTP/1.1", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 200") and body_of(answer) == b""


def test_an_answer_in_pieces_arrives_as_a_whole(server):
    whole = b"".join(b"piece %d\n" % number for number in range(20_000))
    answer, _ = exchange(server, head("GET /pieces HTTP/1.1", "Connection: close"))
    rest, body = body_of(answer), b""
    while size := int(rest.partition(b"\r\n")[0], 16):
        rest = rest.partition(b"\r\n")[2]
        body, rest = body + rest[:size], rest[size + 2 :]
    assert body == whole and rest == b"0\r\n\r\n"
    assert body_of(exchange(server, b"GET /pieces HTTP/1.0\r\n\r\n")[0]) == whole


def test_an_answer_that_breaks_off_is_seen_to(server):
    answer, _ = exchange(server, head("GET /broken-off HTTP/1.1"))
    assert not answer.endswith(b"0\r\n\r\n")
    assert body_of(exchange(server, LAST)[0])


def test_an_application_that_raises_is_a_500(server):
    assert exchange(server, head("GET /broken HTTP/1.1", "Connection: close"))[0].startswith(b"HTTP/1.1 500")


def test_an_answer_that_cannot_be_written_ends_its_connection_alone(server):
    with connect(server, b"") as other:
        assert exchange(server, head("GET /unwritable HTTP/1.1"))[0] == b""
        other.sendall(LAST)
        assert body_of(other.recv(1000)) == b"GET 127.0.0.1 "


def full_disk(*_):
    raise OSError(28, "No space left on device")


def test_a_body_that_finds_no_room_on_disk_ends_its_connection_alone(monkeypatch, request):
    monkeypatch.setattr(connection, "_on_disk", full_disk)
    monkeypatch.setattr(connection, "IN_MEMORY", 1000)
    server = request.getfixturevalue("server")
    with connect(server, b"") as other:
        post = head("POST / HTTP/1.1", "Content-Length: 2000")
        assert exchange(server, post + b"a" * 2000)[0] == b""
        other.sendall(LAST)
        assert body_of(other.recv(1000)) == b"GET 127.0.0.1 "


def test_a_large_answer_arrives_although_it_is_read_slowly(server):
    with connect(server, head("GET /large HTTP/1.1", "Connection: close"), buffer=1 << 16) as one:
        came = 0
        while part := one.recv(1 << 16):
            came += len(part)
            if came < 1_000_000:
                time.sleep(0.05)
    assert came > 5_000_000


@pytest.fixture
def short_deadlines(monkeypatch):
    for name in ("GRACE", "STALLED", "IDLE"):
        monkeypatch.setattr(connection, name, 1.0)
    for name in ("GRACE", "IDLE"):
        monkeypatch.setattr(worker, name, 1.0)
    monkeypatch.setattr(connection, "SLOWEST", 1 << 30)


def test_an_answer_that_nobody_reads_is_given_up(short_deadlines, server):
    with connect(server, head("GET /large HTTP/1.1")) as one:
        time.sleep(4)
        came = 0
        with contextlib.suppress(ConnectionError):
            while part := one.recv(1 << 20):
                came += len(part)
    assert came < 4_000_000


def test_a_connection_that_asks_nothing_is_closed(short_deadlines, server):
    with connect(server, GET) as asked, connect(server, b"") as silent, connect(server, b"GET / HT") as half:
        assert body_of(asked.recv(1000)) == b"GET 127.0.0.1 "
        assert (asked.recv(1000), silent.recv(1000)) == (b"", b"")
        assert half.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_head_has_its_time_from_its_first_byte_on(short_deadlines, server):
    """Line ends before a request are skipped: they are no new beginning."""
    with connect(server, b"\r") as one:
        began, answer = time.monotonic(), b""
        one.settimeout(0.4)
        while time.monotonic() - began < 8 and not answer:
            with contextlib.suppress(TimeoutError):
                one.sendall(b"\n\r")
                answer = one.recv(1000)
        assert answer.startswith(b"HTTP/1.1 408") and time.monotonic() - began < 4


def test_a_head_that_is_too_long_is_431_also_when_it_comes_at_once(server):
    assert exchange(server, head("GET / HTTP/1.1", f"X: {'a' * 70_000}"), seconds=5)[0].startswith(b"HTTP/1.1 431")


def test_a_long_request_is_not_held_against_the_others(short_deadlines, server):
    """While the worker is in one, it reads nothing; what has come meanwhile is in time."""
    post = head("POST / HTTP/1.1", "Content-Length: 10", "Connection: close")
    with connect(server, post + b"hello") as one:
        time.sleep(0.3)
        threading.Thread(target=lambda: exchange(server, head("GET /slow HTTP/1.1", "Connection: close"))).start()
        time.sleep(0.2)
        one.sendall(b"world")
        assert body_of(one.recv(1000)) == b"POST 127.0.0.1 helloworld"


@pytest.mark.parametrize("server", [Limits(answers=1 << 20)], indirect=True)
def test_answers_that_wait_for_slow_readers_lie_on_disk(server):
    many = [socket.create_connection(server, timeout=20) for _ in range(5)]
    for one in many:
        one.sendall(head("GET /large HTTP/1.1", "Connection: close"))
    time.sleep(0.5)
    for one in many:
        data = b""
        while part := one.recv(1 << 20):
            data += part
        assert body_of(data) == b"a" * 5_000_000
        one.close()


@pytest.mark.parametrize("server", [Limits(connections=20)], indirect=True)
def test_above_the_limit_those_go_that_were_silent_for_longest(server):
    """A crowd that keeps its connections open does not keep a newcomer out."""
    crowd = []
    for _ in range(60):
        one = socket.create_connection(server, timeout=5)
        one.sendall(GET)
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
        crowd.append(one)
    assert body_of(exchange(server, LAST, seconds=5)[0]) == b"GET 127.0.0.1 "
    open_still = 0
    for one in crowd:
        with contextlib.suppress(OSError):
            one.sendall(GET)
            open_still += one.recv(1000).startswith(b"HTTP/1.1 200")
        one.close()
    assert 0 < open_still <= 20


@pytest.mark.parametrize("server", [Limits(waiting=3)], indirect=True)
def test_more_requests_than_can_wait_are_503(server):
    slow = [socket.create_connection(server, timeout=30) for _ in range(8)]
    for one in slow:
        one.sendall(head("GET /slow HTTP/1.1", "Connection: close"))
    answers = [one.recv(2000) for one in slow]
    busy = [answer for answer in answers if answer.startswith(b"HTTP/1.1 503")]
    assert busy and all(b"Retry-After: 1" in answer for answer in busy)
    assert any(answer.startswith(b"HTTP/1.1 200") for answer in answers)


def test_what_is_under_way_is_finished_before_the_end(server):
    """Also what has arrived and was not looked at yet: on a connection that was kept, on a new one, and the first half."""
    with contextlib.ExitStack() as closing:
        kept, half, silent = (closing.enter_context(connect(server, GET)) for _ in range(3))
        for one in (kept, half, silent):
            assert one.recv(1000).startswith(b"HTTP/1.1 200")
        half.sendall(GET[:9])
        slow = closing.enter_context(connect(server, head("GET /slow HTTP/1.1")))
        time.sleep(0.5)
        os.kill(workers[-1], signal.SIGTERM)
        new = closing.enter_context(connect(server, GET))
        kept.sendall(GET)
        assert body_of(slow.recv(1000)) == b"GET 127.0.0.1 "
        half.sendall(GET[9:])
        for one in (kept, new, half):
            answer = one.recv(1000)
            assert answer.startswith(b"HTTP/1.1 200") and b"Connection: close" in answer
        assert silent.recv(1000) == b""


def forwarded(address: str, *headers: str, path: str = "/") -> bytes:
    return head(f"GET {path} HTTP/1.1", f"X-Forwarded-For: {address}", "Connection: close", *headers)


def status_of(answer: bytes) -> int:
    return int(answer[9:12])


@pytest.fixture
def behind_proxy(settings):
    settings.BEHIND_TLS = True


@pytest.mark.attack
def test_a_crowd_of_one_address_does_not_keep_others_waiting(behind_proxy, server):
    """Thirty requests of 1.5 seconds wait; another address has its turn after the one that is under way."""
    crowd = [connect(server, forwarded("203.0.113.7", path="/slow")) for _ in range(30)]
    time.sleep(0.3)
    _, seconds = exchange(server, forwarded("203.0.113.8"))
    assert seconds < 8
    for one in crowd:
        one.close()


@pytest.mark.parametrize("server", [Limits(waiting=3)], indirect=True)
def test_who_has_nothing_waiting_gets_a_place_in_a_full_queue(behind_proxy, server):
    crowd = [connect(server, forwarded("203.0.113.7", path="/slow")) for _ in range(8)]
    time.sleep(0.3)
    assert status_of(exchange(server, forwarded("203.0.113.8"))[0]) == 200
    assert [status_of(one.recv(1000)) for one in crowd].count(503) >= 1  # it was full


def test_strangers_of_one_address_are_held_up_and_nobody_else(behind_proxy, server):
    good = "Authorization: Bearer good"
    assert status_of(exchange(server, forwarded("203.0.113.7", good))[0]) == 200
    answers = [exchange(server, forwarded("203.0.113.7"))[0] for _ in range(15)]
    assert [status_of(one) for one in answers].count(200) in (10, 11)
    assert status_of(answers[-1]) == 429 and b"Retry-After: 10" in answers[-1]
    assert status_of(exchange(server, forwarded("203.0.113.7", good))[0]) == 200  # behind the same address
    assert status_of(exchange(server, forwarded("203.0.113.8"))[0]) == 200
    assert status_of(exchange(server, forwarded("203.0.113.7", path="/static/a.css"))[0]) == 200
    assert status_of(exchange(server, forwarded("1.1.1.1, 203.0.113.7"))[0]) == 429  # what the client says of itself
    guesses = [
        status_of(exchange(server, forwarded("203.0.113.7", f"Authorization: Bearer x{n}"))[0]) for n in range(15)
    ]
    assert guesses.count(200) in (10, 11) and guesses[-1] == 429


def test_this_machine_is_no_stranger(server):
    assert {status_of(exchange(server, LAST)[0]) for _ in range(30)} == {200}


@pytest.mark.parametrize("server", [Limits(connections=40)], indirect=True)
def test_an_address_with_more_than_its_share_of_connections_loses_some_first(server):
    """127.0.0.2 opens three times as many as there are places; 127.0.0.1 keeps its one, though it is silent for longest."""
    with connect(server, GET) as one:
        assert one.recv(1000)
        crowd = [socket.create_connection(server, timeout=5, source_address=("127.0.0.2", 0)) for _ in range(120)]
        time.sleep(0.5)
        one.sendall(GET)
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
        for other in crowd:
            other.close()


def test_an_agent_does_not_hold_up_another_on_its_machine(server):
    good = [f"Authorization: Bearer good-{name}" for name in ("busy", "other")]
    for one in good:
        assert b"200" in exchange(server, head("GET / HTTP/1.1", one, "Connection: close"))[0]
    busy = [connect(server, head("GET /slow HTTP/1.1", good[0], "Connection: close")) for _ in range(4)]
    time.sleep(0.5)  # the first one has its turn now
    answer, seconds = exchange(server, head("GET / HTTP/1.1", good[1], "Connection: close"))
    assert b"200" in answer and seconds < 4.5  # four slow ones take six seconds
    os.kill(workers[-1], signal.SIGKILL)  # else it would do the others first
    for one in busy:
        one.close()
