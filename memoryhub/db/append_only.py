"""Append-only rows, which triggers keep as they are, and the exception for erasures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

# SET LOCAL rather than set_config(): Citus hands on to its other servers what that says. Without Citus the first name does nothing.
NAME_SPACE = "SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL memoryhub.erasing = '{space}'"


@contextmanager
def unlocked(space_id: int) -> Iterator[None]:
    """Lets this transaction erase rows of a space, and put marks into them, that are kept permanently otherwise."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(NAME_SPACE.format(space=int(space_id)))
        yield
        cursor.execute(NAME_SPACE.format(space=""))
