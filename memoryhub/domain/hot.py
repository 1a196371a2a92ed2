"""The few statements that run for every call of an agent, prepared once per connection.

Django's own cursor binds values on the client and so never prepares; this one goes past it, inside the same transaction.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
import psycopg
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections, models
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.json import Jsonb

from memoryhub.errors import Unavailable


class Half(bytes):
    """A vector as pgvector takes it in binary: a sixth of its text, and nothing to parse."""

    @classmethod
    def of(cls, vector: Any) -> Half:
        numbers = np.asarray(vector, ">f2")
        return cls(struct.pack(">HH", len(numbers), 0) + numbers.tobytes())

    @property
    def dimensions(self) -> int:
        return len(self) // 2 - 2

    def unit(self) -> np.ndarray:
        """The same with length one, to reckon with here; nothing to go by stays so."""
        numbers = np.frombuffer(self, ">f2", offset=4).astype(np.float32)
        return numbers / (math.sqrt(numbers @ numbers) or 1.0)


class HalfDumper(Dumper):
    """Known to every connection (`apps`). The cast in the statement names the type, whose oid each database has its own of."""

    format = Format.BINARY

    def dump(self, obj: Half) -> bytes:
        return bytes(obj)


def rows(sql: str, params: Sequence[Any] | Mapping[str, Any] = (), *, binary: bool = False) -> list[tuple[Any, ...]]:
    """The rows of one statement that PostgreSQL keeps prepared after its first few runs; `binary` for large bytes."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    try:
        return fetched(wrapper, sql, params, binary)
    except (OperationalError, InterfaceError):
        # Django looks after a lost connection only where its own cursors are used.
        if wrapper.in_atomic_block or wrapper.is_usable():
            raise
        wrapper.close()
        return fetched(wrapper, sql, params, binary)


def fetched(
    wrapper: Any, sql: str, params: Sequence[Any] | Mapping[str, Any], binary: bool = False
) -> list[tuple[Any, ...]]:
    wrapper.ensure_connection()
    with wrapper.wrap_database_errors, psycopg.Cursor(wrapper.connection) as cursor:
        cursor.execute(sql, params, binary=binary)
        # `description` would tell the same and builds an object for every column.
        return [] if cursor.rownumber is None else cursor.fetchall()


def row(sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> tuple[Any, ...]:
    found = rows(sql, params)
    if not found:
        raise Unavailable("The database gave no answer; nothing was changed, try again.")
    return found[0]


@dataclass(frozen=True, slots=True)
class Change:
    """One INSERT or UPDATE that can travel together with others; these may read what it returns by its name."""

    sql: str
    params: Sequence[Any]
    name: str = ""


def together(*changes: Change, answer: str = "") -> tuple[Any, ...]:
    """Several changes in one statement, so in one trip; answers what the first one returns, or what is asked for.

    None of them sees what another did but what that one returns, and no row may be changed by two of them.
    """
    names = [one.name or f"change_{n}" for n, one in enumerate(changes)]
    parts = ", ".join(f"{name} AS ({one.sql})" for name, one in zip(names, changes, strict=True))
    sql = f"WITH {parts} {answer or f'SELECT * FROM {names[0]}'}"  # noqa: S608
    return row(sql, [value for one in changes for value in one.params])


def inserting(one: models.Model, name: str = "", *, over: str = "", params: Sequence[Any] = ()) -> Change:
    """A new row as a change; `over` is SQL for a JSON object whose values take the place of the row's.

    The row is one parameter: psycopg keeps what it knows of a statement only up to fifty of them.
    """
    fields = [field for field in one._meta.concrete_fields if not (field.primary_key and one.pk is None)]
    values = {field.column: _as_written(getattr(one, field.attname)) for field in fields}
    model: Any = type(one)
    return Change(_insert(model, one.pk is None, over), [Jsonb(values, dumps=_as_json), *params], name)


@lru_cache(maxsize=256)
def _insert(model: Any, is_numbered_there: bool, over: str) -> str:
    table, key = connections[DEFAULT_DB_ALIAS].ops.quote_name(model._meta.db_table), model._meta.pk
    fields = [field for field in model._meta.concrete_fields if not (is_numbered_there and field is key)]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    given = f"jsonb_populate_record(NULL::{table}, %s{f' || {over}' if over else ''})"
    return f'INSERT INTO {table} ({columns}) SELECT {columns} FROM {given} RETURNING "{key.column}"'  # noqa: S608


def _as_written(value: Any) -> Any:
    """Moments whole: Django's JSON knows no microseconds."""
    return value.isoformat() if isinstance(value, datetime) else value


def _as_json(values: dict[str, Any]) -> str:
    return json.dumps(values, cls=DjangoJSONEncoder)


def run(change: Change) -> None:
    """One change by itself."""
    rows(change.sql, change.params)
