"""Locks for work that one process at a time may do and that cannot be one transaction: migrations, concurrent index builds.

The lock belongs to a transaction on a second connection, since session locks fail behind PgBouncer.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from django.db import Error, connections

# The transaction that holds the lock is idle on purpose, so the server must not end it.
NO_IDLE_TIMEOUT = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)"
ASK_AGAIN_SECONDS = 0.2
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"


@contextlib.contextmanager
def exclusive(work: str) -> Iterator[None]:
    """Waits for the lock named `work` and holds it inside the block."""
    with _second_connection() as cursor:
        cursor.execute(LOCK, [work])
        yield


@contextlib.contextmanager
def in_turn(work: str) -> Iterator[None]:
    """Waits for the lock named `work` by asking again and again, and holds it inside the block.

    For work that builds indexes concurrently: that waits for all older statements, so also for one that waits for a lock.
    """
    while True:
        with try_exclusive(work) as is_free:
            if is_free:
                yield
                return
        time.sleep(ASK_AGAIN_SECONDS)


@contextlib.contextmanager
def try_exclusive(work: str) -> Iterator[bool]:
    """Yields whether the lock named `work` was free; if so, holds it inside the block.

    It does not wait: CREATE INDEX CONCURRENTLY waits for all older statements, so also for one that waits for this lock.
    """
    with _second_connection() as cursor:
        cursor.execute(TRY_LOCK, [work])
        yield cursor.fetchone()[0]


@contextlib.contextmanager
def _second_connection() -> Iterator[Any]:
    second = connections.create_connection("default")
    try:
        second.set_autocommit(False)
        with second.cursor() as cursor:
            cursor.execute(NO_IDLE_TIMEOUT)
            yield cursor
    finally:
        with contextlib.suppress(Error):  # the server is gone, and the lock with it
            second.rollback()  # the lock is free from here on; after a close, only once the server has noticed it
        second.close()
