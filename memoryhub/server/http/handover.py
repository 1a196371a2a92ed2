"""Who answers what, so that one slow request does not hold up the agents.

A worker has one thread. Some workers, those for pages, answer everything that may take long; the others answer only the
calls that agents make all the time. While nobody asks for a page, workers for pages answer agents as well. Connections
change hands as open sockets: between two requests, or with a request that waits.

    a page arrives at a worker for agents       ->  `pages`: a worker for pages takes it
    a worker for pages is about to answer one   ->  `agents`: a worker for agents takes its other connections
    requests wait while a worker for pages rests  ->  `pages`
"""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from memoryhub.server.http.http1 import Environ
from memoryhub.server.http.watchdog import Heartbeat

# Keeps messages apart, however many processes read and write. Other systems than Linux have it for datagrams alone.
KIND = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
BUFFER = 1 << 20  # bytes of requests that wait to be taken, if the system allows as many
MAX_MESSAGE = 160 * 1024  # a head, a small body, and what came ahead of its turn
FLAGS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
LARGE_BODY = 64 * 1024  # bytes; to look through a text of that size takes long

QUICK = re.compile(
    r"/healthz|/readyz|/static/.*"
    r"|/api/v1/(me|prompt|files|files/.*|batch|edits|moves|quarantine|working|retrieve|promotions|proposals/[0-9]+)"
)


def is_slow(environ: Environ, *, asks_elsewhere: bool = False) -> bool:
    """Whether a request may take long: everything but the calls that agents make all the time. `asks_elsewhere`: the embedder is
    another server, for which a query may wait two seconds."""
    return (
        QUICK.fullmatch(environ["PATH_INFO"]) is None
        or int(environ.get("CONTENT_LENGTH") or 0) > LARGE_BODY
        or (environ["PATH_INFO"] == "/api/v1/prompt" and "at=" in environ["QUERY_STRING"])  # as it was then
        or (asks_elsewhere and has_query(environ))
    )  # fmt: skip


def has_query(environ: Environ) -> bool:
    """Whether a call asks long-term memory something, as far as its head says."""
    path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
    return path == "/api/v1/retrieve" or (path == "/api/v1/prompt" and "query=" in query)


class Inbox:
    """Connections that wait for one of several workers: whichever is free takes the next. Made before they are forked, so
    what lies in it outlives each of them."""

    def __init__(self) -> None:
        self.reading, self._writing = socket.socketpair(socket.AF_UNIX, KIND)
        for end in (self.reading, self._writing):
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)

    def put(self, connected: socket.socket, came: bytes, *, is_known: bool) -> bool:
        """Hands a socket over with the bytes that were read from it; False where the inbox is full. `is_known`: it has been
        answered before."""
        if len(came) >= MAX_MESSAGE:
            return False
        try:
            socket.send_fds(self._writing, [b"%d" % is_known, came], [connected.fileno()])
        except OSError:
            return False
        return True

    def take(self) -> tuple[socket.socket, bytes, bool] | None:
        """The next socket, what came on it and whether it is known; None where nothing waits, or another worker was quicker."""
        try:
            message, numbers, _, _ = socket.recv_fds(self.reading, MAX_MESSAGE, 1, FLAGS)
        except OSError:
            return None
        if not numbers:  # this process had too many open files
            return None
        return socket.socket(fileno=numbers[0]), message[1:], message[:1] == b"1"


@dataclass
class Place:
    """Where a worker stands among the others. `agents` and `pages` are for whoever is free of each kind."""

    heartbeat: Heartbeat
    for_pages: bool
    agents: Inbox
    pages: Inbox
    others: list[Place] = field(default_factory=list)
    asks_elsewhere: bool = False  # whether queries wait for another server
    is_spare: bool = False  # accepts nothing itself, and ends when it has had nothing to do for a while

    def takes_agents(self, now: float) -> bool:
        """Whether this one takes what lies in `agents`: always, for pages while none were asked for, or where nobody else does."""
        return not self.for_pages or self.heartbeat.rests(now) or not self.has_agents_elsewhere(now)

    def has_agents_elsewhere(self, now: float) -> bool:
        """Whether another worker answers agents just now."""
        return any(other.heartbeat.is_well(now) for other in self.others if not other.for_pages)

    def has_room_elsewhere(self, now: float, connections: int) -> bool:
        """Whether a worker for pages rests, and has fewer connections."""
        return any(
            other.heartbeat.connections < connections - 1
            and other.heartbeat.rests(now)
            and other.heartbeat.is_well(now)
            for other in self.others
            if other.for_pages and not other.is_spare
        )

    def have_fewer(self, now: float, connections: int) -> bool:
        """Whether another worker that accepts has fewer connections."""
        return any(
            other.heartbeat.connections < connections and other.heartbeat.is_well(now)
            for other in self.others
            if not other.is_spare
        )


def places(
    heartbeats: Sequence[Heartbeat], *, spare: Heartbeat | None = None, asks_elsewhere: bool = False
) -> list[Place]:
    """A place for each worker: half of them, rounded down, are for pages; the spare one is as well."""
    agents, pages = Inbox(), Inbox()
    first = len(heartbeats) - len(heartbeats) // 2
    made = [Place(one, number >= first, agents, pages) for number, one in enumerate(heartbeats)]
    if spare is not None:
        made.append(Place(spare, True, agents, pages, is_spare=True))
    for place in made:
        place.asks_elsewhere = asks_elsewhere
        place.others = [other for other in made if other is not place]
    return made
