"""Distributing the large tables over servers by space, with the extension Citus.

Each table is one transaction: a foreign key out of a large table is dropped, its primary key gets the space in front, and Citus
makes shards of its rows. Where that fails the table is as it was, those before it stay distributed, and another run goes on there.
Small tables that statements about large ones read get a copy on every server, after the large ones: Citus takes a table whose
foreign keys lead to a copied one for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import DatabaseError, connection, transaction

from memoryhub.db import locks
from memoryhub.errors import Invalid, Unavailable
from memoryhub.server.migrate import MIGRATE_LOCK

# The first one decides about the shards: all have as many, and a space has its rows of every table on one server.
SPLIT = (
    "memoryhub_revision", "quarantine.record", "quarantine.state", "activity.line", "memoryhub_longtermentry",
    "memoryhub_entryrevision", "memoryhub_chunk", "memoryhub_embedding", "memoryhub_posting", "memoryhub_telltale",
    "memoryhub_lexemecount", "memoryhub_delivery", "memoryhub_prompttext",
)  # fmt: skip
COPIED = (
    "memoryhub_space", "memoryhub_membership", "memoryhub_agent", "memoryhub_mount", "memoryhub_policyrule",
    "memoryhub_file", "memoryhub_source", "memoryhub_sourcechange", "memoryhub_agentchange", "memoryhub_proposal",
    "memoryhub_workingentry", "memoryhub_workingrevision", "memoryhub_chunkcount", "memoryhub_entrypair",
    "memoryhub_filewords", "memoryhub_dialecttemplate", "memoryhub_templatechoice",
)  # fmt: skip
COLUMN = "space_id"
# Functions that triggers call in their text: nothing else tells Citus that the servers with shards need them.
CALLED = ("memoryhub_only_erased(jsonb,jsonb)",)
NO_CITUS = (
    "The database {name} has no Citus: add it to shared_preload_libraries of the server, and run CREATE EXTENSION citus there "
    "once as a superuser."
)

# Without the schema, so that another extension with these names would do, such as the one of a test.
HAS_CITUS = "SELECT to_regclass('pg_dist_partition') IS NOT NULL AND to_regproc('create_distributed_table') IS NOT NULL"
# A table whose key leads to a copied one is known to Citus too, as "n" without being of type "t", and is not done.
DONE = """
SELECT logicalrelid::oid::regclass::text FROM pg_dist_partition
WHERE logicalrelid = ANY (%s::regclass[]) AND (partmethod = 'h' OR repmodel = 't')
"""
SHAPES = """
SELECT wanted.name, key.conname::text, coalesce(space.attnum = ANY (key.conkey), false),
  ARRAY(SELECT conname::text FROM pg_constraint WHERE conrelid = c.oid AND contype = 'f' ORDER BY 1),
  ARRAY(SELECT tgname::text FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal AND tgtype & 32 > 0 ORDER BY 1)
FROM unnest(%(names)s::text[]) WITH ORDINALITY AS wanted(name, place)
JOIN pg_class c ON c.oid = wanted.name::regclass
LEFT JOIN pg_attribute space ON space.attrelid = c.oid AND space.attname = %(column)s
LEFT JOIN pg_constraint key ON key.conrelid = c.oid AND key.contype = 'p'
ORDER BY wanted.place
"""
# What Citus would refuse, each as a sentence.
FAULTS = """
SELECT format('%%s may be without a space', attrelid::regclass) FROM pg_attribute
WHERE attrelid = ANY (%(names)s::regclass[]) AND attname = %(column)s AND NOT attnotnull
UNION ALL
SELECT format('%%s is unique across spaces', indexrelid::regclass) FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = %(column)s
WHERE i.indrelid = ANY (%(names)s::regclass[]) AND i.indisunique AND NOT i.indisprimary AND a.attnum <> ALL (i.indkey::int2[])
UNION ALL
SELECT format('a foreign key of %%s leads to %%s', conrelid::regclass, confrelid::regclass) FROM pg_constraint
WHERE contype = 'f' AND confrelid = ANY (%(names)s::regclass[])
"""


@dataclass(frozen=True)
class Table:
    """A table as it stands."""

    name: str
    key: str | None  # the name of its primary key; two large tables have none
    has_space_in_key: bool
    foreign_keys: tuple[str, ...]
    truncate_guards: tuple[str, ...]  # triggers that refuse to empty it
    is_done: bool

    @property
    def is_split(self) -> bool:
        return self.name in SPLIT

    @property
    def steps(self) -> list[str]:
        """The SQL that is left to do, in one transaction."""
        if self.is_done:
            return []
        return [*self._reshape(), *self._split()] if self.is_split else [*self._copy()]

    def _reshape(self) -> Iterator[str]:
        for name in self.foreign_keys:
            yield f'ALTER TABLE {self.name} DROP CONSTRAINT "{name}"'
        if self.key and not self.has_space_in_key:
            key = f'ADD CONSTRAINT "{self.key}" PRIMARY KEY ({COLUMN}, id)'
            yield f'ALTER TABLE {self.name} DROP CONSTRAINT "{self.key}", {key}'

    def _split(self) -> Iterator[str]:
        beside = "none" if self.name == SPLIT[0] else SPLIT[0]
        yield f"SELECT create_distributed_table('{self.name}', '{COLUMN}', colocate_with => '{beside}')"
        for name in self.truncate_guards:
            yield f'ALTER TABLE {self.name} DISABLE TRIGGER "{name}"'
        yield self._drop_local_rows
        for name in self.truncate_guards:
            yield f'ALTER TABLE {self.name} ENABLE TRIGGER "{name}"'

    def _copy(self) -> Iterator[str]:
        yield f"SELECT create_reference_table('{self.name}')"
        yield self._drop_local_rows

    @property
    def _drop_local_rows(self) -> str:
        """What the shards were filled from still lies on the coordinator, where nobody reads it."""
        return f"SELECT truncate_local_data_after_distributing_table('{self.name}')"


def require_citus() -> None:
    with connection.cursor() as cursor:
        cursor.execute(HAS_CITUS)
        if not cursor.fetchone()[0]:
            raise Unavailable(NO_CITUS.format(name=connection.settings_dict["NAME"]))


def tables() -> list[Table]:
    """The tables as they stand, in the order in which they are distributed."""
    names = [*SPLIT, *COPIED]
    with connection.cursor() as cursor:
        cursor.execute(DONE, [names])
        done = {name for (name,) in cursor.fetchall()}
        cursor.execute(SHAPES, {"names": names, "column": COLUMN})
        return [
            Table(name, key, has_space, tuple(foreign), tuple(guards), name in done)
            for name, key, has_space, foreign, guards in cursor.fetchall()
        ]


def faults() -> list[str]:
    """Why large tables cannot be split by space as they are; nothing, unless somebody changed them by hand."""
    with connection.cursor() as cursor:
        cursor.execute(FAULTS, {"names": list(SPLIT), "column": COLUMN})
        return sorted(one for (one,) in cursor.fetchall())


def distribute(tell: Callable[[str], None] = lambda name: None) -> list[str]:
    """Distributes the tables that are not yet, and answers their names; `tell` hears of each before it begins.

    Unavailable names the table at which it failed, and what remains.
    """
    if found := faults():
        raise Invalid(f"Nothing was changed: {'; '.join(found)}.")
    with locks.in_turn(MIGRATE_LOCK):
        waiting = [table for table in tables() if not table.is_done]
        if waiting:
            _run([f"SELECT create_distributed_function('{name}')" for name in CALLED])
        for at, table in enumerate(waiting):
            tell(table.name)
            try:
                _run(table.steps)
            except DatabaseError as error:
                left = ", ".join(one.name for one in waiting[at:])
                reason = str(error).strip().split("\n")[0]
                raise Unavailable(f"{table.name} could not be distributed ({reason}). What remains: {left}.") from error
    return [table.name for table in waiting]


def _run(steps: list[str]) -> None:
    """Steps of one transaction. Triggers are made on each shard, which Citus calls unsafe: those of the hub read their row alone."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL citus.enable_unsafe_triggers = on")
        # One after the other: a function is made before what calls it.
        cursor.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
        for step in steps:
            cursor.execute(step)
