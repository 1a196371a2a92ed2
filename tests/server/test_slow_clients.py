"""Clients that send or read slowly, or nothing at all, hold up nobody else: over sockets, at a hub of its own processes."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx
import pytest

from tests.running import Hub, command, copied, running_in
from tests.slow import BOGUS, Address, crowd, exchange, head

CALL = "POST /api/v1/quarantine HTTP/1.1"
LOG = {"session_id": "s", "node_id": "n", "node_kind": "agent"}


@pytest.fixture(scope="module")
def served(started_once) -> Iterator[Hub]:
    with copied(started_once) as data_dir, running_in(data_dir) as hub:
        yield hub


@pytest.fixture(scope="module")
def token(served: Hub) -> str:
    done = command("agent", "add", "scout", "--json", "--data-dir", str(served.data_dir))
    return json.loads(done.stdout)["token"]


@pytest.fixture(scope="module")
def address(served: Hub) -> Address:
    host, _, port = served.url.removeprefix("http://").rpartition(":")
    return host, int(port)


@pytest.fixture(scope="module", autouse=True)
def late(address: Address, token: str) -> Iterator[dict[str, Future[tuple[bytes, float]]]]:
    """What clients hear that stop within a head and within a body: ten seconds later, so they begin before all other tests."""
    opened = {
        "head": b"GET /healthz HTTP/1.1\r\nHost:",
        "body": head(CALL, "Content-Length: 5000", token=token) + b'{"content"',
    }
    with ThreadPoolExecutor(len(opened)) as pool:
        yield {name: pool.submit(exchange, address, data) for name, data in opened.items()}


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.attack
def test_twenty_slow_clients_of_every_kind_beside_one_that_asks(served, address, token):
    with crowd(address, 20, token, "/api/v1/openapi.json") as dribble:
        for _ in range(15):
            dribble()
            assert httpx.get(f"{served.url}/healthz", timeout=2).status_code == 200
            assert (
                httpx.get(
                    f"{served.url}/api/v1/me", headers={"Authorization": f"Bearer {token}"}, timeout=2
                ).status_code
                == 200
            )


@pytest.mark.parametrize(("request_head", "expected"), [
    (head(CALL, "Content-Length: 5000", token=BOGUS), 401),
    (head(CALL, "Content-Length: 7000000", token=BOGUS), 401),
    (head(CALL, "Transfer-Encoding: chunked", token=BOGUS), 401),
    (head(CALL, "Content-Length: 5000"), 401),
    (head("POST /api/v1/nowhere HTTP/1.1", "Content-Length: 5000"), 404),
    (head("POST /nowhere HTTP/1.1", "Transfer-Encoding: chunked"), 404),
    (head("PUT /s/main/ HTTP/1.1", "Content-Length: 30000000"), 403),
    (head(CALL, "Content-Length: 5000", "Expect: 100-continue", token=BOGUS), 401),
])  # fmt: skip
def test_strangers_and_unknown_addresses_are_answered_before_their_body_has_come(address, request_head, expected):
    answer, took = exchange(address, request_head)
    assert (status(answer), took < 5) == (expected, True), answer[:300]
    assert b"Connection: close" in answer


def test_a_body_that_is_too_large_is_413_without_being_read(address, token):
    answer, took = exchange(address, head(CALL, "Content-Length: 9000000", token=token))
    assert (status(answer), took < 5) == (413, True)
    body = b"%x\r\n%b\r\n" % (1 << 20, b"a" * (1 << 20))
    answer, _ = exchange(address, head(CALL, "Transfer-Encoding: chunked", token=token) + body * 8 + b"1\r\na\r\n")
    assert status(answer) == 413
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_large"


def test_a_large_body_in_chunks_arrives_as_a_whole(served, token):
    text = json.dumps(LOG | {"content": "The refund of invoice 20931 left on the 13th by card. " * 4000}).encode()
    pieces = (text[at : at + 5000] for at in range(0, len(text), 5000))
    answer = httpx.post(
        f"{served.url}/api/v1/quarantine", content=pieces,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )  # fmt: skip
    assert answer.status_code == 201, answer.text


def test_expect_100_continue_is_met_for_who_is_known(address, token):
    body = json.dumps(LOG | {"content": "The refund of invoice 20931 left on the 13th."}).encode()
    with socket.create_connection(address, timeout=10) as one:
        one.sendall(
            head(CALL, f"Content-Length: {len(body)}", "Expect: 100-continue", "Connection: close", token=token)
        )
        assert one.recv(1000).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        one.sendall(body)
        assert status(one.recv(1000)) == 201


def test_requests_that_come_at_once_are_answered_in_their_order(address, token):
    call = head("GET /api/v1/me HTTP/1.1", token=token)
    answer, _ = exchange(address, call + head("HEAD /api/v1/me HTTP/1.1", token=token) + call
                         + head("GET /api/v1/nowhere HTTP/1.1", "Connection: close", token=token))  # fmt: skip
    assert [int(found) for found in re.findall(rb"HTTP/1\.1 (\d+) ", answer)] == [200, 200, 200, 404]
    assert answer.count(b'"agent"') == 2, answer


def test_a_client_that_has_ended_its_side_still_gets_its_answer(address):
    with socket.create_connection(address, timeout=10) as one:
        one.sendall(head("GET /healthz HTTP/1.1"))
        one.shutdown(socket.SHUT_WR)
        assert status(one.recv(5000)) == 200


def test_what_is_no_request_is_refused(address):
    for data, expected in (
        (b"GET / HTTP/1.1\r\n\r\n", 400), (b"hello\r\n\r\n", 400), (b"GET /" + b"a" * 70_000, 431),
        (head(CALL, "Content-Length: 3", "Transfer-Encoding: chunked"), 400),
    ):  # fmt: skip
        answer, _ = exchange(address, data)
        assert status(answer) == expected
    for line in ("Cookie: a=\x01", "no header", f"X: {'a' * 70_000}", "Content-Length: +1"):
        answer, _ = exchange(address, head(CALL, line))
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "bad_request", line
    assert status(exchange(address, b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")[0]) == 200


def test_a_body_that_does_not_arrive_in_time_is_408(late):
    answer, took = late["body"].result()
    assert status(answer) == 408
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "request_timeout"
    assert took < 20


def test_a_head_that_does_not_arrive_in_time_is_408(late):
    answer, took = late["head"].result()
    assert (status(answer), took < 20) == (408, True)
