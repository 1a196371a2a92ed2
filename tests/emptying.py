"""Takes back what a test committed: by DELETE, and in those tables alone that hold rows.

Django's way is TRUNCATE of all tables and then their first rows again, which costs thirty times as much: each table and each
of its indexes gets a new file, whether anything stood in it or not.
"""

from __future__ import annotations

from functools import cache

from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper

FIRST_ROWS = {"django_migrations", "django_content_type", "auth_permission"}  # what migrating puts in
TABLES = """
SELECT relname, oid::regclass::text FROM pg_class
WHERE relnamespace = ANY (ARRAY['public', 'quarantine', 'activity']::regnamespace[]) AND relkind = 'r'
"""
APPEND_ONLY = ("quarantine.", "activity.")
# What was counted (reltuples), or grew beyond a megabyte, begins anew by TRUNCATE: else it decides about the plans of later tests.
STATE = """
(SELECT '{table}', reltuples >= 0 OR pg_relation_size(oid) > 2^20 FROM pg_class
 WHERE oid = '{table}'::regclass AND (reltuples >= 0 OR EXISTS (SELECT FROM {table})))
"""


def empty_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_filled())
        filled = cursor.fetchall()
        if filled:  # TRUNCATE first: it is refused once rows that others refer to are deleted in this transaction
            filled.sort(key=lambda one: not one[1])
            _in_one_transaction(cursor, ";".join(_emptied(*one) for one in filled))


def _in_one_transaction(cursor: CursorWrapper, statements: str) -> None:
    try:
        cursor.execute(f"BEGIN; {statements}; COMMIT")
    except DatabaseError:
        cursor.execute("ROLLBACK")  # else every later test of this process fails too
        raise


@cache
def _filled() -> str:
    """The statement that finds the tables to empty, and whether each has to begin anew."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = [table for name, table in cursor.fetchall() if name not in FIRST_ROWS]
    return " UNION ALL ".join(STATE.format(table=table) for table in tables)


def _emptied(table: str, begins_anew: bool) -> str:
    empties = f"TRUNCATE {table} CASCADE" if begins_anew else f"DELETE FROM {table}"
    if not table.startswith(APPEND_ONLY):
        return empties
    # They refuse it: only their owner may switch that off. Tests look at their first numbers.
    off, on = (f"ALTER TABLE {table} {does} TRIGGER USER" for does in ("DISABLE", "ENABLE"))
    return f"{off}; {empties}; {on}; ALTER TABLE {table} ALTER COLUMN id RESTART"
