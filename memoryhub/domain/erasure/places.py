"""Every place of the database where a text can stand, from its catalogue, and a search through all of them."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from memoryhub.text.needles import Needles

CATALOGUE = """
SELECT n.nspname, c.relname, a.attname, t.typname, t.typcategory, e.typcategory, a.atttypmod,
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY 1, 2, a.attnum
"""
TEXT, JSON, BYTES, ARRAY, OTHER = "text", "json", "bytes", "array", "other"
MADE_AT = ("created_at", "at", "first_at", "made_at")
OWN = "memoryhub_erasure"  # what is to be erased stands there until the end
FEW = 100  # marks up to which the database looks for them itself
FETCH = 50  # rows, of up to a megabyte each
MAX_UNPACKED = 256 * 1024 * 1024


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    limit: int  # characters of a varchar; 0: any number
    unique: bool

    @property
    def quoted(self) -> str:
        return connection.ops.quote_name(self.name)


@dataclass
class Table:
    schema: str
    name: str
    key: str = "ctid"  # what its rows are found by again: the id where there is one, which is the same on every server
    key_type: str = "tid"
    columns: list[Column] = field(default_factory=list)
    other: set[str] = field(default_factory=set)  # names of its other columns

    @property
    def quoted(self) -> str:
        return f'"{self.schema}"."{self.name}"'

    @property
    def label(self) -> str:
        return f"{self.schema}.{self.name}".removeprefix("public.").removeprefix("memoryhub_")

    @property
    def space_column(self) -> str | None:
        """The column that says whose row it is; none for tables of the whole hub."""
        if self.name == "memoryhub_space":
            return "id"
        return "space_id" if "space_id" in self.other else None

    @property
    def made_at(self) -> str | None:
        return next((name for name in MADE_AT if name in self.other), None)


def tables() -> list[Table]:
    """Every table of every schema with those of its columns that can hold text."""
    found: dict[tuple[str, str], Table] = {}
    with connection.cursor() as cursor:
        cursor.execute(CATALOGUE)
        for schema, name, column, type_name, category, element, modifier, unique in cursor.fetchall():
            table = found.setdefault((schema, name), Table(schema, name))
            kind = _kind(type_name, category, element)
            table.other.add(column)
            if column == "id":
                table.key, table.key_type = column, type_name
            if kind:
                limit = modifier - 4 if type_name in ("varchar", "bpchar") and modifier > 4 else 0
                table.columns.append(Column(column, kind, limit, unique))
    return [table for table in found.values() if table.columns]


def _kind(type_name: str, category: str, element: str | None) -> str:
    if type_name in ("json", "jsonb"):
        return JSON
    if type_name == "bytea":
        return BYTES
    if category == "A" and element in ("S", "U"):
        return ARRAY
    if type_name in ("tsvector", "xml", "hstore", "ltree", "jsonpath"):
        return OTHER
    return TEXT if category == "S" else ""


@dataclass
class Found:
    """How many rows of each column have a copy; `seen` is when the oldest of them was made."""

    inside: Counter[str] = field(
        default_factory=Counter
    )  # in the space that is asked for, or anywhere for the whole hub
    elsewhere: Counter[str] = field(default_factory=Counter)
    columns: int = 0
    seen: datetime | None = None


def search(needles: Needles, space_id: int, progress: Callable[[int, int], None] = lambda done, total: None) -> Found:
    """Looks for copies in every column of every table. `space_id` 0 is the whole hub."""
    found, every = Found(), [table for table in tables() if table.name != OWN]
    for done, table in enumerate(every, 1):
        found.columns += len(table.columns)
        _search_table(table, needles, space_id, found)
        progress(done, len(every))
    return found


def _search_table(table: Table, needles: Needles, space_id: int, found: Found) -> None:
    for row in rows_with(table, needles):
        inside = not space_id or row.space_id == space_id
        for column, value in zip(table.columns, row.values, strict=True):
            if value is not None and is_copy(needles, table, column, value):
                (found.inside if inside else found.elsewhere)[f"{table.label}.{column.name}"] += 1
                if inside and row.made_at and (found.seen is None or row.made_at < found.seen):
                    found.seen = row.made_at


def is_copy(needles: Needles, table: Table, column: Column, value: str | bytes) -> bool:
    data = as_data(value)
    return needles.is_in(data) or any(needles.is_in(one) for one in unpacked(table, column, data))


@dataclass(frozen=True)
class Row:
    place: str  # the text of its key
    space_id: int | None
    made_at: datetime | None
    values: tuple[Any, ...]


def rows_with(table: Table, needles: Needles, where: str = "", params: tuple[Any, ...] = ()) -> Iterator[Row]:
    """The rows of a table that may have a copy, in one snapshot: the database leaves out others where it can tell."""
    condition, values = _may_have(table, needles)
    columns = ", ".join(c.quoted if c.kind == BYTES else f"{c.quoted}::text" for c in table.columns)
    wanted = " AND ".join(f"({one})" for one in (where, condition) if one) or "true"
    space, made_at = table.space_column or "NULL::bigint", table.made_at or "NULL::timestamptz"
    sql = f"SELECT {table.key}::text, {space}, {made_at}, {columns} FROM {table.quoted} WHERE {wanted}"  # noqa: S608 (names)
    name = f"scan_{table.name}"[:60]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")  # between two fetches
        cursor.execute(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}", [*params, *values])
        while True:
            cursor.execute(f"FETCH {FETCH} FROM {name}")
            rows = cursor.fetchall()
            for place, space_id, at, *texts in rows:
                yield Row(place, space_id, at, tuple(bytes(v) if isinstance(v, memoryview) else v for v in texts))
            if len(rows) < FETCH:
                break
        cursor.execute(f"CLOSE {name}")


HAS_TEXT = "EXISTS (SELECT FROM unnest(%s::text[]) n WHERE strpos({column}::text, n) > 0)"
# Bytes that begin as packed ones do are looked into here.
HAS_BYTES = (
    "EXISTS (SELECT FROM unnest(%s::bytea[]) n WHERE position(n in {column}) > 0) "
    "OR substring({column} from 1 for 1) IN ('\\x78', '\\x1f', '\\x50')"
)


def _may_have(table: Table, needles: Needles) -> tuple[str, list[Any]]:
    """A condition that each row with a copy fulfils; none where there are many needles, so that all rows are read."""
    marks = needles.marks(FEW)
    if not marks:
        return "", []
    parts: list[str] = []
    values: list[Any] = []
    for column in table.columns:
        if is_packed(table, column):
            return "", []
        if column.kind == BYTES:
            parts.append(HAS_BYTES.format(column=column.quoted))
            values.append(marks)
        else:
            parts.append(HAS_TEXT.format(column=column.quoted))
            # A beginning may end inside a character; no text of a table is in UTF-16.
            values.append([mark.decode("utf-8", "ignore") for mark in marks if b"\0" not in mark])
    return " OR ".join(parts), values


def is_packed(table: Table, column: Column) -> bool:
    """Whether the text of a column is coded as a whole, so that no database finds anything in it."""
    return column.name == "session_data"


def as_data(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


_SESSION = re.compile(r"(\.?)([\w-]+):")


def unpacked(table: Table, column: Column, data: bytes) -> Iterator[bytes]:
    """What a value holds in a compressed or coded form."""
    if is_packed(table, column) and (session := _SESSION.match(data.decode("ascii", "replace"))):
        with suppress(ValueError, zlib.error):
            content = urlsafe_b64decode(session[2] + "=" * (-len(session[2]) % 4))
            yield zlib.decompress(content) if session[1] else content
    if column.kind != BYTES:
        return
    if data[:1] == b"\x78":
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(data, MAX_UNPACKED)
    elif data[:2] == b"\x1f\x8b":
        with suppress(OSError, EOFError, zlib.error):
            yield gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_UNPACKED)
    elif data[:2] == b"PK":
        with (
            suppress(zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, zlib.error),
            zipfile.ZipFile(io.BytesIO(data)) as archive,
        ):
            for entry in archive.infolist():
                yield entry.filename.encode() + b"\n" + archive.open(entry).read(MAX_UNPACKED)
