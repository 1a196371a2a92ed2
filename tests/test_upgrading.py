"""Databases of earlier hubs, of each release and of some versions before the first: small ones, as the code of that time left
them, go on here. `python -m tests.release_dump` makes that of a release."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from memoryhub.migrations import _older
from memoryhub.server import migrate as migrating
from memoryhub.server import postgres
from tests.cluster import soon
from tests.running import command, several

FIXTURES = Path(__file__).parent / "fixtures"
POSTINGS = importlib.import_module("memoryhub.migrations.0004_postings_in_order")
INITIAL = importlib.import_module("memoryhub.migrations.0001_initial").Migration
TRUST = importlib.import_module("memoryhub.migrations.0002_trust").Migration
SECOND = importlib.import_module("memoryhub.migrations.0003_second_release").Migration
OLD_INDEXES = f"""
DROP INDEX quarantine.record_findings; CREATE INDEX record_codes ON quarantine.record USING gin (codes); {POSTINGS.PATHS};
DELETE FROM django_migrations WHERE app = 'memoryhub' AND name IN ('0004_postings_in_order', '0010_fewer_indexes')
"""
OURS = "relnamespace = ANY (ARRAY['public', 'quarantine', 'activity']::regnamespace[]) AND relkind = 'r'"

# Everything but the order of columns, which tables that grew have by their age.
CATALOG = f"""
SELECT 'column', attrelid::regclass::text, concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
    attstorage, pg_get_expr(adbin, adrelid))
FROM pg_attribute JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE {OURS} AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT 'options', oid::regclass::text, array_to_string(reloptions, ' ') FROM pg_class WHERE {OURS}
UNION ALL SELECT 'constraint', conrelid::regclass::text, conname || ' ' || pg_get_constraintdef(c.oid)
FROM pg_constraint c JOIN pg_class t ON t.oid = conrelid WHERE {OURS}
UNION ALL SELECT 'index', indrelid::regclass::text, pg_get_indexdef(indexrelid)
FROM pg_index JOIN pg_class t ON t.oid = indrelid WHERE {OURS}
UNION ALL SELECT 'trigger', tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc WHERE proname LIKE 'memoryhub%'
UNION ALL SELECT 'sequence', oid::regclass::text, '' FROM pg_class
WHERE relnamespace = ANY (ARRAY['public', 'quarantine', 'activity']::regnamespace[]) AND relkind = 'S'
"""


def url(name: str) -> str:
    embedded = f"postgresql://memoryhub@/memoryhub?host={postgres.socket_dir(Path(os.environ['MEMORYHUB_TEST_RUN']))}"
    return urlsplit(os.environ.get("TEST_DATABASE_URL") or embedded)._replace(path=f"/{name}").geturl()


@contextlib.contextmanager
def new_database() -> Iterator[str]:
    name = f"upgrade_{os.getpid()}"
    with psycopg.connect(url("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield url(name)
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def migrate(address: str, place: Path) -> str:
    done = command("migrate", DATABASE_URL=address, MEMORYHUB_DATA_DIR=str(place))
    assert done.returncode == 0, done.stderr
    return done.stdout


def catalog(connection: psycopg.Connection) -> set[tuple[str, ...]]:
    return set(connection.execute(CATALOG).fetchall())


def rows(connection: psycopg.Connection) -> dict[str, dict[Any, dict[str, Any]]]:
    """Every row by its table and its primary key, as an object."""
    tables = [name for (name,) in connection.execute(f"SELECT oid::regclass::text FROM pg_class WHERE {OURS}")]
    found = {}
    for table in tables:
        query = sql.SQL("SELECT to_jsonb(t) FROM {} t").format(sql.SQL(table))
        found[table] = {row.get("id", row.get("session_key")): row for (row,) in connection.execute(query)}
    return found


@pytest.fixture(scope="module")
def fresh(django_db_setup, django_db_blocker) -> set[tuple[str, ...]]:
    """What a new installation makes: the database of the other tests was migrated from nothing as well."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(CATALOG)
        return set(cursor.fetchall())


@pytest.mark.parametrize("left_at", ["0007", "0021"])
def test_a_database_of_an_early_hub_becomes_like_a_new_one_and_loses_nothing(left_at, fresh, tmp_path):
    with new_database() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute((FIXTURES / f"hub_at_{left_at}.sql").read_text())
        before = rows(connection)
        migrate(address, tmp_path)
        after = rows(connection)
        assert catalog(connection) == fresh
    (text,) = [row.pop("text") for row in before["memoryhub_prompttext"].values()]
    (packed,) = [row["text"] for row in after["memoryhub_prompttext"].values()]
    assert plain(text) == plain(packed)
    for table, kept in before.items():
        for key, row in kept.items():
            assert after[table][key].items() >= row.items()
    assert {row["name"] for row in after["django_migrations"].values()} >= {
        "0001_initial",
        *map(name, INITIAL.replaces),
    }
    assert {row["chunk_id"] for row in after["memoryhub_telltale"].values()} == set(after["memoryhub_chunk"])


RELEASES = sorted(path.stem.removeprefix("hub_") for path in FIXTURES.glob("hub_*_?.sql"))


@pytest.mark.django_db  # `fresh` looks at the tests' database
@pytest.mark.parametrize("release", RELEASES)
def test_a_database_of_a_release_goes_on(release, fresh, tmp_path):
    """Like a new one, nothing lost, and its agent gets the same prompt, byte for byte; also beside a node of that release."""
    dumped = (FIXTURES / f"hub_{release}.sql").read_text()
    with new_database() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute(dumped)
        before = rows(connection)
        if release == "0_1_0":
            migrate_beside_a_node(address, tmp_path)
        else:  # no column of files is added: nothing to wait for
            migrate(address, tmp_path)
        after = rows(connection)
        assert catalog(connection) == fresh
        hub = {"DATABASE_URL": address, "MEMORYHUB_DATA_DIR": str(tmp_path), "MEMORYHUB_EMBEDDER": "hashing"}
        doctor, (status, prompt, told) = several(["doctor"], ["prompt", "--agent", "forge"], **hub)
        assert (status, told) == (0, "")
        assert [line for line in doctor[1].splitlines() if "WRONG" in line] == []
    for table, kept in before.items():
        if table in CHANGED_SINCE or table == "django_migrations":
            continue
        for key, row in kept.items():
            assert without_packed(after[table][key]).items() >= without_packed(row).items(), table
    asked = dumped.split("-- prompt: ", 1)[1].split("\n", 1)[0]
    assert hashlib.sha256(prompt.encode()).hexdigest() == asked


WAITS_FOR_FILES = "SELECT FROM pg_locks WHERE relation = 'memoryhub_file'::regclass AND NOT granted"


def migrate_beside_a_node(address: str, place: Path) -> None:
    """The node holds a table that the migration wants, then asks for one that this holds: PostgreSQL ends the one that waited first."""
    with psycopg.connect(address) as node, ThreadPoolExecutor(1) as background:
        node.execute("SELECT FROM memoryhub_file")
        done = background.submit(migrate, address, place)
        with psycopg.connect(address, autocommit=True) as watching:
            assert soon(lambda: watching.execute(WAITS_FOR_FILES).fetchone() is not None, seconds=60)
        node.execute("SELECT FROM memoryhub_revision")
        node.rollback()
        done.result()


def test_the_first_release_and_the_state_before_the_next_are_there():
    assert {"0_1_0", "before_0_2_0"} <= set(RELEASES)


CHANGED_SINCE = {"memoryhub_job"}  # work that this hub does began anew


def without_packed(row: dict[str, Any]) -> dict[str, Any]:
    """Texts of prompts are kept compressed by now."""
    return {key: value for key, value in row.items() if key != "text" or not str(value).startswith("\\x")}


def plain(hexadecimal: str) -> bytes:
    content = bytes.fromhex(hexadecimal.removeprefix("\\x"))
    return zlib.decompress(content) if content.startswith(b"\x78\x01") else content


def name(replaced: tuple[str, str]) -> str:
    return replaced[1]


def test_a_database_between_two_versions_becomes_like_a_new_one(fresh, tmp_path):
    """It took the steps one by one that are one migration now."""
    with new_database() as address, psycopg.connect(address, autocommit=True) as connection:
        to = ("memoryhub", "0002_trust")  # later migrations begin where it ends
        done = command("migrate", *to, DATABASE_URL=address, MEMORYHUB_DATA_DIR=str(tmp_path))
        assert done.returncode == 0, done.stderr
        connection.execute("DELETE FROM django_migrations WHERE app = 'memoryhub' AND name = '0002_trust'")
        record_applied(connection, TRUST.replaces)
        migrate(address, tmp_path)
        assert catalog(connection) == fresh
        applied = {row["name"] for row in rows(connection)["django_migrations"].values()}
    assert applied >= {"0002_trust", "0003_second_release"}


@pytest.mark.parametrize("took", [5, 6])
def test_a_database_that_took_some_steps_of_a_migration_takes_the_others(took, fresh, tmp_path):
    """Of `0003_second_release`, which a database of a release or a new one takes whole."""
    dumped = (FIXTURES / "hub_before_0_2_0.sql").read_text()
    with new_database() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute(dumped)
        scripts, had = _older.steps(), {row["name"] for row in rows(connection)["django_migrations"].values()}
        steps = [step for step in SECOND.replaces[:took] if name(step) not in had]
        for step in steps:
            connection.execute(scripts[name(step)])
        record_applied(connection, steps)
        migrate(address, tmp_path)
        assert catalog(connection) == fresh
        connection.execute(OLD_INDEXES)  # as after `0008_postings_in_order`
        migrate(address, tmp_path)
        assert catalog(connection) == fresh
        applied = [row["name"] for row in rows(connection)["django_migrations"].values()]
    assert {"0003_second_release", "0004_postings_in_order", *map(name, SECOND.replaces)} <= set(applied)


def record_applied(connection: psycopg.Connection, replaced: list[tuple[str, str]]) -> None:
    insert = "INSERT INTO django_migrations (app, name, applied) VALUES ('memoryhub', %s, now())"
    with connection.cursor() as cursor:
        cursor.executemany(insert, [[name(one)] for one in replaced])


def test_every_migration_that_was_replaced_has_its_step():
    steps = [_older.SCHEMAS, _older.TABLES, *_older.steps()]
    replaced = INITIAL.replaces + SECOND.replaces + POSTINGS.Migration.replaces[1:]
    assert steps == [name(one) for one in replaced if name(one) != _older.RECALL]
    assert set(_older.IN_PYTHON) <= set(_older.steps())


def test_postings_that_were_partitioned_by_hand_change_their_index_too(db):
    with connection.cursor() as cursor, connection.schema_editor(atomic=False) as editor:
        cursor.execute(
            "ALTER TABLE memoryhub_posting RENAME TO whole; DROP INDEX posting_best; CREATE TABLE memoryhub_posting (LIKE whole) "
            "PARTITION BY HASH (space_id); CREATE TABLE part PARTITION OF memoryhub_posting FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
        )
        for change, made in ((POSTINGS.forward, "posting_best"), (POSTINGS.backward, "one_posting")):
            change(None, editor)
            cursor.execute(
                "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'memoryhub_posting'::regclass"
            )
            assert cursor.fetchall() == [(made,)]


def test_a_database_that_was_interrupted_before_it_had_a_table_begins_anew(db):
    MigrationRecorder.Migration.objects.filter(app="memoryhub").delete()
    MigrationRecorder.Migration.objects.create(app="memoryhub", name="0001_schemas")
    _older.finish()
    assert not MigrationRecorder.Migration.objects.filter(app="memoryhub").exists()


def test_a_step_that_fails_leaves_the_database_where_it_was(db, monkeypatch):
    """And the next start takes it again."""
    last = name(INITIAL.replaces[-1])
    MigrationRecorder.Migration.objects.filter(app="memoryhub", name=last).delete()
    monkeypatch.setattr(_older, "steps", lambda: {last: "CREATE TABLE half_way (id int); SELECT 1 / 0"})
    with pytest.raises(Exception, match="division by zero"):
        _older.finish()
    assert f"memoryhub.{last}" not in migrating.applied_migrations()


def test_backups_of_early_hubs_are_not_taken_for_newer_ones():
    assert {
        "memoryhub.0007_files_fewer_indexes",
        "memoryhub.0021_entries_fewer_indexes",
    } <= migrating.replaceable_migrations()
    assert migrating.known_migrations() <= migrating.replaceable_migrations()
