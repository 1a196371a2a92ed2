"""A statement that the database works on while this process does something else, instead of waiting for the rows."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

from memoryhub.db import statements

Params = Sequence[Any] | Mapping[str, Any]


class Asking:
    """`with Asking(sql, params) as asked: …; asked.rows()`. Large bytes come as they are, as with `binary`.

    Another statement of `hot` waits until this one is done; what goes past `hot` must not come in between. Where the
    connection was lost meanwhile, it is asked again.
    """

    __slots__ = ("cursor", "found", "params", "sql", "steps", "waits_for", "wrapper")

    def __init__(self, sql: str, params: Params = ()) -> None:
        self.wrapper: Any = connections[DEFAULT_DB_ALIAS]
        self.sql, self.params = sql, params
        self.found: list[tuple[Any, ...]] | None = None
        self.steps: Generator[Any, Any, None] | None = None

    def __enter__(self) -> Asking:
        if on_its_way := getattr(self.wrapper, "on_its_way", None):
            on_its_way.finish()
        self.wrapper.ensure_connection()
        self.cursor = psycopg.Cursor(self.wrapper.connection)
        # What `execute` would run to its end: the first step sends, the next ones wait for the answer.
        steps = self.cursor._execute_gen(self.sql, self.params, binary=True)
        with self.wrapper.wrap_database_errors:
            try:
                self.waits_for = next(steps)
            except psycopg.OperationalError:
                self.check_for_a_loss()
            else:
                self.steps, self.wrapper.on_its_way = steps, self
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            self.finish()
        except Exception:
            if kind is None:
                raise

    def rows(self) -> list[tuple[Any, ...]]:
        self.finish()
        return statements.rows(self.sql, self.params, binary=True) if self.found is None else self.found

    def finish(self) -> None:
        """Takes the rows in, so that the connection is free for something else."""
        if self.steps is None:
            return
        steps, self.steps, self.wrapper.on_its_way = self.steps, None, None
        with self.wrapper.wrap_database_errors:
            try:
                self.wrapper.connection.wait(resumed(steps, self.waits_for))
                self.found = statements.all_of(self.cursor)
            except psycopg.OperationalError:
                self.check_for_a_loss()

    def check_for_a_loss(self) -> None:
        """Whatever else went wrong is raised again."""
        if not self.wrapper.connection.closed:
            raise


def resumed(steps: Generator[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    """The steps that are left of those that have come to wait for something."""
    try:
        while True:
            waits_for = steps.send((yield waits_for))
    except StopIteration:
        return
