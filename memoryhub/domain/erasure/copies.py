"""Copies of erased words in any other column of any table: found by the catalogue, and replaced by a mark.

What is a name (of a file, a session, an agent) becomes “erased-1a2b3c4d”, the same for each copy, so that what belonged
together still does and no two names become one.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from django.db import DataError, IntegrityError, connection, transaction

from memoryhub.db.append_only import unlocked
from memoryhub.domain.erasure.places import (
    ARRAY,
    BYTES,
    JSON,
    OTHER,
    OWN,
    TEXT,
    Column,
    Table,
    is_copy,
    is_packed,
    rows_with,
    tables,
)
from memoryhub.domain.erasure.words import Words
from memoryhub.models.prompts import pack
from memoryhub.text.needles import MARK, Needles, by_lines, by_stars

BATCH = 500
Tally = Callable[[Counter[str]], None]
# Tables that are erased by their own rules: as texts of files, and as entries with their chunks.
ELSEWHERE = {
    "memoryhub_chunk", "memoryhub_embedding", "memoryhub_posting", "memoryhub_lexemecount", "memoryhub_telltale",
    "django_migrations", "django_content_type", OWN,
}  # fmt: skip
LEFT = {("memoryhub_revision", "content"), ("memoryhub_longtermentry", "content"), ("memoryhub_mount", "directory")}
WHOLE_ROWS = {"memoryhub_made"}  # results that can be made again; some are archives, in which nothing can be replaced
NAMES = {"path", "to", "moved_from", "printed", "pattern", "prefix", "url", "slug", "username", "thread_id", "key"}
SESSIONS = {"session_id", "thread_id", "session", "thread", "aside"}


class Copies:
    """Replaces copies of some words in the tables of a space, or with `space_id` 0 of the whole hub."""

    def __init__(
        self, words: Words, needles: Needles, space_id: int, name: Callable[[bytes], bytes], tally: Tally
    ) -> None:
        self.words, self.needles, self.space_id, self._name, self.tally = words, needles, space_id, name, tally
        self.problems: set[str] = set()

    def erase(self, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Goes through every table; how many rows were changed. `tally` hears of each few in their own transaction."""
        every = [one for one in tables() if one.name not in ELSEWHERE and (one.space_column or not self.space_id)]
        changed = 0
        for done, table in enumerate(every, 1):
            changed += self._erase_table(table)
            progress(done, len(every))
        return changed

    def _erase_table(self, table: Table) -> int:
        places: dict[int, dict[str, None]] = defaultdict(dict)  # in their order, each once
        where, params = (f"{table.space_column} = %s", (self.space_id,)) if self.space_id else ("", ())
        for row in self._rows(table, where, params):
            places[row.space_id or 0][row.place] = None
        return sum(
            self._erase_rows(table, space_id, batch) for space_id, found in places.items() for batch in _batches(found)
        )

    def _rows(self, table: Table, where: str, params: tuple[Any, ...]) -> Iterator[Any]:
        for row in rows_with(table, self.needles, where, params) if self.needles else ():
            if any(
                value is not None and self._changed(table, column, value) != value
                for column, value in zip(table.columns, row.values, strict=True)
            ):
                yield row
        sessions = [column for column in table.columns if column.name in SESSIONS and column.kind == TEXT]
        for column in sessions if self.words.names else ():
            condition = f"{column.quoted} = ANY(%s)" + (f" AND {where}" if where else "")
            yield from rows_with(table, Needles(()), condition, (sorted(self.words.names), *params))

    def _erase_rows(self, table: Table, space_id: int, places: list[str]) -> int:
        """Replaces in some rows; those that were changed meanwhile have another place, and are found by the next search."""
        columns = ", ".join(c.quoted if c.kind == BYTES else f"{c.quoted}::text" for c in table.columns)
        found = f"{table.key} = ANY(%s::{table.key_type}[])"
        sql = f"SELECT {table.key}::text, {columns} FROM {table.quoted} WHERE {found}{_of_space(table, space_id)} FOR UPDATE"  # noqa: S608
        with unlocked(space_id), connection.cursor() as cursor:
            cursor.execute(sql, [places])
            rows = cursor.fetchall()
            changed = sum(self._erase_row(table, space_id, place, values) for place, *values in rows)
            self.tally(Counter({table.label: changed}))
            return changed

    def _erase_row(self, table: Table, space_id: int, place: str, values: list[Any]) -> int:
        given = [bytes(value) if isinstance(value, memoryview) else value for value in values]
        pairs = list(zip(table.columns, given, strict=True))
        changes = {c: new for c, old in pairs if old is not None and (new := self._changed(table, c, old)) != old}
        if not changes:
            return 0
        sql, params = _statement(table, space_id, changes)
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(sql, [*params, place])
        except (IntegrityError, DataError) as error:
            self.problems.add(f"{table.label}: the database refused to change it ({type(error).__name__}).")
            return 0
        return 1

    def _changed(self, table: Table, column: Column, value: str | bytes) -> str | bytes:
        """The value of a column without copies; the value itself where it has none."""
        if (table.name, column.name) in LEFT:
            return value
        if table.name in WHOLE_ROWS or is_packed(table, column):  # such rows are deleted
            return type(value)() if is_copy(self.needles, table, column, value) else value
        if isinstance(value, bytes):
            return self._changed_bytes(table, value)
        if column.kind == OTHER:
            return value
        return self._changed_json(value) if column.kind == JSON else self._plain(column, value)

    def _changed_bytes(self, table: Table, value: bytes) -> bytes:
        if table.name == "memoryhub_prompttext":  # packed; places of its parts stay, as they do for secrets
            text = zlib.decompress(value)
            new = self.needles.replace(text, by_stars)
            return value if new == text else pack(new)
        return self.needles.replace(value, by_lines)

    def _plain(self, column: Column, value: str) -> str:
        if value in self.words.names and column.name in SESSIONS:
            return self._name(value.encode()).decode()
        is_name = column.unique or column.name in NAMES
        new = self.needles.replace(value.encode(), self._name if is_name else by_lines).decode()
        return _fitting(new, column.limit)

    def _changed_json(self, value: str) -> str:
        try:
            document = json.loads(value)
        except ValueError:
            return value
        new = self._walk(document, "")
        return value if new == document else json.dumps(new, ensure_ascii=False)

    def _walk(self, value: Any, key: str) -> Any:
        if isinstance(value, str):
            if key in SESSIONS and value in self.words.names:
                return self._name(value.encode()).decode()
            mark = self._name if key in NAMES else by_lines
            return self.needles.replace(value.encode("utf-8", "surrogatepass"), mark).decode("utf-8", "surrogatepass")
        if isinstance(value, list):
            return [self._walk(one, key) for one in value]
        if isinstance(value, dict):
            return {
                self.needles.replace(name.encode("utf-8", "surrogatepass"), self._name).decode("utf-8", "surrogatepass"):
                self._walk(one, name) for name, one in value.items()
            }  # fmt: skip
        return value


def _of_space(table: Table, space_id: int) -> str:
    """The rest of a condition, by which a distributed table is asked on one server; none for tables of the whole hub."""
    return f" AND {table.space_column} = {int(space_id)}" if table.space_column else ""


def _statement(table: Table, space_id: int, changes: dict[Column, Any]) -> tuple[str, list[Any]]:
    """What changes a row, or deletes it where it can be made again; its place is the last parameter."""
    found = f"{table.key} = %s::{table.key_type}{_of_space(table, space_id)}"
    if table.name in WHOLE_ROWS or any(is_packed(table, column) for column in changes):
        return f"DELETE FROM {table.quoted} WHERE {found}", []  # noqa: S608 (names)
    sets = ", ".join(
        [*(f"{column.quoted} = %s{CASTS.get(column.kind, '')}" for column in changes), *_derived(table, changes)]
    )
    return f"UPDATE {table.quoted} SET {sets} WHERE {found}", list(changes.values())  # noqa: S608 (names)


CASTS = {JSON: "::jsonb", ARRAY: "::text[]"}


def _derived(table: Table, changes: dict[Column, Any]) -> Iterator[str]:
    """Columns that were made of a changed one: words for searching, and digests."""
    if not {column.name for column in changes} & {"content", "text", "change"}:
        return
    yield from (
        f"{column.quoted} = NULL" for column in table.columns if column.kind == OTHER and column.name == "words"
    )
    if table.schema == "quarantine" and "sha256" in table.other:
        yield "sha256 = ''"
    if table.name == "memoryhub_proposal":
        yield f"same_as = '{secrets.token_hex(32)}'"


def _batches(found: Iterable[str]) -> Iterator[list[str]]:
    rows = iter(found)
    while batch := list(islice(rows, BATCH)):
        yield batch


def _fitting(text: str, limit: int) -> str:
    """A changed text that fits its column: the mark may be longer than what it replaces."""
    if not limit or len(text) <= limit:
        return text
    return text[:limit] if limit >= len(MARK) else ""
