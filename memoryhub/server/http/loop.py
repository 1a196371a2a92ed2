"""The loop of a web worker: connections, time and the queue. What is read and answered on them, its subclass knows
(`worker.py`)."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import selectors
import signal
import socket
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memoryhub.server.http.connection import Connection, State
from memoryhub.server.http.http1 import BadRequest
from memoryhub.server.http.turns import Turns
from memoryhub.server.http.watchdog import Heartbeat

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
ACCEPT_AT_ONCE = 64
LEAVE_TO_OTHERS = 0.002  # seconds; long enough for a process that sleeps to wake up
STOP_SECONDS = 5.0
FIRST_REQUEST = 1.0  # seconds that a new connection has for it when the worker stops
LATE = "request_timeout"

log = logging.getLogger("memoryhub")


@dataclass(frozen=True)
class Limits:
    """How much a worker takes on."""

    connections: int = 2000
    waiting: int = 500  # complete requests; more are answered 503, but for who has none waiting
    bodies: int = 512 << 20  # bytes of bodies that are on their way
    answers: int = 64 << 20  # bytes of answers in memory; beyond, they wait on disk


USUAL_LIMITS = Limits()


class Loop:
    """Waits for all connections at once, in one thread, and lets one complete request at a time have its turn."""

    def __init__(self, listener: socket.socket, heartbeat: Heartbeat, limits: Limits) -> None:
        self.listener, self.heartbeat, self.limits = listener, heartbeat, limits
        self.selector = selectors.DefaultSelector()
        self.connections: dict[int, Connection] = {}
        self.queue: Turns[tuple[Connection, Callable[[Connection], None]]] = Turns()
        self.checks: deque[tuple[float, Connection, object]] = deque()  # when, whose, for which request
        self.stopping_at = 0.0
        self.swept = 0.0
        self.is_accepting = True  # at all
        self.accepts_again = 0.0  # when; zero while it accepts

    # ---- what a subclass does ----

    def _on_readable(self, connection: Connection) -> None:
        raise NotImplementedError

    def _send(self, connection: Connection) -> None:
        raise NotImplementedError

    def _ask_who_sends(self, connection: Connection) -> None:
        raise NotImplementedError

    def _refuse(self, connection: Connection, error: BadRequest) -> None:
        raise NotImplementedError

    def _others_have_fewer(self) -> bool:
        """Whether another worker should accept the next connection."""
        return False

    # ---- the loop ----

    def run(self, parent: int) -> None:
        """Serve until SIGTERM, then finish what has begun; also ends with the parent."""
        self._install_signals()
        self.listener.setblocking(False)
        if self.is_accepting:
            self.selector.register(self.listener, READ, self._on_listener)
        while not self._is_done():
            self._turn()
            if os.getppid() != parent:
                return

    def _turn(self) -> None:
        now = time.monotonic()
        for key, events in self.selector.select(self._pause(now)):
            if isinstance(key.data, Connection):
                self._guarded(key.data, self._on_event, events)
            else:
                key.data(key.fileobj)
        now = time.monotonic()
        while self.checks and self.checks[0][0] <= now:
            _, connection, head = self.checks.popleft()
            if connection.state == State.BODY and connection.head is head and connection.allowed is None:
                self._guarded(connection, self._ask_who_sends)
        if self.queue:
            connection, act = self.queue.popleft()
            if connection.state != State.CLOSED:
                self._guarded(connection, act)
                self._forgive(time.monotonic() - now)
        if now - self.swept > 1:
            self._sweep(now)
        if self.accepts_again and now >= self.accepts_again:
            self._accept_again()

    def _on_signal(self, waking: Any) -> None:
        """Which signals came stands in what woke the worker; others than SIGTERM were handled where they came."""
        with contextlib.suppress(BlockingIOError):
            if signal.SIGTERM in waking.recv(4096):
                self.selector.unregister(waking)
                self._begin_to_stop()

    def _guarded(self, connection: Connection, act: Callable[..., None], *arguments: Any) -> None:
        """Whatever breaks on one connection (a full disk, an answer that cannot be written) ends that one and no other."""
        try:
            act(connection, *arguments)
        except Exception:
            log.exception("a connection of %s was closed, as something broke", connection.address or "a socket")
            self._close(connection)

    def _forgive(self, seconds: float) -> None:
        """While the worker was in a long request it read and sent nothing: that was no client's fault."""
        if seconds > 1:
            for connection in self.connections.values():
                connection.deadline += seconds
                connection.progress += seconds if connection.progress else 0

    def _pause(self, now: float) -> float:
        if self.queue:
            return 0
        next_check = self.checks[0][0] - now if self.checks else 1.0
        return max(0.0, min(1.0, next_check, self.accepts_again - now if self.accepts_again else 1.0))

    def _install_signals(self) -> None:
        self.heartbeat.install()
        self._wake, self._waker = socket.socketpair()  # both kept until the end: signals come while it stops, too
        self._wake.setblocking(False)
        self._waker.setblocking(False)
        self.selector.register(self._wake, READ, self._on_signal)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, lambda *_: None)  # the byte that arrives is what is read

    def _begin_to_stop(self) -> None:
        if not self.stopping_at:
            self.stopping_at = time.monotonic() + STOP_SECONDS
            if self.is_accepting and not self.accepts_again:
                self.selector.unregister(self.listener)
            self.accepts_again = 0.0
            self._take_what_waits()
        for connection in list(self.connections.values()):
            connection.keep_alive = False
            if connection.state == State.HEAD:
                self._guarded(connection, self._end_idle)

    def _take_what_waits(self) -> None:
        """Takes the connections that have come and were not accepted yet, when the worker stops."""
        while self.is_accepting and self._accept_one():
            pass

    def _end_idle(self, connection: Connection) -> None:
        """Ends a connection between two requests. One that has just come, or whose request has, is answered first: closed now,
        it would be reset, and a proxy cannot know whether it may ask another node."""
        self._on_readable(connection)
        if connection.state == State.HEAD and not connection.buffer:
            if connection.was_answered:
                self._close(connection)
            else:
                connection.deadline = min(connection.deadline, self.stopping_at - STOP_SECONDS + FIRST_REQUEST)

    def _is_done(self) -> bool:
        return bool(self.stopping_at) and (not self.connections or time.monotonic() > self.stopping_at)

    def _sweep(self, now: float) -> None:
        """Close or refuse the connections whose time is over."""
        self.swept = now
        for connection in [one for one in self.connections.values() if one.is_late(now)]:
            if connection.state == State.BODY:
                self._guarded(
                    connection, self._refuse, BadRequest(408, "The body did not arrive in time. Send it again.", LATE)
                )
            elif connection.state == State.HEAD and connection.buffer:
                late = BadRequest(408, "The request did not arrive in time. Send it again.", LATE)
                self._guarded(connection, self._refuse, late)
            elif connection.state != State.WAITING:
                self._close(connection)

    # ---- connections ----

    def _on_listener(self, _: Any) -> None:
        if not self.stopping_at:
            self._accept()

    def _accept(self) -> None:
        """Takes those that wait; with more connections than another worker, it leaves the next to that one for a moment."""
        for _ in range(ACCEPT_AT_ONCE):
            if not self._accept_one():
                return
            if self._others_have_fewer():
                self.selector.unregister(self.listener)
                self.accepts_again = time.monotonic() + LEAVE_TO_OTHERS
                return

    def _accept_one(self) -> bool:
        try:
            accepted, address = self.listener.accept()
        except OSError as error:  # taken by another worker, or gone again
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._make_room(at_least=True)
            return False
        with contextlib.suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._add(accepted, address)
        return True

    def _add(self, connected: socket.socket, address: tuple[Any, ...]) -> Connection:
        connected.setblocking(False)
        connection = Connection(connected, _plain_address(address), time.monotonic())
        self.connections[connection.number] = connection
        self._watch(connection, READ)
        self._make_room()
        self.heartbeat.connections = len(self.connections)
        return connection

    def _accept_again(self) -> None:
        self.accepts_again = 0.0
        self.selector.register(self.listener, READ, self._on_listener)

    def _make_room(self, *, at_least: bool = False) -> None:
        """Above the limit, close some: first of addresses with more than their share, then those that nothing has come from
        for longest; last those that are known, or take an answer."""
        if len(self.connections) <= self.limits.connections and not at_least:
            return
        held = Counter(one.address for one in self.connections.values())
        share = len(self.connections) / len(held)
        candidates = [one for one in self.connections.values() if one.state != State.WAITING]
        candidates.sort(key=lambda one: (
            held[one.address] <= share, one.state == State.SENDING, one.allowed is not None, one.heard,
        ))  # fmt: skip
        for connection in candidates[: max(1, self.limits.connections // 16)]:
            self._close(connection)

    def _watch(self, connection: Connection, interest: int) -> None:
        if interest == connection.interest:
            return
        if not connection.interest:
            self.selector.register(connection.socket, interest, connection)
        elif not interest:
            self.selector.unregister(connection.socket)
        else:
            self.selector.modify(connection.socket, interest, connection)
        connection.interest = interest

    def _close(self, connection: Connection) -> None:
        if connection.state != State.CLOSED:
            self._watch(connection, 0)
            self.connections.pop(connection.number, None)
            self.heartbeat.connections = len(self.connections)
            connection.close()

    def _on_event(self, connection: Connection, events: int) -> None:
        if events & WRITE and connection.state in (State.SENDING, State.LINGERING):
            self._send(connection)
        if events & READ and connection.state != State.CLOSED:
            self._on_readable(connection)


def _plain_address(address: tuple[Any, ...]) -> str:
    """The client's address; of IPv4 also where the socket is one of IPv6."""
    host = str(address[0]) if address else ""
    return host.removeprefix("::ffff:") if "." in host else host
