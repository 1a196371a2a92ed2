"""The database for as long as a command runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django.conf import settings
from django.db import connections

from memoryhub.server import postgres


@contextlib.contextmanager
def database() -> Iterator[None]:
    """Makes the database available inside the block: that of DATABASE_URL, that of the running hub, or one started here."""
    if settings.DATABASE_URL:
        yield
        return
    with postgres.ensure_running(settings.DATA_DIR):
        try:
            yield
        finally:
            for one in connections.all(initialized_only=True):
                if not one.in_atomic_block:  # a transaction of the caller is open on it
                    one.close()  # an open connection would make the server's stop wait
