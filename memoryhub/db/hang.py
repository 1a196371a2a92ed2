"""A server that hangs: it takes connections and answers nothing, so that whoever asks would wait for good.

A web worker has one thread. Once a second it is interrupted to see whether it waits for the database. If it did a second ago
as well, it asks the server on another connection: where nothing comes either, the server hangs, and the wait ends with an
error. From then on every call fails at once, but for one that tries again every few seconds. A statement that only takes
long is ended after `MEMORYHUB_DATABASE_SECONDS`.
"""

from __future__ import annotations

import contextlib
import select
import signal
import time
from types import FrameType
from typing import Any

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

TICK_SECONDS = 1.0
CONNECT_SECONDS = 2  # the least that libpq knows
TRY_AGAIN_SECONDS = 4.0
WAITING = psycopg.Connection.wait.__code__
NO_ANSWER = "the database does not answer"


class _State:
    is_watching = False
    try_at = 0.0  # not 0: the server hangs, and is tried again at this moment
    ticks = 0  # in a row that found this process waiting
    is_looking = False


def watch() -> None:
    """Begins to look, in the main thread of a web worker."""
    _State.is_watching = True
    signal.signal(signal.SIGALRM, _end_long_wait)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)


def is_watching() -> bool:
    return _State.is_watching


def is_hung() -> bool:
    return _State.try_at > 0


def refuse_while_hung() -> None:
    """Raises where the server hung a moment ago; at the moment to try again it lets one call pass."""
    if not _State.try_at:
        return
    if time.monotonic() < _State.try_at:
        raise psycopg.OperationalError(NO_ANSWER)
    _State.try_at = time.monotonic() + TRY_AGAIN_SECONDS


def note_hang() -> None:
    _State.try_at = time.monotonic() + TRY_AGAIN_SECONDS


def note_answer() -> None:
    _State.try_at = 0.0


def _end_long_wait(number: int, frame: FrameType | None) -> None:
    """What the timer calls. Only a wait for an answer is ended: nothing else is in the midst of something there."""
    if frame is None or frame.f_code is not WAITING:
        _State.ticks = 0
        return
    _State.ticks += 1
    if _State.is_looking or _State.ticks < 2:
        return
    _State.is_looking = True
    try:
        takes_too_long = _State.ticks * TICK_SECONDS > settings.DATABASE_SECONDS
        waiting = frame.f_locals["self"]
        alias = _alias_of(waiting)
        if takes_too_long or not _answers(alias):
            _State.ticks = 0
            if not takes_too_long and alias == DEFAULT_DB_ALIAS:  # without a replica everything goes on
                note_hang()
            waiting.pgconn.finish()
            raise psycopg.OperationalError(NO_ANSWER)
    finally:
        _State.is_looking = False


def _alias_of(connection: Any) -> str:
    """Which of the databases a connection leads to."""
    known = connections.all(initialized_only=True)
    return next((one.alias for one in known if one.connection is connection), DEFAULT_DB_ALIAS)


def _answers(alias: str) -> bool:
    """Whether the server answers on another connection; also where it refuses that in words."""
    parameters: dict[str, Any] = connections[alias].get_connection_params()
    kept = {name: value for name, value in parameters.items() if name in ("host", "port", "user", "password", "dbname")}
    kept |= {name: value for name, value in parameters.items() if name.startswith("ssl")}
    try:
        with contextlib.closing(psycopg.connect(**{**kept, "connect_timeout": CONNECT_SECONDS})) as other:
            return answers_on(other)
    except psycopg.errors.ConnectionTimeout:
        return False
    except psycopg.OperationalError:
        return True


def answers_on(connection: Any) -> bool:
    """Whether a statement is answered in the time for connecting: PgBouncer takes connections while the server behind it hangs."""
    asked, until = connection.pgconn, time.monotonic() + CONNECT_SECONDS
    asked.send_query(b"SELECT 1")
    asked.flush()
    waiting = select.poll()  # not select(): a worker with over 1,000 connections has numbers of sockets that it refuses
    waiting.register(asked.socket, select.POLLIN)
    while asked.is_busy():
        if not waiting.poll(max(0.0, until - time.monotonic()) * 1000):
            return False
        asked.consume_input()
    while asked.get_result() is not None:
        pass
    return True
