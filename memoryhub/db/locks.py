"""Work that one process at a time may do, and that cannot stand in one transaction itself: migrations, an index made while
others write. Who is in holds a lock of a transaction on a second connection: session locks fail behind PgBouncer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from django.db import connections

# A server may end transactions in which nothing happens; this one waits on purpose.
STAY = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)"
ENTER = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
TRY = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"


@contextlib.contextmanager
def alone(work: str) -> Iterator[None]:
    """Waits until nobody else on this database does this work, then keeps others out."""
    with _second() as cursor:
        cursor.execute(ENTER, [work])
        yield


@contextlib.contextmanager
def first(work: str) -> Iterator[bool]:
    """Says whether nobody else is at this work; if so, keeps others out. Nobody waits: an index that is made while others
    write waits for every statement that began before it, so for one that waits here too."""
    with _second() as cursor:
        cursor.execute(TRY, [work])
        yield cursor.fetchone()[0]


@contextlib.contextmanager
def _second() -> Iterator[Any]:
    second = connections.create_connection("default")
    try:
        second.set_autocommit(False)
        with second.cursor() as cursor:
            cursor.execute(STAY)
            yield cursor
    finally:
        second.close()
