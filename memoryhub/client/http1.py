"""HTTP/1.1 as bytes: what a request is written as, how its answer is read, TLS around both. No input or output happens here.

Whoever carries out these steps sends the bytes that they yield, and for each None gives them what arrived: b"" at the end.
"""

from __future__ import annotations

import contextlib
import re
import ssl
import zlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

R = TypeVar("R")
Steps = Generator[bytes | None, bytes | None, R]
Received = tuple[int, dict[str, str], bytes]  # status, headers by their small names, body

MAX_ANSWER = 64 * 1024 * 1024
MAX_HEAD = 100 * 1024
START = re.compile(r"HTTP/1\.([01]) ([1-9]\d\d)(?: .*)?")
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
LENGTH = {10: re.compile("[0-9]{1,18}"), 16: re.compile("[0-9a-fA-F]{1,16}")}
NO_BODY = (204, 304)
GZIP = 16 + zlib.MAX_WBITS


class Failed(Exception):
    """No whole answer came; the request may have arrived."""


class NotSent(Failed):
    """There was no connection to send the request on."""


class TooSlow(Failed):
    """The answer was not there in time."""


class TooMuch(Failed):
    """The answer is larger than any the hub gives."""


@dataclass(frozen=True)
class Request:
    """`target` is path and query as they stand in an address, `headers` the lines that this call has beside those of all."""

    method: str
    target: str
    headers: bytes
    body: bytes = b""


def header_lines(headers: list[tuple[str, str]]) -> bytes:
    """The lines of these headers; `ValueError` where a value would end its line."""
    lines = [f"{name}: {value}".encode() for name, value in headers]
    if any(CONTROL.search(line) for line in lines):
        raise ValueError("a header holds a control character")
    return b"".join(line + b"\r\n" for line in lines)


class Pipe(Protocol):
    @property
    def is_empty(self) -> bool: ...  # nothing arrived that nobody has read

    def send(self, data: bytes) -> Steps[None]: ...
    def receive(self) -> Steps[bytes]: ...


class Plain:
    """Bytes as they are."""

    is_empty = True

    def send(self, data: bytes) -> Steps[None]:
        yield data

    def receive(self) -> Steps[bytes]:
        return (yield None) or b""


class Encrypted:
    """TLS over another pipe, which may be TLS to a proxy."""

    def __init__(self, inner: Pipe, context: ssl.SSLContext, host: str):
        self._inner, self._incoming, self._outgoing = inner, ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    @property
    def is_empty(self) -> bool:
        return not (self._incoming.pending or self._tls.pending()) and self._inner.is_empty

    def handshake(self) -> Steps[None]:
        return self._done(self._tls.do_handshake)

    def send(self, data: bytes) -> Steps[None]:
        rest = memoryview(data)
        while rest:
            rest = rest[(yield from self._done(self._tls.write, rest)) :]

    def receive(self) -> Steps[bytes]:
        with contextlib.suppress(
            ssl.SSLEOFError
        ):  # an end that TLS does not tell of: the body shows whether it is whole
            return (yield from self._done(self._tls.read, 65536))
        return b""

    def _done(self, act: Callable[..., Any], *arguments: Any) -> Steps[Any]:
        while True:
            is_done, result = True, None
            try:
                result = act(*arguments)
            except ssl.SSLWantReadError:
                is_done = False
            if self._outgoing.pending:
                yield from self._inner.send(self._outgoing.read())
            if is_done:
                return result
            arrived = yield from self._inner.receive()
            self._incoming.write(arrived) if arrived else self._incoming.write_eof()


def exchange(pipe: Pipe, data: bytes) -> Steps[tuple[Received, bool]]:
    """Sends a request and reads its answer; and whether the connection can be kept for another."""
    with contextlib.suppress(ConnectionError):  # a hub may answer before it has read all of a body, and read no more
        yield from pipe.send(data)
    return (yield from Reader(pipe).answer())


class Reader:
    """Takes what arrives apart. `Failed` where it is no HTTP, ends too early or grows too large."""

    def __init__(self, pipe: Pipe):
        self._pipe, self._buffer = pipe, bytearray()

    def answer(self) -> Steps[tuple[Received, bool]]:
        status = 100
        while status < 200:  # an answer before the answer says nothing of use here
            minor, status, headers = yield from self.head()
        encoding, length = headers.get("transfer-encoding", "").lower(), headers.get("content-length")
        is_framed = True
        if status in NO_BODY:
            body = b""
        elif encoding:
            body = yield from self._chunks(encoding)
        elif length is not None:
            body = yield from self._exactly(length_of(length))
        else:
            body, is_framed = (yield from self._rest()), False
        if headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip") and body:
            body = unpacked(body)
        is_kept = is_framed and self._is_empty() and keeps_open(minor, headers) and not (encoding and length)
        return (status, headers, body), is_kept

    def head(self) -> Steps[tuple[int, int, dict[str, str]]]:
        """Version, status and headers; of a header that came twice, both values."""
        lines = (yield from self._until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1").split("\r\n")
        found = START.fullmatch(lines[0])
        if not found:
            raise Failed("this is no HTTP")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not NAME.fullmatch(name):
                raise Failed("a header has no name")
            name, value = name.lower(), value.strip(" \t")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return int(found[1]), int(found[2]), headers

    def _is_empty(self) -> bool:
        return not self._buffer and self._pipe.is_empty

    def _chunks(self, encoding: str) -> Steps[bytes]:
        if encoding.strip() != "chunked":
            raise Failed("the body comes in an unknown way")
        body = bytearray()
        while size := length_of((yield from self._until(b"\r\n", MAX_HEAD)).partition(b";")[0].decode("latin-1"), 16):
            if len(body) + size > MAX_ANSWER:
                raise TooMuch("the answer is too large")
            body += yield from self._exactly(size)
            if (yield from self._exactly(2)) != b"\r\n":
                raise Failed("a chunk is longer than it says")
        while (yield from self._until(b"\r\n", MAX_HEAD)):
            pass  # headers behind the body
        return bytes(body)

    def _until(self, mark: bytes, most: int) -> Steps[bytes]:
        """What stands before this mark, which is taken as well."""
        start = 0
        while (at := self._buffer.find(mark, start)) < 0:
            start = max(0, len(self._buffer) - len(mark) + 1)
            if start > most:
                raise Failed("the head of the answer is too long")
            yield from self._more()
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return found

    def _exactly(self, size: int) -> Steps[bytes]:
        if size > MAX_ANSWER:
            raise TooMuch("the answer is too large")
        while len(self._buffer) < size:
            yield from self._more()
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        return found

    def _rest(self) -> Steps[bytes]:
        """All until the connection ends."""
        while len(self._buffer) <= MAX_ANSWER:
            if not (arrived := (yield from self._pipe.receive())):
                return bytes(self._buffer)
            self._buffer += arrived
        raise TooMuch("the answer is too large")

    def _more(self) -> Steps[None]:
        arrived = yield from self._pipe.receive()
        if not arrived:
            raise Failed("the connection ended in the middle of an answer")
        self._buffer += arrived


def length_of(text: str, base: int = 10) -> int:
    """The length of a body or chunk; the same one twice is one."""
    values = {one.strip() for one in text.split(",")}
    value = values.pop()
    if values or not LENGTH[base].fullmatch(value):
        raise Failed("the answer has no clear length")
    return int(value, base)


def keeps_open(minor: int, headers: dict[str, str]) -> bool:
    wishes = {one.strip() for one in headers.get("connection", "").lower().split(",")}
    return "close" not in wishes and (minor == 1 or "keep-alive" in wishes)


def unpacked(body: bytes) -> bytes:
    unpacking = zlib.decompressobj(GZIP)
    try:
        found = unpacking.decompress(body, MAX_ANSWER + 1)
    except zlib.error:
        raise Failed("the answer cannot be unpacked") from None
    if len(found) > MAX_ANSWER:
        raise TooMuch("the answer is too large")
    if not unpacking.eof:
        raise Failed("half a packed answer")
    return found
