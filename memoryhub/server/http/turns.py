"""Whose turn it is, so that no address keeps the others out: turns of the worker's thread, and a limit for strangers."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

from memoryhub import requests
from memoryhub.server.http.http1 import Environ

Waiting = TypeVar("Waiting")
MAX_KNOWN = 10_000  # tokens and sessions that are remembered as good
MAX_ADDRESSES = 10_000


class Turns(Generic[Waiting]):
    """What waits: of each client in the order in which it came, and one client after the other."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[Waiting]] = OrderedDict()
        self._count = 0
        self._last = ""  # who had the last turn

    def __len__(self) -> int:
        return self._count

    def is_waiting(self, client: str) -> bool:
        return client in self._lines

    def append(self, client: str, one: Waiting) -> None:
        self._lines.setdefault(client, deque()).append(one)
        self._count += 1

    def popleft(self) -> Waiting:
        """The next one; its client's others come after those of everybody else, also of who came in between."""
        client, line = next(iter(self._lines.items()))
        if client == self._last and len(self._lines) > 1:
            self._lines.move_to_end(client)
            client, line = next(iter(self._lines.items()))
        self._last = client
        one = line.popleft()
        self._count -= 1
        if line:
            self._lines.move_to_end(client)
        else:
            del self._lines[client]
        return one


class Strangers:
    """Counts the requests that nobody known sent, by address; above the limit, those of strangers are refused there.

    Whoever sent a token or a session that was good lately is not held up by others at the same address. What nobody can
    tell yet, a token or a session not seen before, has the same number again. Requests of this machine do not count.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute, self.clock = per_minute, clock
        self._known: OrderedDict[int, None] = OrderedDict()
        self._used: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests, as of when

    def refuses(self, client: str, environ: Environ) -> bool:
        if client not in self._used:
            return False
        credential = _credential(environ)
        if credential and hash(credential) in self._known:
            return False
        return self._of_late(client) >= self.per_minute * (2 if credential else 1)

    def line_of(self, client: str, environ: Environ) -> str:
        """Whose turn a request takes: that of its token or session, where that was good lately, else that of its address. So of
        agents and people on one machine none holds up the others."""
        credential = _credential(environ)
        return f"known {hash(credential)}" if credential and hash(credential) in self._known else client

    def note(self, client: str, environ: Environ, *, is_refused: bool) -> None:
        """After an answer: remember who is known, and count who is not. `is_refused`: what was sent is not good any more."""
        if requests.KNOWN in environ:
            self._remember(hash(_credential(environ)))
            return
        if is_refused:
            self._known.pop(hash(_credential(environ)), None)
        if self.per_minute and not is_own(client):
            self._used[client] = (self._of_late(client) + 1, self.clock())
            self._used.move_to_end(client)
            if len(self._used) > MAX_ADDRESSES:
                self._used.popitem(last=False)

    def _of_late(self, client: str) -> float:
        """How many count now: each second a sixtieth of the limit is forgotten."""
        count, at = self._used.get(client, (0.0, 0.0))
        return max(0.0, count - (self.clock() - at) * self.per_minute / 60)

    def _remember(self, credential: int) -> None:
        self._known[credential] = None
        self._known.move_to_end(credential)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)


def _credential(environ: Environ) -> str:
    """The token as the application reads it, so that another way to write the header is no other credential; else the cookies."""
    return requests.bearer_token(environ) or environ.get("HTTP_COOKIE") or ""


def is_own(client: str) -> bool:
    """Whether the client is on this machine: nobody, as a unix socket says, or a loopback address."""
    return not client or client.startswith("127.") or client == requests.network_of("::1")
