"""Bring the database's tables to this version, when they are not there yet. Early hubs had other migrations than those of
today: `migrations/_older` says how their databases come along.

Looking costs one query and a listing of file names; Django's own way imports every migration first (a fifth of a
second at each start of a command).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from memoryhub.db import locks
from memoryhub.errors import Unavailable
from memoryhub.migrations import _older


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


def understood() -> set[str]:
    """Every migration that this version has or stands for: a database or a backup that knows another one is newer."""
    disk = MigrationLoader(None).disk_migrations
    return {".".join(name) for key, migration in disk.items() for name in (key, *migration.replaces)}


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
    with locks.alone("memoryhub.migrate"):
        if pending():
            require_vector()
            call_command("migrate", interactive=False, verbosity=0)
    return True


def finish_older() -> None:
    """Takes the steps that the database of an early hub lacks, before Django looks for `0001_initial` in it."""
    _older.finish()


DEFAULTS = {"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": "60"}
OLDEST_VECTOR = (0, 8)


def keep_defaults() -> None:
    """What every connection of this role starts with: behind PgBouncer no connection keeps a setting of its own."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT '[0]'::vector")  # loads pgvector: only then may an ordinary role name its settings
        cursor.execute(
            "SELECT s.setconfig FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase "
            "JOIN pg_roles r ON r.oid = s.setrole WHERE d.datname = current_database() AND r.rolname = current_user"
        )
        row = cursor.fetchone()
        kept = set(row[0] if row else [])
        for name, value in DEFAULTS.items():
            if f"{name}={value}" not in kept:
                database = connection.ops.quote_name(connection.settings_dict["NAME"])
                cursor.execute(f"ALTER ROLE CURRENT_USER IN DATABASE {database} SET {name} = '{value}'")


def require_vector() -> None:
    """Refuse a server without pgvector, or with one that is too old; make the extension where this role may."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(installed_version, default_version), installed_version IS NOT NULL "
            "FROM pg_available_extensions WHERE name = 'vector'"
        )
        found, is_made = cursor.fetchone() or (None, False)
        name = connection.settings_dict["NAME"]
        if found is None:
            raise Unavailable(
                "The PostgreSQL server has no pgvector: install it there (Debian: postgresql-NN-pgvector), then run "
                f"CREATE EXTENSION vector in the database {name}."
            )
        if tuple(int(part) for part in found.split(".")[:2]) < OLDEST_VECTOR:
            raise Unavailable(f"The PostgreSQL server has pgvector {found}; memoryhub needs 0.8 or newer.")
        if is_made:
            return
        try:
            with transaction.atomic():
                cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except ProgrammingError as error:
            raise Unavailable(
                f"The database {name} has no pgvector yet and this role may not add it: "
                f"run CREATE EXTENSION vector there once as a superuser."
            ) from error
