"""Reading from a streaming replica, where `MEMORYHUB_REPLICA_URL` names one. Nothing else knows that there are two servers.

    replica.read(act)

returns what `act` returns; what it reads comes from the replica if that has everything that the primary has at this
moment, so nobody misses a change, their own or another's. A replica that lags is waited for a moment. Else, and from the
first thing on that `act` writes, the primary is asked. An `act` whose statement fails at the replica is done again at the
primary, unless it wrote something.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections
from django.db.models import Model

T = TypeVar("T")
ALIAS = "replica"
WAIT_SECONDS = 0.02  # for a replica that lags; meanwhile nobody else is answered by this process
POLL_SECONDS = 0.002
# After one that lagged for longer, or was away; twice as long each time, so that caches are not filled from two servers in turn.
REST_SECONDS, MAX_REST_SECONDS = 1.0, 30.0
WAL_AT_PRIMARY = "SELECT pg_current_wal_insert_lsn()::text"
# The position of a server that follows nobody any more says nothing: it was promoted, or belongs to an earlier timeline.
HAS_ALL = (
    "SELECT pg_is_in_recovery() AND EXISTS (SELECT FROM pg_stat_wal_receiver), "
    "coalesce(pg_last_wal_replay_lsn() >= %s::pg_lsn, false)"
)
LAG = (
    "SELECT pg_is_in_recovery(), EXISTS (SELECT FROM pg_stat_wal_receiver), "
    "pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn())::bigint"
)
READ_ONLY, TOOK_TOO_LONG = "25006", "57014"  # as PostgreSQL numbers errors
CLASSES_OF_SERVER = ("08", "25", "40", "53", "57", "58", "XX")  # of errors that say nothing of the statement

log = logging.getLogger("memoryhub")


class _State(threading.local):
    is_reading = False  # from the replica, in this thread
    has_written = False
    rests_until = 0.0
    misses = 0  # in a row


state = _State()


def read(act: Callable[[], T]) -> T:
    """What `act` returns, read from the replica if that has everything."""
    if not settings.REPLICA_URL or state.is_reading or not _has_everything():
        return act()
    state.has_written = False
    try:
        with connections[DEFAULT_DB_ALIAS].execute_wrapper(_note_write), _reading():
            return act()
    except (DatabaseError, InterfaceError) as error:
        if state.has_written or not _is_of_replica(error):
            raise
        _leave_alone(error)
    return act()


@contextmanager
def _reading() -> Iterator[None]:
    state.is_reading = True
    try:
        yield
    finally:
        state.is_reading = False


def is_reading() -> bool:
    """Whether a statement that only reads goes to the replica just now."""
    return state.is_reading and not state.has_written and not connections[DEFAULT_DB_ALIAS].in_atomic_block


def note_write() -> None:
    """What is read from now on must see what was written: until `act` ends, the primary is asked."""
    state.has_written = True


def _note_write(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
    if not str(sql).lstrip().startswith("SELECT"):
        note_write()
    return execute(sql, params, many, context)


def gave_up(error: DatabaseError | InterfaceError) -> None:
    """A statement failed at the replica, and is sent to the primary by who calls this: so are those that follow it."""
    note_write()
    if getattr(error.__cause__, "sqlstate", "") != READ_ONLY:  # that statement writes: the replica is as it should be
        _leave_alone(error)


def _is_of_replica(error: BaseException) -> bool:
    """Whether the primary may answer what this error refused. A statement that is wrong, or takes too long, does so there as well."""
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or (state[:2] in CLASSES_OF_SERVER and state != TOOK_TOO_LONG)


def _has_everything() -> bool:
    """Whether the replica has all that the primary has now, perhaps after a moment."""
    primary = connections[DEFAULT_DB_ALIAS]
    if time.monotonic() < state.rests_until or primary.in_atomic_block:
        return False
    try:
        position = _row(primary, WAL_AT_PRIMARY)[0]
    except (DatabaseError, InterfaceError):  # whoever reads next finds out what it is, and says so
        return False
    try:
        return _reaches(position)
    except (DatabaseError, InterfaceError) as error:
        _leave_alone(error)
        return False


def _reaches(position: str) -> bool:
    until = time.monotonic() + WAIT_SECONDS
    while True:
        is_following, has_all = _row(connections[ALIAS], HAS_ALL, position)
        if is_following and has_all:
            state.misses = 0
            return True
        if not is_following or time.monotonic() >= until:
            _rest()
            return False
        time.sleep(POLL_SECONDS)


def _row(wrapper: Any, sql: str, *params: str) -> tuple[Any, ...]:
    wrapper.ensure_connection()
    with wrapper.wrap_database_errors:
        found: tuple[Any, ...] = wrapper.connection.execute(sql, params).fetchone()
    return found


def _rest() -> None:
    state.rests_until = time.monotonic() + min(MAX_REST_SECONDS, REST_SECONDS * 2.0 ** min(state.misses, 10))
    state.misses += 1


def _leave_alone(error: BaseException) -> None:
    """The replica is not asked for a while; the next one who does makes a new connection."""
    if not state.misses:
        log.warning("the replica cannot be read, the primary is asked: %s", " ".join(str(error).split()))
    _rest()
    connections[ALIAS].close()


def status() -> tuple[bool, str, int]:
    """For people: whether the replica is of use; else what is wrong in a word ("away", "primary", "alone"); and how many bytes of
    the log it has not replayed."""
    position = _row(connections[DEFAULT_DB_ALIAS], WAL_AT_PRIMARY)[0]
    try:
        is_replica, is_following, behind = _row(connections[ALIAS], LAG, position)
    except (DatabaseError, InterfaceError):
        connections[ALIAS].close()
        return False, "away", 0
    if not is_replica:
        return False, "primary", 0
    return bool(is_following), "" if is_following else "alone", max(0, behind or 0)


class Router:
    """Where the ORM's statements go; used only where there is a replica."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        return ALIAS if is_reading() else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        """Always the primary, also for a row that was read elsewhere."""
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS
