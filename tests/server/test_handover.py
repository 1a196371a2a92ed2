"""Several web workers with an application of the test's own: one slow request holds up nobody but who asked for it.

What the application does next the test says, through pipes; so no test depends on how quick the machine is.
"""

from __future__ import annotations

import os
import re
import select
import selectors
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from memoryhub.server import serve
from memoryhub.server.http import handover, watchdog
from memoryhub.server.http.loop import Limits
from memoryhub.server.http.sharing import Sharing
from memoryhub.server.http.watchdog import Heartbeat
from tests.cluster import soon
from tests.slow import Address, connect, head

PAGE, EXPORT, CALL = head("GET /s/main/ HTTP/1.1"), head("GET /export HTTP/1.1"), head("GET /api/v1/prompt HTTP/1.1")
POST = head("POST /api/v1/quarantine HTTP/1.1", "Content-Length: 5") + b"hello"
SHORT_PAGE = head("GET /s/main/short/ HTTP/1.1")
NUMBER = re.compile(rb"(\d+) (GET|POST) ")
SECONDS = 20  # against hanging
PIECES = 40  # of an export


class Gate:
    """Where a request waits until the test lets it go on."""

    def __init__(self) -> None:
        (self.arrivals, self.arrive), (self.wait, self.release) = os.pipe(), os.pipe()

    def pass_through(self) -> None:
        os.write(self.arrive, b".")
        os.read(self.wait, 1)

    def until_somebody_waits(self) -> None:
        assert select.select([self.arrivals], [], [], SECONDS)[0], "no request came to the gate"
        os.read(self.arrivals, 1)

    def open(self) -> None:
        os.write(self.release, b".")


class Served:
    """Workers in processes of their own, with the gate of their pages."""

    def __init__(self, place: Path, count: int = 2) -> None:
        self.gate = Gate()
        self.listener = serve.bind("127.0.0.1", 0)
        self.listener.listen(100)
        self.address: Address = self.listener.getsockname()
        self.pid = os.fork()
        if not self.pid:
            try:
                serve.Workers(self.listener, self.application, lambda _: 1 << 20, place, 30).run(count)
            finally:
                os._exit(0)

    def application(self, environ, start_response):
        """Answers with its process, the method and the body; one page and the pieces of exports wait at the gate."""
        path, body = environ["PATH_INFO"], environ["wsgi.input"].read()
        said = b"%d %s %s\n" % (os.getpid(), environ["REQUEST_METHOD"].encode(), body)
        if path == "/export":
            start_response("200 OK", [])
            return self.pieces(said)
        if path == "/s/main/":
            self.gate.pass_through()
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [said]

    def pieces(self, said: bytes) -> Iterator[bytes]:
        for _ in range(PIECES):
            self.gate.pass_through()
            yield said + b"x" * 70_000  # so that each is a turn of its own

    def workers(self) -> list[int]:
        return [child.pid for child in psutil.Process(self.pid).children()]

    def stop(self) -> None:
        for _ in range(20):  # whoever still waits at the gate
            self.gate.open()
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        self.listener.close()


@pytest.fixture
def served(tmp_path) -> Iterator[Served]:
    made = Served(tmp_path)
    assert soon(lambda: len(made.workers()) == 2)
    try:
        yield made
    finally:
        made.stop()


def ask(one: socket.socket, request: bytes = CALL) -> int:
    """Which process answers this connection."""
    one.settimeout(SECONDS)
    one.sendall(request)
    return answered(one)


def answered(one: socket.socket) -> int:
    one.settimeout(SECONDS)
    answer = b""
    while b"\n" not in answer.partition(b"\r\n\r\n")[2]:
        part = one.recv(1 << 16)
        assert part, f"the connection ended: {answer[:200]!r}"
        answer += part
    assert answer.startswith(b"HTTP/1.1 200"), answer[:300]
    return int(NUMBER.search(answer)[1])


def agents_at_both(served: Served) -> dict[socket.socket, int]:
    """Connections that have been answered, with who did: each worker has some. While nobody asks for a page, both answer
    agents."""
    by: dict[socket.socket, int] = {}

    def another() -> bool:
        one = connect(served.address, b"")
        by[one] = ask(one)
        return len(by) > 5 and len(set(by.values())) == 2

    assert soon(another)
    return by


def test_a_page_under_way_holds_up_no_agent(served):
    """Neither one that has a connection already, to whichever worker, nor one that comes now."""
    by = agents_at_both(served)
    agents, first = [*by], set(by.values())
    person = connect(served.address, PAGE)
    served.gate.until_somebody_waits()
    agents.append(connect(served.address, b""))
    during = {ask(one) for one in agents for _ in range(2)}
    assert len(during) == 1 and len({ask(one, POST) for one in agents}) == 1
    served.gate.open()
    assert {answered(person)} == first - during
    for one in (*agents, person):
        one.close()


def test_an_export_in_flight_holds_up_neither_agents_nor_pages(served):
    with (
        closing(connect(served.address, EXPORT, buffer=1 << 20)) as reader,
        closing(connect(served.address, b"")) as agent,
    ):
        served.gate.until_somebody_waits()  # the first piece
        ask(agent)
        person = connect(served.address, SHORT_PAGE)
        for _ in range(PIECES - 2):  # the page has its turn before the last piece, however late its request is read
            served.gate.open()
            served.gate.until_somebody_waits()
            if select.select([person], [], [], 0.05)[0]:
                break
        answered(person)
        ask(agent)
        served.gate.open()
        assert answered(reader)
        person.close()


def test_a_request_that_waits_behind_a_page_goes_to_the_other_worker(served):
    """All agents and the page came to one worker; when it begins with the page, the others' requests are not behind it."""
    agents = [*agents_at_both(served)]
    threads = [threading.Thread(target=one.sendall, args=(PAGE if at == 0 else CALL,)) for at, one in enumerate(agents)]
    for thread in threads:
        thread.start()
    served.gate.until_somebody_waits()
    assert len({answered(one) for one in agents[1:]}) >= 1
    served.gate.open()
    answered(agents[0])
    for one in agents:
        one.close()


def test_while_pages_are_held_up_a_spare_worker_answers_others(served):
    with closing(connect(served.address, PAGE)) as first:
        served.gate.until_somebody_waits()
        second = connect(served.address, PAGE)
        served.gate.until_somebody_waits()  # the first one still waits
        third = connect(served.address, b"")
        ask(third)
        served.gate.open()
        served.gate.open()
        assert answered(first) != answered(second)
        for one in (second, third):
            one.close()


def test_a_stopped_worker_is_ended_with_its_connections_and_replaced(served):
    by = agents_at_both(served)
    (stopped, *_) = before = served.workers()
    os.kill(stopped, signal.SIGSTOP)
    held = next(one for one in by if by[one] == stopped)
    held.settimeout(5)
    held.sendall(CALL)
    with suppress(ConnectionResetError):
        assert held.recv(1000) == b""
    assert soon(lambda: len(served.workers()) == 2 and stopped not in served.workers())
    assert len(set(before) & set(served.workers())) == 1
    for one, worker in by.items():
        if worker != stopped:
            ask(one)
        one.close()


def test_a_worker_that_waits_or_is_gone_is_not_taken_for_a_stopped_one(served):
    assert not any(watchdog.is_stopped(worker) for worker in served.workers())
    assert not watchdog.is_stopped(2**22 + 1)


@pytest.mark.parametrize(("path", "is_slow"), [
    ("/api/v1/prompt", False), ("/api/v1/files/memories/a.md", False), ("/api/v1/proposals/7", False), ("/healthz", False),
    ("/static/hub.css", False), ("/api/v1/quarantine", False), ("/", True), ("/s/main/activity/export.csv", True),
    ("/api/v1/grep", True), ("/api/v1/search", True), ("/api/v1/proposals/7/approve", True), ("/api/v1/promptly", True),
    ("/healthz/", True), ("/metrics", True),
])  # fmt: skip
def test_what_agents_call_all_the_time_is_quick_and_all_else_is_not(path, is_slow):
    assert handover.is_slow({"PATH_INFO": path, "QUERY_STRING": ""}) == is_slow


def test_a_large_body_and_a_prompt_of_the_past_may_take_long():
    put = {"PATH_INFO": "/api/v1/files/memories/a.md", "QUERY_STRING": ""}
    assert handover.is_slow({**put, "CONTENT_LENGTH": "900000"}) and not handover.is_slow(
        {**put, "CONTENT_LENGTH": "9"}
    )
    assert handover.is_slow({"PATH_INFO": "/api/v1/prompt", "QUERY_STRING": "at=2026-01-01"})


@pytest.mark.parametrize(("path", "query", "is_slow"), [
    ("/api/v1/retrieve", "query=a", True), ("/api/v1/prompt", "task=a&query=b", True), ("/api/v1/prompt", "task=a", False),
    ("/api/v1/files/a.md", "query=b", False),
])  # fmt: skip
def test_a_query_may_take_long_where_the_embedder_is_another_server(path, query, is_slow):
    environ = {"PATH_INFO": path, "QUERY_STRING": query}
    assert handover.is_slow(environ, asks_elsewhere=True) == is_slow and not handover.is_slow(environ)


def test_a_connection_in_the_inbox_outlives_the_worker_that_put_it_there():
    inbox = handover.Inbox()
    ours, theirs = socket.socketpair()
    with ours:
        if not (child := os.fork()):
            inbox.put(theirs, b"GET /", is_known=True)
            os._exit(0)
        os.waitpid(child, 0)
        theirs.close()
        taken, came, is_known = inbox.take()
        with taken:
            assert (came, is_known) == (b"GET /", True)
            taken.sendall(b"hello")
            assert ours.recv(10) == b"hello"
    assert inbox.take() is None


def test_a_full_inbox_refuses_and_loses_nothing():
    inbox, (ours, theirs) = handover.Inbox(), socket.socketpair()
    with ours, theirs:
        put = 0
        while put < 100_000 and inbox.put(theirs, b"x" * 1000, is_known=False):
            put += 1
        assert 0 < put < 100_000
        taken = 0
        while one := inbox.take():
            one[0].close()
            taken += 1
        assert taken == put and not inbox.put(theirs, b"x" * handover.MAX_MESSAGE, is_known=False)


class Stopping(Sharing):
    """A worker that notes of each request whether it might still hand it over."""

    might = ()

    def _read_head(self, connection):
        self.might = (*self.might, not self.stopping_at)

    def _on_readable(self, connection):
        connection.receive()


def test_a_worker_that_stops_hands_over_nothing_that_it_takes():
    place = handover.Place(Heartbeat(), False, handover.Inbox(), handover.Inbox())
    ours, theirs = socket.socketpair()
    with ours, theirs, closing(serve.bind("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        loop = Stopping(listener, place.heartbeat, place, Limits())
        loop.selector.register(listener, selectors.EVENT_READ)
        loop.takes_agents = True
        for _ in range(3):
            assert place.agents.put(theirs, CALL, is_known=True)
        loop._begin_to_stop()
        assert loop.might == (False, False, False)
        for connection in list(loop.connections.values()):
            loop._close(connection)


def test_half_of_the_workers_are_for_pages():
    def kinds(count: int) -> list[bool]:
        return [place.for_pages for place in handover.places([Heartbeat() for _ in range(count)])]

    assert [kinds(count) for count in (1, 2, 3, 4)] == [
        [False], [False, True], [False, False, True], [False, False, True, True],
    ]  # fmt: skip
