"""The few statements that run for every call of an agent, prepared once per connection.

Django's own cursor binds values on the client and so never prepares; this one goes past it, inside the same transaction.
"""

from __future__ import annotations

import json
import math
import select
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import psycopg
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.json import Jsonb

from memoryhub.errors import Unavailable

Json = Jsonb  # a value of a jsonb column


class Half(bytes):
    """A vector in pgvector's binary form: a sixth of the size of its text, and quicker to read."""

    @classmethod
    def of(cls, vector: Any) -> Half:
        numbers = np.asarray(vector, ">f2")
        return cls(struct.pack(">HH", len(numbers), 0) + numbers.tobytes())

    @property
    def dimensions(self) -> int:
        return len(self) // 2 - 2

    def unit(self) -> np.ndarray:
        """The vector as floats of length one; a vector of zeros stays zeros."""
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


def changed(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of one statement that changes something. It is sent once: where the connection breaks before the answer,
    nobody knows whether it was done."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    if not wrapper.in_atomic_block and has_hung_up(wrapper):
        wrapper.close()  # nothing is lost by asking another connection
    try:
        return fetched(wrapper, sql, params)
    except (OperationalError, InterfaceError) as error:
        if wrapper.in_atomic_block or wrapper.connection is None or wrapper.is_usable():
            raise
        wrapper.close()
        raise Unavailable(
            "The database went away before it answered. Look whether this was done before you send it again.",
            code="database_away",
        ) from error


def has_hung_up(wrapper: Any) -> bool:
    """Whether the server went away while nobody asked. Costs no trip, unless it said something that nobody asked for."""
    if wrapper.connection is None or wrapper.connection.closed:
        return wrapper.connection is not None
    waiting = select.poll()
    waiting.register(wrapper.connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0)) and not wrapper.is_usable()


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
        raise Unavailable(NO_ANSWER)
    return found[0]


NO_ANSWER = "The database gave no answer; nothing was changed, try again."


@dataclass(frozen=True, slots=True)
class Change:
    """One INSERT or UPDATE that can travel together with others; these may read what it returns by its name. Where ONLY stands
    in it, a condition can be put; what follows is made of rows of another one, and without those nothing happens anyway."""

    sql: str
    params: Sequence[Any]
    name: str = ""
    follows: bool = False


ONLY = "/* only */"


class NotHeld(Exception):
    """What changes were worked out from is not the same any more: nothing was changed."""


def together(*changes: Change, answer: str = "", held: Change | None = None) -> tuple[Any, ...]:
    """Several changes in one statement, so in one trip; answers what the first one returns, or what is asked for.

    None of them sees what another did but what that one returns, and no row may be changed by two of them. `held` locks what
    they were worked out from and finds it unchanged: a SELECT, or an UPDATE of it; then, and only then, all of them happen.
    So this one statement needs no transaction around it.
    """
    first, *others = changes
    if not (answer or held or first.name):  # nothing reads it, so it can be what the others travel with
        answer, changes = first.sql, (*others, first)
    parts = ((one.name, one.sql, one.follows) for one in changes if one.sql is not answer)
    sql = _joined(answer, held.sql if held else "", *parts)
    params = [value for one in changes for value in one.params]
    found = changed(sql, [*held.params, *params] if held else params)
    if not found:
        raise NotHeld if held else Unavailable(NO_ANSWER)
    return found[0]


@lru_cache(maxsize=64)
def _joined(answer: str, held: str, *changes: tuple[str, str, bool]) -> str:
    """As short as it goes: psycopg takes a statement of more than 4,096 characters apart anew each time."""
    parts = [(name or f"change_{n}", sql) for n, (name, sql, _) in enumerate(changes)]
    answer = answer or f"SELECT * FROM {parts[0][0]}"
    if held:
        if not all(follows or ONLY in sql for _, sql, follows in changes):
            raise ValueError("one of these changes would happen in any case")
        parts = [(name, sql.replace(ONLY, "AND EXISTS (SELECT FROM held)")) for name, sql in parts]
        parts.insert(0, ("held", held))
    whole = f"WITH {', '.join(f'{name} AS ({sql})' for name, sql in parts)} {answer}" if parts else answer
    return " ".join(whole.replace(f"WHERE true {ONLY}", "").split())


def inserting_rows(
    model: Any, *rows: Mapping[str, Any], name: str = "", over: str = "", of: str = "", params: Sequence[Any] = ()
) -> Change:
    """Inserts rows given by column, as one parameter; a column that none of them names gets its default.

    Answers the number that the database gives the row. `of` names the change of whose row it is made; `over` is SQL for a
    JSON object whose values take the place of the row's, with its parameters in `params`.
    """
    given: Any = rows[0] if len(rows) == 1 else rows
    return Change(
        _insert(model, tuple(rows[0]), len(rows) > 1, over, of), [Jsonb(given, dumps=_as_json), *params], name,
        follows=bool(of),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _insert(model: Any, columns: tuple[str, ...], many: bool, over: str, of: str) -> str:
    """psycopg keeps what it knows of a statement only up to fifty parameters, so all rows are one of them."""
    table = connections[DEFAULT_DB_ALIAS].ops.quote_name(model._meta.db_table)
    populate = f"jsonb_populate_record{'set' if many else ''}(NULL::{table}, %s{f' || {over}' if over else ''})"
    where = "" if of else f" WHERE true {ONLY}"
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(columns)} "
        f"FROM {populate} row{where} RETURNING {model._meta.pk.column}"
        if not of
        else f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(f'row.{one}' for one in columns)} "
        f"FROM {of}, {populate} row RETURNING {model._meta.pk.column}"
    )


def _as_json(values: Any) -> str:
    return json.dumps(values, cls=DjangoJSONEncoder)


def run(change: Change) -> None:
    """One change by itself."""
    changed(change.sql, change.params)
