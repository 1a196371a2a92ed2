"""Clients that are slow on purpose, over real sockets, and one that is not."""

from __future__ import annotations

import contextlib
import itertools
import socket
import sys
import time
from collections.abc import Callable, Iterator

Address = tuple[str, int]
BOGUS = "mh_nobody_0123456789abcdef0123456789"


def head(line: str, *headers: str, token: str = "") -> bytes:
    lines = [line, "Host: localhost", *headers, *([f"Authorization: Bearer {token}"] if token else [])]
    return "\r\n".join((*lines, "", "")).encode()


def openings(token: str, large: str) -> dict[str, bytes]:
    """What each kind of slow client sends before it goes quiet or dribbles; `large` is an address with a big answer."""
    call = "POST /api/v1/quarantine HTTP/1.1"
    return {
        "nothing at all": b"",
        "half a head": b"GET /healthz HTTP/1.1\r\nHost: loc",
        "a body, no such token": head(call, "Content-Length: 5000", token=BOGUS),
        "a body, a good token": head(call, "Content-Length: 5000", token=token) + b'{"content": "',
        "chunked, then silence": head("POST /nowhere HTTP/1.1", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n",
        "chunked, a good token": head(call, "Transfer-Encoding: chunked", token=token) + b"5\r\nhello\r\n",
        "a reader that does not read": head(f"GET {large} HTTP/1.1", token=token) * 8,
    }


def connect(address: Address, opening: bytes, *, buffer: int = 4096) -> socket.socket:
    """A connection that takes in little at once, and has sent its opening."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    made.settimeout(5)
    made.connect(address)
    with contextlib.suppress(OSError):
        made.sendall(opening)
    return made


@contextlib.contextmanager
def crowd(address: Address, count: int, token: str, large: str) -> Iterator[Callable[[], None]]:
    """So many slow connections of all kinds; the function that comes out lets each of them send another byte, and opens
    another one where the hub has closed it."""
    kinds = list(openings(token, large).values())
    each = [(opening, connect(address, opening)) for opening in itertools.islice(itertools.cycle(kinds), count)]

    def dribble() -> None:
        for at, (opening, one) in enumerate(each):
            try:
                one.send(b"a")
            except OSError:
                one.close()
                with contextlib.suppress(OSError):
                    each[at] = (opening, connect(address, opening))

    try:
        yield dribble
    finally:
        for _, one in each:
            one.close()


def exchange(address: Address, data: bytes, *, seconds: float = 30) -> tuple[bytes, float]:
    """Everything that comes until the hub closes the connection, and how long that took."""
    began = time.monotonic()
    with socket.create_connection(address, timeout=seconds) as one:
        one.sendall(data)
        parts = []
        while part := one.recv(1 << 16):
            parts.append(part)
    return b"".join(parts), time.monotonic() - began


def main(host: str, port: str, count: str, token: str, large: str) -> None:
    """A crowd in a process of its own, until it is ended: each client sends a byte twice a second."""
    with crowd((host, int(port)), int(count), token, large) as dribble:
        time.sleep(1)  # what they have asked for is answered by then, as far as they take it
        print("ready", flush=True)
        while True:
            time.sleep(0.5)
            dribble()


if __name__ == "__main__":
    main(*sys.argv[1:])
