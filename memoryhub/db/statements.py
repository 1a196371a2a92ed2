"""Statements that run for every call of an agent, prepared once per connection.

Django's cursor binds values on the client, so its statements are never prepared. The functions here use psycopg's cursor on
the same connection, so in the same transaction.
"""

from __future__ import annotations

import json
import math
import re
import select
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import count
from typing import Any, TypeVar

import numpy as np
import psycopg
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connections, models
from django.db.models.base import ModelState
from django.db.utils import DatabaseErrorWrapper
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.json import Jsonb

from memoryhub.db import replica
from memoryhub.errors import Unavailable

M = TypeVar("M", bound=models.Model)
T = TypeVar("T")
Json = Jsonb  # a value of a jsonb column
PARSED_ONCE = 4096  # characters: psycopg parses a longer statement for its placeholders each time


class ErrorWrapper(DatabaseErrorWrapper):
    """Makes psycopg's errors those of Django. One that no server numbered is of a connection that broke: PgBouncer says that its
    server is gone after an answer that had begun, and psycopg wonders about two. So is what Citus says of a server that is gone."""

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, psycopg.InternalError) and (error.sqlstate is None or is_of_lost_server(error)):
            self.wrapper.errors_occurred = True
            raise OperationalError(*error.args).with_traceback(traceback) from error
        super().__exit__(kind, error, traceback)


def is_of_lost_server(error: psycopg.Error) -> bool:
    """Whether Citus lost one of its other servers within a transaction, which it calls an internal error."""
    return error.sqlstate == "XX000" and "connection" in str(error)


class Half(bytes):
    """A vector of half-precision floats in pgvector's binary form: a sixth of the size of its text."""

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
    """Registered for every connection in `apps`. Statements must cast the value, since the oid of the type differs by database."""

    format = Format.BINARY

    def dump(self, obj: Half) -> bytes:
        return bytes(obj)


def rows(sql: str, params: Sequence[Any] | Mapping[str, Any] = (), *, binary: bool = False) -> list[tuple[Any, ...]]:
    """The rows of a SELECT, sent again once if the connection was lost. `binary` is quicker for large bytes."""
    if replica.state.is_reading and replica.is_reading():
        try:
            return execute(connections[replica.ALIAS], sql, params, binary)
        except (DatabaseError, InterfaceError) as error:
            replica.gave_up(error)
    wrapper = connections[DEFAULT_DB_ALIAS]
    try:
        return execute(wrapper, sql, params, binary)
    except (OperationalError, InterfaceError):
        # Django reconnects only where its own cursors are used.
        if wrapper.in_atomic_block or wrapper.is_usable():
            raise
        wrapper.close()
        return execute(wrapper, sql, params, binary)


def read_once(space: models.Model, what: str, read: Callable[[], T]) -> T:
    """What is read of a space, for a page that shows it once more without asking again: `space.kept` is there while somebody
    looks at a page of it, and nothing changes meanwhile."""
    kept: dict[str, Any] | None = space.__dict__.get("kept")
    if kept is None:
        return read()
    if what not in kept:
        kept[what] = read()
    found: T = kept[what]
    return found


def changed(sql: str, params: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows that a changing statement returns. It is sent only once, since it may have been done before a connection broke:
    then `Unavailable` with the code `database_away`."""
    replica.state.has_written = True
    wrapper = connections[DEFAULT_DB_ALIAS]
    if not wrapper.in_atomic_block and is_disconnected(wrapper):
        wrapper.close()  # nothing was sent yet, so another connection can be used
    try:
        return execute(wrapper, sql, params)
    except (OperationalError, InterfaceError) as error:
        if wrapper.in_atomic_block or wrapper.connection is None or wrapper.is_usable():
            raise
        wrapper.close()
        raise Unavailable(
            "The database went away before it answered. Look whether this was done before you send it again.",
            code="database_away",
        ) from error


def is_disconnected(wrapper: Any) -> bool:
    """Whether the server closed the connection while it was idle. Makes a round trip only if unread data has arrived."""
    if wrapper.connection is None or wrapper.connection.closed:
        return wrapper.connection is not None
    waiting = select.poll()
    waiting.register(wrapper.connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0)) and not wrapper.is_usable()


def execute(
    wrapper: Any, sql: str, params: Sequence[Any] | Mapping[str, Any], binary: bool = False
) -> list[tuple[Any, ...]]:
    wrapper.ensure_connection()
    kind: type[psycopg.Cursor[Any]] = psycopg.Cursor
    if len(sql) > PARSED_ONCE and not isinstance(params, Mapping):
        kind, sql = psycopg.RawCursor, _numbered(sql)
    with wrapper.wrap_database_errors, kind(wrapper.connection) as cursor:
        cursor.execute(sql, params, binary=binary)
        wrapper.health_check_done = True  # it has answered: Django need not send `SELECT 1` before its next statement
        # `description` says this too, but builds an object for every column.
        return [] if cursor.rownumber is None else cursor.fetchall()


@lru_cache(maxsize=64)
def _numbered(sql: str) -> str:
    """A statement with `$1` for its first `%s`, as PostgreSQL wants it."""
    number = count(1)
    return re.sub("%[s%]", lambda match: f"${next(number)}" if match.group() == "%s" else "%", sql)


def row(sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> tuple[Any, ...]:
    found = rows(sql, params)
    if not found:
        raise Unavailable(NO_ANSWER)
    return found[0]


def database_now() -> datetime:
    """What the database's clock says."""
    found: datetime = row("SELECT clock_timestamp()")[0]
    return found


def instance(model: type[M], values: Iterable[tuple[str, Any]], **related: models.Model) -> M:
    """An instance of a model from columns of its row, without `__init__`, which costs more than the query.

    `related` sets related objects. A column that is not given is deferred, as after `from_db`.
    """
    one = object.__new__(model)
    state = one._state = ModelState()
    state.adding, state.db, state.fields_cache = False, DEFAULT_DB_ALIAS, related
    one.__dict__.update(values)
    return one


NO_ANSWER = "The database gave no answer; nothing was changed, try again."


@dataclass(frozen=True, slots=True)
class Change:
    """An INSERT or UPDATE for `together`. Other changes can read the rows that it returns by its `name`.

    With a `held` condition the SQL must contain `ONLY_IF_HELD` in its WHERE, unless it `follows`: then it is made of rows of
    another change, and does nothing without them.
    """

    sql: str
    params: Sequence[Any]
    name: str = ""
    follows: bool = False


ONLY_IF_HELD = "/* only */"


class NotHeld(Exception):
    """The rows that changes were computed from have changed in the meantime. Nothing was changed."""


def together(*changes: Change, answer: str = "", held: Change | None = None) -> tuple[Any, ...]:
    """Sends several changes as one statement. Returns the row of the first one, or of the SELECT `answer`.

    A change sees of another only the rows that it returns, and no row may be changed by two of them. `held` is a SELECT or
    UPDATE that locks the rows which the changes were computed from. If it finds none, they changed in the meantime: then
    nothing happens, and `NotHeld` is raised. So no transaction is needed.
    """
    first, *others = changes
    if not (answer or held or first.name):  # no change reads its rows, so it can be the main statement
        answer, changes = first.sql, (*others, first)
    parts = ((one.name, one.sql, one.follows) for one in changes if one.sql is not answer)
    sql = _join_changes(answer, held.sql if held else "", *parts)
    params = [value for one in changes for value in one.params]
    found = changed(sql, [*held.params, *params] if held else params)
    if not found:
        raise NotHeld if held else Unavailable(NO_ANSWER)
    return found[0]


@lru_cache(maxsize=64)
def _join_changes(answer: str, held: str, *changes: tuple[str, str, bool]) -> str:
    """The SQL of all changes without needless spaces."""
    parts = [(name or f"change_{n}", sql) for n, (name, sql, _) in enumerate(changes)]
    answer = answer or f"SELECT * FROM {parts[0][0]}"
    if held:
        if not all(follows or ONLY_IF_HELD in sql for _, sql, follows in changes):
            raise ValueError("one of these changes would happen in any case")
        parts = [(name, sql.replace(ONLY_IF_HELD, "AND EXISTS (SELECT FROM held)")) for name, sql in parts]
        parts.insert(0, ("held", held))
    whole = f"WITH {', '.join(f'{name} AS ({sql})' for name, sql in parts)} {answer}" if parts else answer
    return " ".join(whole.replace(f"WHERE true {ONLY_IF_HELD}", "").split())


def insert_rows(
    model: Any, *rows: Mapping[str, Any], over: str = "", of: str = "", params: Sequence[Any] = ()
) -> Change:
    """The change that inserts rows, given by column; columns that they do not have get their default. Returns their keys.

    `of` names a change from whose rows these are made. `over` is SQL for a JSON object whose values replace those of the row,
    with its parameters in `params`.
    """
    given: Any = rows[0] if len(rows) == 1 else rows
    return Change(
        _insert_sql(model, tuple(rows[0]), len(rows) > 1, over, of),
        [Jsonb(given, dumps=_to_json), *params],
        follows=bool(of),
    )


@lru_cache(maxsize=256)
def _insert_sql(model: Any, columns: tuple[str, ...], many: bool, over: str, of: str) -> str:
    """All rows are one parameter, since psycopg caches the parsed statement only up to fifty of them."""
    table = connections[DEFAULT_DB_ALIAS].ops.quote_name(model._meta.db_table)
    populate = f"jsonb_populate_record{'set' if many else ''}(NULL::{table}, %s{f' || {over}' if over else ''})"
    where = "" if of else f" WHERE true {ONLY_IF_HELD}"
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(columns)} "
        f"FROM {populate} row{where} RETURNING {model._meta.pk.column}"
        if not of
        else f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(f'row.{one}' for one in columns)} "
        f"FROM {of}, {populate} row RETURNING {model._meta.pk.column}"
    )


def _to_json(values: Any) -> str:
    return json.dumps(values, cls=DjangoJSONEncoder)


def as_json(value: dict[str, Any] | list[Any]) -> str:
    """A value of a jsonb column; mostly there is nothing in it."""
    return json.dumps(value) if value else "{}" if isinstance(value, dict) else "[]"


def send_change(change: Change) -> None:
    """Sends a change by itself."""
    changed(change.sql, change.params)


def as_array(values: Iterable[str | None]) -> str:
    """Texts as a PostgreSQL array literal; binding a list would cost as much as the rest of the statement."""
    return "{" + ",".join(map(_quoted, values)) + "}"


def as_numbers(values: Iterable[int]) -> str:
    """Whole numbers as a PostgreSQL array literal: binding a list of twenty takes four times as long."""
    return f"{{{','.join(map(str, values))}}}"


@lru_cache(maxsize=4096)
def _quoted(value: str | None) -> str:
    return "NULL" if value is None else '"' + re.sub(r'["\\]', r"\\\g<0>", value) + '"'
