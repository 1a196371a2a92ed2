"""The part of a worker's loop that hands connections to other workers and takes theirs (`handover.py` says when)."""

from __future__ import annotations

import socket
import time
from typing import Any

from memoryhub.server.http.connection import IDLE, Connection, State
from memoryhub.server.http.handover import Inbox, Place, is_slow
from memoryhub.server.http.http1 import BadRequest
from memoryhub.server.http.loop import READ, Limits, Loop
from memoryhub.server.http.watchdog import Heartbeat

TAKE_AT_ONCE = 8
TAKE_ALL = 1000
SPARE_SECONDS = 30.0  # without a request, after which a spare worker ends
BUSY = BadRequest(503, "The hub has too much to do just now. Try again in a moment.", "busy")


class Sharing(Loop):
    """A loop among others. Without a `place` it is the only one, and answers everything itself."""

    def __init__(self, listener: socket.socket, heartbeat: Heartbeat, place: Place | None, limits: Limits) -> None:
        super().__init__(listener, heartbeat, limits)
        self.place = place
        self.takes_agents = False
        self.is_accepting = place is None or not place.is_spare
        self.began = time.monotonic()

    # ---- taking

    def _turn(self) -> None:
        if self.place is not None:
            now = time.monotonic()
            self.heartbeat.turn(now)
            if self.place.for_pages or not self.takes_agents:
                self._follow(self.place, now)
        super()._turn()

    def _install_signals(self) -> None:
        super()._install_signals()
        if self.place is not None and self.place.for_pages:
            self.selector.register(self.place.pages.reading, READ, self._take_pages)

    def _follow(self, place: Place, now: float) -> None:
        """Begin or cease to take what waits for workers that answer agents."""
        if self.takes_agents == (wanted := place.takes_agents(now) and not place.is_spare):
            return
        self.takes_agents = wanted
        if wanted:
            self.selector.register(place.agents.reading, READ, self._take_agents)
        else:
            self.selector.unregister(place.agents.reading)

    def _take_what_waits(self) -> None:
        """What other workers have handed over as well. It is answered here: by now others stop, too, and may take nothing more."""
        if self.place is not None and self.place.for_pages:
            self._take(self.place.pages, TAKE_ALL)
        if self.place is not None and self.takes_agents:
            self._take(self.place.agents, TAKE_ALL)
        super()._take_what_waits()

    def _take_pages(self, _: Any) -> None:
        assert self.place is not None
        self._take(self.place.pages, 1 if self.place.is_spare else TAKE_AT_ONCE)

    def _take_agents(self, _: Any) -> None:
        assert self.place is not None
        self._take(self.place.agents, TAKE_AT_ONCE)

    def _take(self, inbox: Inbox, at_most: int) -> None:
        for _ in range(at_most):
            taken = inbox.take()
            if taken is None:
                return
            connected, came, is_known = taken
            try:
                connection = self._add(connected, connected.getpeername())
            except OSError:  # the client is gone
                connected.close()
                continue
            connection.was_answered = is_known
            connection.deadline = time.monotonic() + IDLE if is_known else connection.deadline
            connection.buffer += came
            if came and connection.state == State.HEAD:
                self._guarded(connection, self._read_head)

    def _others_have_fewer(self) -> bool:
        return self.place is not None and self.place.have_fewer(time.monotonic(), len(self.connections))

    def _is_done(self) -> bool:
        if super()._is_done():
            return True
        if self.place is None or not self.place.is_spare:
            return False
        now = time.monotonic()
        self._give_away(self.place, now)
        return now - self.began > SPARE_SECONDS and self.heartbeat.rests(now, SPARE_SECONDS) and not self.connections

    # ---- giving

    def _passes_on(self, connection: Connection) -> bool:
        """Whether another worker is to answer the request whose head has come, and has it now."""
        assert connection.head is not None
        place = self.place
        if place is None or self.stopping_at:
            return False
        connection.is_slow = is_slow(connection.head.environ, asks_elsewhere=place.asks_elsewhere)
        if place.for_pages:
            return False
        if connection.is_slow:
            if not self._hand_over(connection, place.pages, connection.raw + connection.buffer):
                self._refuse(connection, BUSY)
            return True
        return (
            len(self.queue) > 0
            and place.has_room_elsewhere(time.monotonic(), len(self.connections))
            and self._hand_over(connection, place.pages, connection.raw + connection.buffer)
        )

    def _stand_alone(self, connection: Connection) -> None:
        """To be called before something that may take long: other workers get the other connections."""
        if self.place is None or not self.place.for_pages:
            return
        now = time.monotonic()
        self.heartbeat.note_slow(now)
        self._follow(self.place, now)
        self._give_away(self.place, now, keep=connection)

    def _give_away(self, place: Place, now: float, keep: Connection | None = None) -> None:
        """All connections between two requests, and those whose quick request waits."""
        if self.stopping_at or not place.has_agents_elsewhere(now):
            return
        for connection in [one for one in self.connections.values() if one is not keep]:
            if connection.state == State.HEAD and not connection.buffer:
                self._hand_over(connection, place.agents, b"")
            elif connection.state == State.WAITING and not connection.is_slow:
                came = connection.as_it_came()
                if came is not None:
                    self._hand_over(connection, place.agents, came)

    def _hand_over(self, connection: Connection, inbox: Inbox, came: bytes) -> bool:
        if not inbox.put(connection.socket, came, is_known=connection.was_answered):
            return False
        self._close(connection)  # the other worker has the same socket
        return True

    # ---- what a subclass does

    def _read_head(self, connection: Connection) -> None:
        raise NotImplementedError
