"""HTTP/1.1 as bytes: the head of a request, a chunked body, the head of an answer. No sockets here.

Strict on purpose: whatever two programs could understand differently (two lengths, a folded line, a lone line feed) is
refused, since a proxy in front might understand the other thing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any
from urllib.parse import unquote_to_bytes

Environ = dict[str, Any]
MAX_HEAD = 64 * 1024
MAX_HEADERS = 100
MAX_NAMES, MAX_NAME = 1000, 64  # remembered header names, and bytes of one: strangers choose them
MAX_CHUNK_LINE = 1024
MAX_TRAILERS = 8 * 1024

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~\w-]{1,32}) (\S+) HTTP/(\d)\.(\d)", re.ASCII)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~\w-]+", re.ASCII)
_ABSOLUTE = re.compile(r"https?://([^/?#]+)([/?].*)?", re.IGNORECASE | re.ASCII)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\x00-\x08\x0a-\x1f\x7f]*")
_ONCE = {"CONTENT_LENGTH", "CONTENT_TYPE", "HTTP_HOST", "HTTP_AUTHORIZATION", "HTTP_TRANSFER_ENCODING"}
_names: dict[str, str] = {}


class BadRequest(Exception):
    """What came is not handed to the application; the connection ends with this status, sentence and code."""

    def __init__(self, status: int, message: str, code: str = "bad_request") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


@dataclass(slots=True)
class Head:
    """The head of a request: the variables for WSGI, and how its body and the connection go on."""

    environ: Environ
    length: int  # of the body; 0 without one
    is_chunked: bool
    keep_alive: bool
    expects_continue: bool
    minor: int  # 1 for HTTP/1.1, 0 for HTTP/1.0

    @property
    def has_body(self) -> bool:
        return self.is_chunked or self.length > 0


def parse_head(data: bytes, base: Environ) -> Head:
    """The head that these bytes (without the empty line) are; `base` holds the variables that all requests share."""
    line_ends = data.count(b"\r\n")
    if _CONTROL.search(data) or data.count(b"\n") != line_ends or data.count(b"\r") != line_ends:
        raise BadRequest(400, "The request holds control characters.")
    if line_ends > MAX_HEADERS:
        raise BadRequest(431, "The request has too many headers.")
    first, *lines = data.decode("latin-1").split("\r\n")
    environ = dict(base)
    minor, authority = _read_request_line(first, environ)
    for line in lines:
        _add_header(line, environ)
    if authority:
        environ["HTTP_HOST"] = authority
    elif minor and "HTTP_HOST" not in environ:
        raise BadRequest(400, "The request names no host.")
    return _framed(environ, minor)


def _read_request_line(line: str, environ: Environ) -> tuple[int, str]:
    """Puts method, path and query into the variables; gives the minor version, and the host of an absolute address."""
    parts = _REQUEST_LINE.fullmatch(line)
    if parts is None:
        raise BadRequest(400, "The first line is no request of HTTP/1.1.")
    method, target, major, minor = parts.groups()
    if major != "1":
        raise BadRequest(505, "This server speaks HTTP/1.1.")
    authority = ""
    if target[0] != "/":
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is None:
            raise BadRequest(400, "The address is neither a path nor one of http.")
        authority, target = absolute[1], absolute[2] or "/"
        target = target if target[0] == "/" else f"/{target}"
    path, _, query = target.partition("?")
    environ["REQUEST_METHOD"], environ["QUERY_STRING"] = method, query
    environ["PATH_INFO"] = unquote_to_bytes(path.encode("latin-1")).decode("latin-1") if "%" in path else path
    environ["RAW_URI"], environ["SERVER_PROTOCOL"] = target, f"HTTP/1.{minor}"
    return min(int(minor), 1), authority


def _add_header(line: str, environ: Environ) -> None:
    name, separator, value = line.partition(":")
    key = _names.get(name)
    if key is None:
        key = _variable(name, separator)
    if not key:  # ignored: with its underscore it would become the variable of the name with a hyphen
        return
    value = value.strip(" \t")
    if key not in environ:
        environ[key] = value
    elif key in _ONCE:
        raise BadRequest(400, f"The header {name} stands there twice.")
    else:
        environ[key] += ("; " if key == "HTTP_COOKIE" else ", ") + value


def _variable(name: str, separator: str) -> str:
    """The WSGI variable of a header; remembered, since the names are the same few."""
    if not separator or not _TOKEN.fullmatch(name):
        raise BadRequest(400, "A header line is not well formed.")
    key = name.upper().replace("-", "_")
    if "_" in name:
        key = ""
    elif key not in ("CONTENT_LENGTH", "CONTENT_TYPE"):
        key = f"HTTP_{key}"
    if len(_names) < MAX_NAMES and len(name) <= MAX_NAME:
        _names[name] = key
    return key


def _framed(environ: Environ, minor: int) -> Head:
    """Where the body ends and whether the connection stays, or the refusal of a head that leaves it open."""
    coding, length = environ.pop("HTTP_TRANSFER_ENCODING", None), environ.get("CONTENT_LENGTH")
    if coding is not None and (length is not None or not minor):
        raise BadRequest(400, "Transfer-Encoding does not go with Content-Length, nor with HTTP/1.0.")
    if coding is not None and coding.lower() != "chunked":
        raise BadRequest(501, "The only transfer encoding that is understood is chunked.")
    if length is not None and not (length.isascii() and length.isdigit() and len(length) < 19):
        raise BadRequest(400, "Content-Length is no number.")
    expects = environ.get("HTTP_EXPECT", "").lower()
    if expects and expects != "100-continue":
        raise BadRequest(417, "The only expectation that is met is 100-continue.")
    wishes = environ.get("HTTP_CONNECTION", "").lower()
    keep_alive = "close" not in wishes if minor else "keep-alive" in wishes
    return Head(environ, int(length or 0), coding is not None, keep_alive, bool(expects and minor), minor)


class ChunkedReader:
    """Takes the pieces of a chunked body out of a buffer, as they come."""

    def __init__(self) -> None:
        self._left = 0  # bytes of the current chunk
        self._ends_line = False  # the line end after a chunk is awaited
        self._trailers = -1  # bytes of trailers so far; below zero, the last chunk has not come

    def feed(self, buffer: bytearray) -> tuple[list[bytes], bool]:
        """The pieces that are there, which are removed from the buffer, and whether the body is complete."""
        pieces: list[bytes] = []
        while buffer:
            if self._left:
                piece = bytes(buffer[: self._left])
                del buffer[: self._left]
                self._left -= len(piece)
                self._ends_line = not self._left
                pieces.append(piece)
                continue
            line = self._line(buffer)
            if line is None:
                break
            if self._begin(line):
                return pieces, True
        return pieces, False

    def _line(self, buffer: bytearray) -> bytes | None:
        """The next line without its end, which is removed from the buffer; None while it is incomplete."""
        end = buffer.find(b"\r\n", 0, MAX_CHUNK_LINE)
        if end < 0:
            if len(buffer) >= MAX_CHUNK_LINE:
                raise BadRequest(400, "The body is not chunked as it should be.")
            return None
        line = bytes(buffer[:end])
        del buffer[: end + 2]
        return line

    def _begin(self, line: bytes) -> bool:
        """Reads a line between chunks; whether it was the last one of the body."""
        if self._trailers >= 0:
            self._trailers += len(line) + 2
            if self._trailers > MAX_TRAILERS:
                raise BadRequest(431, "The trailers are too long.")
            if line and not _TRAILER.fullmatch(line):
                raise BadRequest(400, "The body is not chunked as it should be.")
            return not line
        if self._ends_line:
            if line:
                raise BadRequest(400, "The body is not chunked as it should be.")
            self._ends_line = False
            return False
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise BadRequest(400, "The body is not chunked as it should be.")
        self._left = int(size[1], 16)
        if not self._left:
            self._trailers = 0
        return False


_date: tuple[int, str] = (0, "")


def date_line() -> str:
    """The Date header, made once a second."""
    global _date
    now = int(time.time())
    if _date[0] != now:
        _date = (now, f"Date: {formatdate(now, usegmt=True)}\r\n")
    return _date[1]


def answer_head(status: str, headers: Sequence[tuple[str, str]], more: str = "") -> bytes:
    """The head of an answer with its empty line; `more` are complete header lines of the server's own."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    if not len(headers) == lines.count("\n") == lines.count("\r"):
        raise ValueError("a header of the answer holds a line end")
    return f"HTTP/1.1 {status}\r\n{lines}{date_line()}{more}\r\n".encode("latin-1")
