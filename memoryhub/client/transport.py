"""Connections to one hub, kept from call to call: what both clients send through, one waiting in its thread, one in asyncio."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import socket
import ssl
import time
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

import certifi

from .http1 import (
    Encrypted,
    Failed,
    NotSent,
    Pipe,
    Plain,
    Reader,
    Received,
    Request,
    Steps,
    TooSlow,
    exchange,
    header_lines,
)

R = TypeVar("R")
CONNECT_SECONDS = 5.0
MAX_IDLE, IDLE_SECONDS = 20, 5.0  # connections that wait for the next call: what stands in between may forget them
PORTS = {"http": 80, "https": 443}


class Peer(NamedTuple):
    """The hub, or a proxy on the way to it."""

    scheme: str
    host: str
    port: int
    name: str  # as a Host header has it: with the port where it is another than usual
    login: str  # user and password of its address, as HTTP has them

    @classmethod
    def of(cls, url: str) -> Peer:
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError(f"A proxy's address must begin with http:// or https://, not with {parts.scheme}://.")
        host, port = plain_host(parts.hostname), parts.port or PORTS[parts.scheme]
        shown = f"[{host}]" if ":" in host else host
        return cls(
            parts.scheme, host, port, shown if port == PORTS[parts.scheme] else f"{shown}:{port}", login_of(parts)
        )

    @property
    def is_encrypted(self) -> bool:
        return self.scheme == "https"


def plain_host(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise ValueError(f"{host!r} is no name of a host.") from None


def login_of(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(both.encode()).decode()}"


class Connection:
    """An open socket, and what is sent through it."""

    def __init__(self, sock: socket.socket):
        self.sock, self.pipe, self.until = sock, Plain(), 0.0  # type: tuple[socket.socket, Pipe, float]

    def is_usable(self) -> bool:
        """False where the hub has closed it, or sent what nobody asked for."""
        try:
            self.sock.setblocking(False)
            self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return time.monotonic() < self.until
        except OSError:
            pass
        return False


class Connections:
    """What is the same for both: where to connect, what to say there, and the connections that wait for the next call."""

    def __init__(self, url: str, proxy: str | None, headers: list[tuple[str, str]], timeout: float):
        self.hub, self.proxy = Peer.of(url), Peer.of(proxy) if proxy else None
        self.timeout = timeout
        self._headers = header_lines([("Host", self.hub.name), *headers])
        self._prefix = ""
        if self.proxy and not self.hub.is_encrypted:
            self._prefix = f"http://{self.hub.name}"
            self._headers += self._login_lines()
        self._idle: deque[Connection] = deque()
        self._process = os.getpid()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().sock.close()

    def _login_lines(self) -> bytes:
        assert self.proxy
        return header_lines([("Proxy-Authorization", self.proxy.login)] if self.proxy.login else [])

    @cached_property
    def _context(self) -> ssl.SSLContext:
        """The authorities that `SSL_CERT_FILE` or `SSL_CERT_DIR` name, else those of certifi."""
        file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        file = file or (None if folder else certifi.where())
        context = ssl.create_default_context(cafile=file, capath=folder)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _connect(self) -> Connection:
        """A socket to the hub or its proxy. Each address of a name has its turn."""
        peer = self.proxy or self.hub
        sock = socket.create_connection((peer.host, peer.port), min(self.timeout, CONNECT_SECONDS))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Connection(sock)

    def _open(self, connection: Connection) -> Steps[None]:
        """TLS, and the way through a proxy."""
        if self.proxy and self.proxy.is_encrypted:
            yield from self._encrypt(connection, self.proxy)
        if self.proxy and self.hub.is_encrypted:
            yield from self._tunnel(connection.pipe)
        if self.hub.is_encrypted:
            yield from self._encrypt(connection, self.hub)

    def _encrypt(self, connection: Connection, peer: Peer) -> Steps[None]:
        pipe = Encrypted(connection.pipe, self._context, peer.host)
        yield from pipe.handshake()
        connection.pipe = pipe

    def _tunnel(self, pipe: Pipe) -> Steps[None]:
        place = f"{f'[{self.hub.host}]' if ':' in self.hub.host else self.hub.host}:{self.hub.port}"
        head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n".encode() + self._login_lines() + b"\r\n"
        yield from pipe.send(head)
        _, status, _ = yield from Reader(pipe).head()
        if not 200 <= status < 300:
            raise NotSent(f"the proxy answers with status {status}")

    def _bytes(self, request: Request) -> bytes:
        start = f"{request.method} {self._prefix}{request.target} HTTP/1.1\r\n".encode("ascii")
        return b"".join((start, self._headers, request.headers, b"\r\n", request.body))

    def _waiting(self) -> Connection | None:
        """A connection of an earlier call. One that came from another process by a fork belongs to that."""
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), deque()
        with contextlib.suppress(IndexError):  # several threads take and give at once
            while True:
                connection = self._idle.pop()
                if connection.is_usable():
                    return connection
                connection.sock.close()
        return None

    def _keep(self, connection: Connection) -> None:
        connection.until = time.monotonic() + IDLE_SECONDS
        self._idle.append(connection)
        with contextlib.suppress(IndexError):
            while len(self._idle) > MAX_IDLE:
                self._idle.popleft().sock.close()

    async def _exchange(self, request: Request) -> Received:
        data, connection = self._bytes(request), self._waiting()
        if connection is None:
            with failing(NotSent):
                connection = await self._opened()
        with failing(Failed), closing_if_broken(connection):
            received, is_kept = await self._carry_out(connection, exchange(connection.pipe, data), self.timeout)
        self._keep(connection) if is_kept else connection.sock.close()
        return received

    async def _opened(self) -> Connection:
        connection = await self._connected()
        with closing_if_broken(connection):
            await self._carry_out(connection, self._open(connection), min(self.timeout, CONNECT_SECONDS))
        return connection

    async def _connected(self) -> Connection:
        raise NotImplementedError

    async def _carry_out(self, connection: Connection, steps: Steps[R], seconds: float) -> R:
        """Sends and receives until the steps are done; `TimeoutError` when the time is over."""
        connection.until = time.monotonic() + seconds
        arrived: bytes | None = None
        lost: ConnectionError | None = None
        while True:
            try:
                step = steps.throw(lost) if lost else steps.send(arrived)
            except StopIteration as end:
                return end.value
            lost = None
            try:
                arrived = await self._sent_or_received(connection, step)
            except ConnectionError as problem:
                lost = problem

    async def _sent_or_received(self, connection: Connection, data: bytes | None) -> bytes | None:
        """Sends these bytes, or receives some where there are none to send."""
        raise NotImplementedError


@contextlib.contextmanager
def closing_if_broken(connection: Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.sock.close()
        raise


@contextlib.contextmanager
def failing(as_error: type[Failed]) -> Iterator[None]:
    """What can go wrong here, as `Failed`."""
    try:
        yield
    except TimeoutError as problem:
        raise (as_error if as_error is NotSent else TooSlow)(str(problem)) from problem
    except (OSError, UnicodeError) as problem:
        raise as_error(str(problem)) from problem


class Transport(Connections):
    """Blocks its thread; any number of threads may call it at once."""

    def exchange(self, request: Request) -> Received:
        """Sends a request and answers with all of what comes back, or raises `Failed`."""
        try:
            self._exchange(request).send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError("nothing in it waits for a loop")

    async def _connected(self) -> Connection:
        return self._connect()

    async def _sent_or_received(self, connection: Connection, data: bytes | None) -> bytes | None:
        if (left := connection.until - time.monotonic()) <= 0:
            raise TimeoutError("the time is over")
        connection.sock.settimeout(left)
        return connection.sock.recv(65536) if data is None else connection.sock.sendall(data)  # type: ignore[func-returns-value]


class AsyncTransport(Connections):
    """Waits in asyncio; belongs to one loop."""

    async def exchange(self, request: Request) -> Received:
        """Sends a request and answers with all of what comes back, or raises `Failed`."""
        return await self._exchange(request)

    async def _connected(self) -> Connection:
        connection = await asyncio.to_thread(self._connect)
        connection.sock.setblocking(False)
        return connection

    async def _carry_out(self, connection: Connection, steps: Steps[R], seconds: float) -> R:
        async with asyncio.timeout(seconds):
            return await super()._carry_out(connection, steps, seconds)

    async def _sent_or_received(self, connection: Connection, data: bytes | None) -> bytes | None:
        loop = asyncio.get_running_loop()
        return await (
            loop.sock_recv(connection.sock, 65536) if data is None else loop.sock_sendall(connection.sock, data)
        )
