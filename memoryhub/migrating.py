"""Bring the database's tables to this version, when they are not there yet.

Looking costs one query and a listing of file names; Django's own way imports every migration first (a fifth of a
second at each start of a command).
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import ProgrammingError, connection, connections, transaction

from memoryhub.errors import Unavailable

TURNSTILE = 0x6D656D6F72  # "memor"


def pending() -> list[str]:
    """The migrations of this version that the database has not seen, as `app.name`."""
    return sorted(known() - applied())


def known() -> set[str]:
    found = set()
    for config in apps.get_app_configs():
        spec = importlib.util.find_spec(f"{config.name}.migrations")
        for place in (spec.submodule_search_locations or []) if spec else []:
            found |= {f"{config.label}.{file.stem}" for file in Path(place).glob("[0-9]*.py")}
    return found


def applied() -> set[str]:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT app || '.' || name FROM django_migrations")
            return {row[0] for row in cursor.fetchall()}
    except ProgrammingError:  # a fresh database has no such table
        return set()


def migrate_if_needed() -> bool:
    """Migrate unless everything is there; say whether something was done. Several may call it at once."""
    if not pending():
        return False
    with _turnstile():
        if pending():
            _require_vector()
            call_command("migrate", interactive=False, verbosity=0)
    return True


@contextlib.contextmanager
def _turnstile() -> Iterator[None]:
    """Only one migrates, others wait. A transaction on a second connection: session locks fail behind PgBouncer."""
    second = connections.create_connection("default")
    try:
        second.set_autocommit(False)
        with second.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [TURNSTILE])
        yield
    finally:
        second.close()


def _require_vector() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
        if cursor.fetchone():
            return
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
        name = connection.settings_dict["NAME"]
        if not cursor.fetchone():
            raise Unavailable(
                "The PostgreSQL server has no pgvector: install it there (Debian: postgresql-NN-pgvector), then run "
                f"CREATE EXTENSION vector in the database {name}."
            )
        try:
            with transaction.atomic():
                cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except ProgrammingError as error:
            raise Unavailable(
                f"The database {name} has no pgvector yet and this role may not add it: "
                f"run CREATE EXTENSION vector there once as a superuser."
            ) from error
