"""The few statements that run for every call of an agent, prepared once per connection.

Django's own cursor binds values on the client and so never prepares; this one goes past it, inside the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from django.db import InterfaceError, OperationalError, connection

from memoryhub.errors import Unavailable


def rows(sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
    """The rows of one statement that PostgreSQL keeps prepared after its first few runs."""
    try:
        return fetched(sql, params)
    except (OperationalError, InterfaceError):
        # Django looks after a lost connection only where its own cursors are used.
        if connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        return fetched(sql, params)


def fetched(sql: str, params: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall() if cursor.description else []


def row(sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> tuple[Any, ...]:
    found = rows(sql, params)
    if not found:
        raise Unavailable("The database gave no answer; nothing was changed, try again.")
    return found[0]
