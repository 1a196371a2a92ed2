"""What it costs to split large tables by space: hot statements on plain tables, in 1 and in 64 hash partitions, 10,000 spaces.

    python -m tests.bench.partitions [--spaces 10000] [--rows 20] [--rounds 5]

The tables are copies of the hub's own, with their indexes, in schemas of their own; the keys have the space in front.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.served import database
from tests.bench.table import Row, finish, row
from tests.bench.turns import against, in_turns, ratios

TABLES = ("memoryhub_revision", "memoryhub_posting", "memoryhub_embedding", "memoryhub_delivery")
PARTITIONS = (0, 1, 64)  # 0: a plain table
MOST = 1.5  # times what a plain table takes
CALLS = 100  # of each in each round
TURN = 20  # calls of each before the next one has its turn
FILLED = {
    "memoryhub_revision": "file_id, number, kind, path, content, size, sha256, is_deleted, added, removed, reason, moved_from, "
    "actor_kind, actor_name, created_at) SELECT space, n % 5, n / 5, 'edit', '/memories/f.md', 'A line of a file.', 17, "
    "md5(n::text), false, 1, 0, '', '', 'hub', 'hub', now()",
    "memoryhub_posting": "lexeme, chunk_id, count, length) SELECT space, 'w' || n % 25, n, 1, 12",
    "memoryhub_embedding": "chunk_id, embedded_by, vector) SELECT space, n, 'bench', part.vector",
    "memoryhub_delivery": "agent_id, thread_id, sha256, dialect, revisions, first_at, last_at, count) "
    "SELECT space, n % 5, n::text, md5(n::text), 'hub', '{}', now(), now(), 1",
}
STATEMENTS = {
    "the newest text of a file": "SELECT content FROM memoryhub_revision WHERE space_id = %(space)s AND file_id = 3 "
    "ORDER BY number DESC LIMIT 1",
    "the postings of a word": "SELECT chunk_id, count, length FROM memoryhub_posting WHERE space_id = %(space)s AND lexeme = 'w7'",
    "the vectors of a space": "SELECT chunk_id, vector FROM memoryhub_embedding WHERE space_id = %(space)s AND embedded_by = 'bench'",
    "a delivery, again": "INSERT INTO memoryhub_delivery AS d (space_id, agent_id, thread_id, sha256, dialect, revisions, first_at, "
    "last_at, count) VALUES (%(space)s, 1, '1', md5('1'), 'hub', '{}', now(), now(), 1) "
    "ON CONFLICT (space_id, agent_id, thread_id, sha256) DO UPDATE SET last_at = excluded.last_at, count = d.count + 1",
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.partitions")
    parser.add_argument("--spaces", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=20, help="of each table in each space")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as place, database(Path(place)):
        from django.db import connection

        with connection.cursor() as cursor:
            for count in PARTITIONS:
                make(cursor, count)
                fill(cursor, given.spaces, given.rows)
            for count in PARTITIONS:
                read_once(cursor, count)
        return finish(rows_of(take_turns(given.spaces, given.rounds), given.spaces))


def make(cursor: Any, count: int) -> None:
    """Copies of the tables in a schema of their own, which comes first from now on."""
    cursor.execute(f"CREATE SCHEMA split_{count}; SET search_path = split_{count}, public")
    for table in TABLES:
        split = " PARTITION BY HASH (space_id)" if count else ""
        cursor.execute(f"CREATE TABLE {table} (LIKE public.{table} INCLUDING DEFAULTS INCLUDING IDENTITY){split}")
        for part in range(count):
            cursor.execute(
                f"CREATE TABLE {table}_{part} PARTITION OF {table} FOR VALUES WITH (MODULUS {count}, REMAINDER {part})"
            )
        cursor.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (space_id, id)")
        cursor.execute(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass AND NOT indisprimary",
            [f"public.{table}"],
        )
        for (made,) in cursor.fetchall():
            cursor.execute(re.sub(r" ON (ONLY )?public\.", f" ON split_{count}.", made))


def fill(cursor: Any, spaces: int, rows: int) -> None:
    cursor.execute(
        "CREATE TEMP TABLE part AS SELECT ARRAY(SELECT random() FROM generate_series(1, 64))::real[]::vector::halfvec AS vector"
    )
    for table in TABLES:
        cursor.execute(
            f"INSERT INTO {table} (space_id, {FILLED[table]} "
            f"FROM generate_series(1, {int(spaces)}) space, generate_series(1, {int(rows)}) n, part"
        )
        cursor.execute(f"VACUUM ANALYZE {table}")
    cursor.execute("DROP TABLE part")


def read_once(cursor: Any, count: int) -> None:
    """What was filled first would have to be read from the disk, where what was filled last is in memory."""
    for table in TABLES:
        cursor.execute(f"SELECT count(one::text) FROM split_{count}.{table} one")


def take_turns(spaces: int, rounds: int) -> dict[str, dict[int, list[float]]]:
    """Milliseconds of each statement over each number of partitions, prepared as the hub prepares them, one space after the other."""
    rng = random.Random(7)
    return {
        what: in_turns({count: statement(sql, count, spaces, rng) for count in PARTITIONS}, rounds, CALLS, block=TURN)
        for what, sql in STATEMENTS.items()
    }


def statement(sql: str, count: int, spaces: int, rng: random.Random) -> Callable[[], object]:
    from memoryhub.db import statements

    named = sql.replace("memoryhub_", f"split_{count}.memoryhub_")
    if sql.startswith("SELECT"):
        return lambda: statements.rows(named, {"space": rng.randrange(1, spaces + 1)})
    return lambda: statements.changed(f"{named} RETURNING id", {"space": rng.randrange(1, spaces + 1)})


def rows_of(taken: dict[str, dict[int, list[float]]], spaces: int) -> list[Row]:
    return [split_row(what, count, taken[what], spaces) for what in STATEMENTS for count in PARTITIONS[1:]]


def split_row(what: str, count: int, taken: dict[int, list[float]], spaces: int) -> Row:
    name = f"{what}: {spaces:,} spaces in {count} partition{'s' * (count > 1)}"
    each, detail = ratios(taken[count], taken[0]), against(taken[count], taken[0])
    return row(
        name, each, baseline="a plain table", unit="x", warm="every table read once", at_most=MOST, detail=detail
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
