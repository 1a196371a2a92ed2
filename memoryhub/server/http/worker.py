"""The loop of a web worker: one thread that reads, answers and sends, and waits for no single client.

    readable  ->  head  ->  body, as it comes  ->  queue  ->  the WSGI application  ->  send, as the client takes it

The application is called only with a request that has arrived as a whole. Before a body is awaited, whoever sends it has
to be known (`senders.py`): unknown addresses and strangers are answered at once, as if their body were empty.
"""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from memoryhub.requests import client_network
from memoryhub.server.http import answers
from memoryhub.server.http.connection import GRACE, IDLE, Connection, State
from memoryhub.server.http.handover import Place
from memoryhub.server.http.http1 import MAX_HEAD, BadRequest, Environ, answer_head, parse_head
from memoryhub.server.http.loop import READ, USUAL_LIMITS, WRITE, Limits
from memoryhub.server.http.sharing import BUSY, Sharing
from memoryhub.server.http.turns import Strangers
from memoryhub.server.http.watchdog import Heartbeat

log = logging.getLogger("memoryhub")

CHECK_AFTER = 0.2  # seconds for the rest of a small body, before its sender is looked up
SMALL_BODY = 64 * 1024
MAX_AHEAD = 64 * 1024  # bytes that are read while an earlier request of the connection is under way
LINGER = 2.0
FREE = ("/static/", "/healthz")  # no limit for strangers: a page has many such files, and monitors ask often
SLOW_DOWN = BadRequest(
    429, "Too many requests without a valid token or session come from your address. Wait a little.", "slow_down"
)


def is_free(path: str) -> bool:
    return path.startswith(FREE)


class Worker(Sharing):
    """Serves one WSGI application on one listening socket.

    `allowed_bytes` says how many bytes of a body the sender of this head may send: 0 where the application answers without
    it, BadRequest where nobody needs to ask the application.
    """

    def __init__(
        self,
        listener: socket.socket,
        application: Callable[..., Any],
        allowed_bytes: Callable[[Environ], int],
        heartbeat: Heartbeat,
        place: Place | None = None,
        limits: Limits = USUAL_LIMITS,
        strangers: Strangers | None = None,
    ) -> None:
        super().__init__(listener, heartbeat, place, limits)
        self.application, self.allowed_bytes = application, allowed_bytes
        self.strangers = strangers or Strangers(0)
        self.base = answers.base_environ(listener)

    # ---- reading ----

    def _on_readable(self, connection: Connection) -> None:
        came = connection.receive()
        if came is None:
            self._on_end(connection)
        elif connection.state == State.HEAD:
            self._read_head(connection)
        elif connection.state == State.BODY:
            self._read_body(connection)
        elif connection.state == State.LINGERING:
            connection.buffer.clear()
        elif len(connection.buffer) > MAX_AHEAD:
            self._watch(connection, connection.interest & ~READ)

    def _on_end(self, connection: Connection) -> None:
        """The client sends no more; what it asked before it may still want."""
        if connection.state in (State.WAITING, State.SENDING):
            connection.keep_alive = connection.is_unread = False
            self._watch(connection, connection.interest & ~READ)
        else:
            self._close(connection)

    # ---- requests ----

    def _read_head(self, connection: Connection) -> None:
        buffer = connection.buffer
        while buffer[:2] == b"\r\n":
            del buffer[:2]
        end = buffer.find(b"\r\n\r\n", connection.moved)  # where the search before ended
        if end > MAX_HEAD or (end < 0 and len(buffer) > MAX_HEAD):
            self._refuse(connection, BadRequest(431, "The request's head is too long."))
            return
        if end < 0:
            if connection.progress == 0 and buffer:
                connection.progress = time.monotonic()
                connection.deadline = connection.progress + GRACE
            connection.moved = max(0, len(buffer) - 3)
            return
        connection.raw = bytes(buffer[: end + 4])
        del buffer[: end + 4]
        try:
            connection.head = parse_head(connection.raw[:-4], self.base)
        except BadRequest as error:
            self._refuse(connection, error)
            return
        if not self._passes_on(connection):
            self._begin(connection)

    def _begin(self, connection: Connection) -> None:
        head, now = connection.head, time.monotonic()
        assert head is not None
        head.environ["REMOTE_ADDR"] = connection.address
        connection.client = client_network(head.environ)
        connection.line = self.strangers.line_of(connection.client, head.environ)
        connection.keep_alive = connection.keep_alive and head.keep_alive
        if self.strangers.refuses(connection.client, head.environ) and not is_free(head.environ["PATH_INFO"]):
            self._refuse(connection, SLOW_DOWN)
            return
        if not head.has_body:
            self._enqueue(connection, self._run)
            return
        connection.begin_body(head, now)
        if head.length > SMALL_BODY or head.expects_continue:
            self._ask_who_sends(connection)
        else:
            self.checks.append((now + CHECK_AFTER, connection, head))
            self._read_body(connection)

    def _ask_who_sends(self, connection: Connection) -> None:
        self._watch(connection, 0)  # nothing is read until it is known
        self._enqueue(connection, self._check)

    def _read_body(self, connection: Connection) -> None:
        """Take what has come; the request waits for its turn when that is all."""
        try:
            is_complete = connection.take_body()
        except BadRequest as error:
            self._refuse(connection, error)
            return
        if connection.allowed is None:
            if connection.moved > SMALL_BODY:
                self._ask_who_sends(connection)
            elif is_complete:
                self._enqueue(connection, self._run)
        elif connection.moved > connection.allowed:
            self._answer_without_body(connection, connection.moved)
        elif is_complete:
            self._enqueue(connection, self._run)

    def _check(self, connection: Connection) -> None:
        """Look up who sends a body that is large or late: it goes on, or is answered without it."""
        head = connection.head
        assert head is not None
        connection.state = State.BODY
        try:
            with self._busy(head.environ):
                allowed = self.allowed_bytes(head.environ)
        except BadRequest as error:
            self.strangers.note(connection.client, head.environ, is_refused=error.status == 401)
            self._refuse(connection, error)
            return
        under_way = sum(one.moved for one in self.connections.values() if one.state == State.BODY)
        if not allowed or head.length > allowed:
            self._answer_without_body(connection, head.length if allowed else 0)
        elif under_way + head.length > self.limits.bodies:
            self._refuse(connection, BUSY)
        else:
            connection.allowed = allowed
            if head.expects_continue:
                with contextlib.suppress(OSError):
                    connection.socket.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._watch(connection, READ)
            self._read_body(connection)

    def _answer_without_body(self, connection: Connection, length: int) -> None:
        """The application's answer to the head alone. It refuses a length that is too much without reading on."""
        assert connection.head is not None
        connection.head.environ["CONTENT_LENGTH"] = str(length)
        connection.body, connection.keep_alive, connection.is_unread = None, False, True
        self._enqueue(connection, self._run)

    def _enqueue(self, connection: Connection, act: Callable[[Connection], None]) -> None:
        waiting, limit = len(self.queue), self.limits.waiting
        if waiting >= limit and (self.queue.is_waiting(connection.line) or waiting >= 2 * limit):
            self._refuse(connection, BUSY)
            return
        connection.state = State.WAITING
        self.queue.append(connection.line, (connection, act))

    @contextlib.contextmanager
    def _busy(self, environ: Environ) -> Iterator[None]:
        """What runs inside is what the watchdog looks at."""
        self.heartbeat.begin(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        try:
            yield
        finally:
            self.heartbeat.end()

    # ---- answers ----

    def _run(self, connection: Connection) -> None:
        """Let the application answer a request that has arrived as a whole."""
        head = connection.head
        assert head is not None
        environ = head.environ
        if connection.body is None:
            environ["wsgi.input"] = io.BytesIO()
        else:
            connection.body.seek(0)
            environ["wsgi.input"], environ["CONTENT_LENGTH"] = connection.body, str(connection.moved)
        if connection.is_slow:
            self._stand_alone(connection)
        self.heartbeat.begin(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        try:
            answer = answers.call(self.application, environ)
        finally:
            self.heartbeat.end()
        if connection.is_slow:
            self.heartbeat.note_slow(time.monotonic())
        if answer.status < "5" and not is_free(environ["PATH_INFO"]):
            self.strangers.note(connection.client, environ, is_refused=answer.status[:3] == "401")
        lines, is_chunked, connection.keep_alive = answers.framing(
            answer, head, connection.keep_alive and not self.stopping_at
        )
        connection.pieces, connection.rest, connection.is_chunked = answer.pieces, answer.rest, is_chunked
        self._put(connection, answer_head(answer.status, answer.headers, lines), answer.body)

    def _refuse(self, connection: Connection, error: BadRequest) -> None:
        """The server's own answer, after which the connection ends."""
        connection.keep_alive, connection.is_unread = False, True
        self._put(
            connection, *answers.refusal(error, connection.head, connection.raw or bytes(connection.buffer[:MAX_HEAD]))
        )

    def _put(self, connection: Connection, head: bytes, body: bytes) -> None:
        connection.put(head, body)
        connection.state = State.SENDING
        connection.begin_moving(time.monotonic())
        self._send(connection)
        if connection.state == State.SENDING and len(body) > SMALL_BODY:
            in_memory = sum(one.bytes_in_memory for one in self.connections.values())
            if in_memory > self.limits.answers:
                connection.spool()

    def _send(self, connection: Connection) -> None:
        try:
            is_sent = connection.send()
        except OSError:
            self._close(connection)
            return
        if not is_sent:
            self._watch(connection, connection.interest | WRITE)
        elif connection.pieces is not None:
            self._watch(connection, connection.interest & ~WRITE)
            self.queue.append(connection.line, (connection, self._continue))
        else:
            self._finish(connection)

    def _continue(self, connection: Connection) -> None:
        """Make and send the next piece of an answer whose beginning the client has taken."""
        assert connection.pieces is not None and connection.head is not None
        if connection.is_slow:
            self._stand_alone(connection)
        try:
            with self._busy(connection.head.environ):
                data, is_end = answers.next_piece(connection.pieces, connection.is_chunked)
        except Exception:
            log.exception("%s: its answer broke off", connection.head.environ["PATH_INFO"])
            self._close(connection)  # a length or a last chunk that is missing tells the client
            return
        if is_end:
            connection.end_pieces()
        connection.put(b"", data)
        connection.begin_moving(time.monotonic())
        self._send(connection)

    def _finish(self, connection: Connection) -> None:
        """The answer has gone: the next request, or the end."""
        now = time.monotonic()
        connection.was_answered = True
        if connection.is_unread:
            self._linger(connection, now)
        elif not connection.keep_alive or self.stopping_at:
            self._close(connection)
        else:
            connection.begin_request()
            connection.state, connection.deadline = State.HEAD, now + IDLE
            self._watch(connection, READ)
            if connection.buffer:
                self._read_head(connection)

    def _linger(self, connection: Connection, now: float) -> None:
        """Read on for a moment: closed with bytes unread, the connection would be reset and the answer lost."""
        connection.state, connection.deadline = State.LINGERING, now + LINGER
        connection.buffer.clear()
        with contextlib.suppress(OSError):
            connection.socket.shutdown(socket.SHUT_WR)
        self._watch(connection, READ)
