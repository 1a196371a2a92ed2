"""Migrating the database when a migration is missing. Early hubs had other migrations than those of today:
`migrations/_older` brings their databases up to date.

To find that out takes one query and a listing of file names; Django's own way imports every migration first (a fifth of a
second at each start of a command).
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, ProgrammingError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from memoryhub.db import locks
from memoryhub.errors import Unavailable
from memoryhub.migrations import _older
from memoryhub.refusals import sqlstates_of

MIGRATE_LOCK = "memoryhub.migrate"
DEADLOCK, DEADLOCK_TRIES = "40P01", 30  # PostgreSQL finds a deadlock after a second
OWN = "memoryhub."  # names of the hub's own migrations begin so; a number follows


def pending_migrations() -> list[str]:
    """The migrations of this version that the database does not have, as `app.name`."""
    return sorted(known_migrations() - applied_migrations())


def known_migrations() -> set[str]:
    """The migrations of this version, as `app.name`."""
    found = set()
    for config in apps.get_app_configs():
        spec = importlib.util.find_spec(f"{config.name}.migrations")
        for folder in (spec.submodule_search_locations or []) if spec else []:
            found |= {f"{config.label}.{file.stem}" for file in Path(folder).glob("[0-9]*.py")}
    return found


def replaceable_migrations() -> set[str]:
    """The migrations of this version and those that they replace; a database or backup with another one is newer."""
    disk = MigrationLoader(None).disk_migrations
    return {".".join(name) for key, migration in disk.items() for name in (key, *migration.replaces)}


def applied_migrations() -> set[str]:
    """The migrations that the database has, as `app.name`."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT app || '.' || name FROM django_migrations")
            return {row[0] for row in cursor.fetchall()}
    except ProgrammingError:  # a fresh database has no such table
        return set()


def refuse_newer_database() -> None:
    """Unavailable where the database has steps that this version does not know: it would read and write it wrongly."""
    applied = {name for name in applied_migrations() if name.startswith(OWN)}
    unknown = applied - known_migrations()
    if not unknown or unknown <= replaceable_migrations():  # to find those, each migration is imported
        return
    raise Unavailable(
        f"The database has schema {schema_number(applied)}, created by a newer memoryhub; this version knows up to "
        f"{schema_number(known_migrations())}. Install the newer version, or restore a backup of before."
    )


def schema_number(names: set[str]) -> int:
    """The number of the newest step among names of migrations."""
    return max((int(name[len(OWN) : len(OWN) + 4]) for name in names if name.startswith(OWN)), default=0)


def migrate_if_needed(*, has_lock: bool = False) -> bool:
    """Migrate if a migration is missing; answers whether one was. Several processes may call it at once: one at a time does it,
    unless the caller holds the lock."""
    refuse_newer_database()
    if not pending_migrations():
        return False
    with contextlib.nullcontext() if has_lock else locks.in_turn(MIGRATE_LOCK):
        if pending_migrations():
            require_vector()
            call_command("migrate", interactive=False, verbosity=0)
    return True


def migrate_beside_others(migrate: Callable[[], None]) -> None:
    """Call a function that migrates, and again where PostgreSQL ended it because it and a node of an older version waited for each
    other's locks. The migration that was under way is undone by then."""
    for left in reversed(range(DEADLOCK_TRIES)):
        try:
            return migrate()
        except OperationalError as error:
            if not left or DEADLOCK not in sqlstates_of(error):
                raise


def finish_older() -> None:
    """Run the steps that the database of an early hub lacks, before Django looks for `0001_initial` in it."""
    _older.finish()


ROLE_DEFAULTS = {"hnsw.iterative_scan": "relaxed_order", "hnsw.ef_search": "30", "random_page_cost": "1.1"}
MIN_VECTOR = (0, 8)


def set_role_defaults() -> None:
    """Store the settings that each connection of this role starts with: behind PgBouncer a connection keeps none of its own."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT '[0]'::vector")  # loads pgvector: only then may an ordinary role name its settings
        # Other servers of Citus would not have loaded it: there an administrator sets them.
        cursor.execute("SET LOCAL citus.enable_alter_role_set_propagation = off")
        cursor.execute(
            "SELECT s.setconfig FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase "
            "JOIN pg_roles r ON r.oid = s.setrole WHERE d.datname = current_database() AND r.rolname = current_user"
        )
        row = cursor.fetchone()
        stored = set(row[0] if row else [])
        for name, value in ROLE_DEFAULTS.items():
            if f"{name}={value}" not in stored:
                database = connection.ops.quote_name(connection.settings_dict["NAME"])
                cursor.execute(f"ALTER ROLE CURRENT_USER IN DATABASE {database} SET {name} = '{value}'")


def require_vector() -> None:
    """Add pgvector to the database where it is missing; Unavailable if the server has none, an old one, or forbids it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(installed_version, default_version), installed_version IS NOT NULL "
            "FROM pg_available_extensions WHERE name = 'vector'"
        )
        version, is_installed = cursor.fetchone() or (None, False)
        name = connection.settings_dict["NAME"]
        if version is None:
            raise Unavailable(
                "The PostgreSQL server has no pgvector: install it there (Debian: postgresql-NN-pgvector), then run "
                f"CREATE EXTENSION vector in the database {name}."
            )
        if tuple(int(part) for part in version.split(".")[:2]) < MIN_VECTOR:
            raise Unavailable(f"The PostgreSQL server has pgvector {version}; memoryhub needs 0.8 or newer.")
        if is_installed:
            return
        try:
            with transaction.atomic():
                cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except IntegrityError:  # another node has just added it: IF NOT EXISTS does not see what is not committed yet
            return
        except ProgrammingError as error:
            raise Unavailable(
                f"The database {name} has no pgvector yet and this role may not add it: "
                f"run CREATE EXTENSION vector there once as a superuser."
            ) from error
