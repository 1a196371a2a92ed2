"""A small load generator: so many connections, kept alive, each asking again as soon as it was answered."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Told:
    """What came back: how many a second, how long each took, and how many were not as expected."""

    seconds: float = 0.0
    took: list[float] = field(default_factory=list)
    wrong: int = 0
    first_wrong: bytes = b""

    @property
    def rate(self) -> float:
        return len(self.took) / self.seconds

    def percentile(self, share: float) -> float:
        return sorted(self.took)[int(share * (len(self.took) - 1))]


class Line:
    """One connection: it sends, and knows when the answer is whole."""

    def __init__(self, address: tuple[str, int], ask: Callable[[], bytes], status: bytes) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ask, self.status = ask, status
        self.got, self.sent = b"", 0.0

    def send(self) -> None:
        self.got, self.sent = b"", time.perf_counter()
        self.socket.sendall(self.ask())

    def is_whole(self) -> bool:
        came = self.socket.recv(1 << 20)
        if not came:
            raise ConnectionError("the server hung up before its answer was whole")
        self.got += came
        head, end, body = self.got.partition(b"\r\n\r\n")
        if not end:
            return False
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        return len(body) >= length

    def is_wrong(self) -> bool:
        return not self.got.startswith(b"HTTP/1.1 " + self.status)


def run(
    address: tuple[str, int], ask: Callable[[], bytes], *, status: int = 200, lines: int = 16, seconds: float = 2.0
) -> Told:
    """Asks for so long over so many connections."""
    told = Told()
    poll = select.epoll()
    all_lines = [Line(address, ask, str(status).encode()) for _ in range(lines)]
    by_number = {line.socket.fileno(): line for line in all_lines}
    for number, line in by_number.items():
        poll.register(number, select.EPOLLIN)
        line.send()
    start = time.perf_counter()
    while (now := time.perf_counter()) - start < seconds:
        for number, _ in poll.poll(1):
            line = by_number[number]
            if line.is_whole():
                told.took.append(time.perf_counter() - line.sent)
                if line.is_wrong():
                    told.wrong, told.first_wrong = told.wrong + 1, told.first_wrong or line.got[:300]
                line.send()
    told.seconds = now - start
    for line in all_lines:  # what is under way is waited for, or it would fall on the next one
        while not line.is_whole():
            pass
        line.socket.close()
    poll.close()
    return told


def request(path: str, **headers: str) -> bytes:
    said = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{said}\r\n".encode()
