"""What goes back: the application's answer as WSGI gives it, or the server's own refusal, as bytes."""

from __future__ import annotations

import json
import logging
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from memoryhub.server.http.http1 import BadRequest, Environ, Head, answer_head

log = logging.getLogger("memoryhub")

MORE = {
    401: "WWW-Authenticate: Bearer\r\n",
    429: "Retry-After: 10\r\n",
    503: "Retry-After: 1\r\n",
}  # headers that a status needs
PIECE_BYTES, PIECE_SECONDS = 64 * 1024, 0.05  # of an answer that is made while it is sent, in one turn
LAST_CHUNK = b"0\r\n\r\n"
_ASKED = re.compile(rb"([A-Z]{1,32}) (?:https?://[^\s/?#]*)?(/[^\s?#]*)")


@dataclass(slots=True)
class Answer:
    """Status, headers and body of one answer; `pieces` where it is made while it is sent, `rest` is closed at its end."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    pieces: Iterator[bytes] | None = None
    rest: Any = None
    has_body: bool = True


def base_environ(listener: socket.socket) -> Environ:
    """The variables that all requests share."""
    host, port = listener.getsockname()[:2]
    return {
        "SCRIPT_NAME": "", "SERVER_NAME": host, "SERVER_PORT": str(port), "SERVER_SOFTWARE": "memoryhub",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.errors": sys.stderr, "wsgi.input_terminated": True,
        "wsgi.multithread": False, "wsgi.multiprocess": True, "wsgi.run_once": False,
    }  # fmt: skip


def call(application: Callable[..., Any], environ: Environ) -> Answer:
    """The application's answer; 500 where it raised, which the log explains."""
    started: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        started[:] = status, headers

    try:
        result = application(environ, start_response)
        return _answer(started[0], started[1], result, is_head=environ["REQUEST_METHOD"] == "HEAD")
    except Exception:
        log.exception("%s %s", environ["REQUEST_METHOD"], environ["PATH_INFO"])
        return Answer("500 Internal Server Error", [("Content-Type", "text/plain")], b"Something broke on our side.\n")


def _answer(status: str, headers: list[tuple[str, str]], result: Any, *, is_head: bool) -> Answer:
    answer = Answer(status, headers, has_body=not is_head and status[:3] not in ("204", "304"))
    if type(result) is list:
        answer.body = b"".join(result) if answer.has_body else b""
        return answer
    if answer.has_body and getattr(result, "streaming", True):
        answer.pieces, answer.rest = iter(result), result
        return answer
    try:
        answer.body = b"".join(result) if answer.has_body else b""
    finally:
        if hasattr(result, "close"):
            result.close()
    return answer


def framing(answer: Answer, head: Head, keep_alive: bool) -> tuple[str, bool, bool]:
    """The server's own header lines, whether the body goes in chunks, and whether the connection stays."""
    lines, is_chunked = "", False
    if answer.has_body and not any(name.lower() == "content-length" for name, _ in answer.headers):
        if answer.pieces is None:
            lines = f"Content-Length: {len(answer.body)}\r\n"
        elif head.minor:
            lines, is_chunked = "Transfer-Encoding: chunked\r\n", True
        else:
            keep_alive = False  # the end of the connection is the end of the body
    if not keep_alive:
        lines += "Connection: close\r\n"
    elif not head.minor:
        lines += "Connection: keep-alive\r\n"
    return lines, is_chunked, keep_alive


def asked(raw: bytes) -> tuple[str, str]:
    """Method and path of a head that was not understood as a whole, or two empty texts."""
    first = _ASKED.match(raw)
    return (first[1].decode("latin-1"), first[2].decode("latin-1")) if first else ("", "")


def refusal(error: BadRequest, head: Head | None, raw: bytes = b"") -> tuple[bytes, bytes]:
    """Head and body of the server's own answer: JSON for calls of the API, else a sentence."""
    method, path = (head.environ["REQUEST_METHOD"], head.environ["PATH_INFO"]) if head else asked(raw)
    body, kind = f"{error.message}\n", "text/plain; charset=utf-8"
    if path.startswith("/api/"):
        shape = {"error": {"code": error.code, "message": error.message}}
        body, kind = json.dumps(shape), "application/json"
    data = body.encode()
    headers = [("Content-Type", kind), ("Content-Length", str(len(data))), ("Cache-Control", "no-store")]
    more = "Connection: close\r\n" + MORE.get(error.status, "")
    status = f"{error.status} {HTTPStatus(error.status).phrase}"
    return answer_head(
        status, [*headers, ("X-Content-Type-Options", "nosniff")], more
    ), b"" if method == "HEAD" else data


def next_piece(pieces: Iterator[bytes], is_chunked: bool) -> tuple[bytes, bool]:
    """What one turn gives of an answer that is made while it is sent, and whether that was its end."""
    parts: list[bytes] = []
    size, until = 0, time.monotonic() + PIECE_SECONDS
    is_end = False
    while size < PIECE_BYTES and time.monotonic() < until:
        part = next(pieces, None)
        if part is None:
            is_end = True
            break
        parts.append(part)
        size += len(part)
    data = b"".join(parts)
    if is_chunked:
        data = (b"%x\r\n%b\r\n" % (len(data), data) if data else b"") + (LAST_CHUNK if is_end else b"")
    return data, is_end
