"""Query sets of a fixed shape, put into SQL once and sent as prepared statements from then on.

Django puts a query set into SQL each time it is used, which takes it ten times as long as a prepared statement takes here.

    FILES_AT = prepared(lambda space, path: File.objects.within(space).filter(path=path))
    FILES_AT(space.pk, "/memories/AGENTS.md")  # a list of files
"""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import BooleanField, Expression, F, Func, QuerySet
from psycopg.sql import Literal

from memoryhub.db import statements


class Given(Expression):
    """A value that each call gives, by its place among them."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        return "%s", [self]


def any_of(column: str, given: Any) -> Func:
    """For `filter(any_of("path", paths))`: one of the values of a list, in place of `__in`, whose SQL changes with its length."""
    is_one = {"template": "(%(expressions)s))", "arg_joiner": " = ANY("}
    return Func(F(column), given, output_field=BooleanField(), **is_one)


class prepared:  # noqa: N801 (it reads like a decorator)
    """Called with the values that the query set was declared with, it answers the list of its rows."""

    def __init__(self, build: Callable[..., QuerySet[Any]]) -> None:
        self.build = build
        self.calls = threading.local()  # the values of the call that a thread is in

    def __call__(self, *values: Any) -> list[Any]:
        self.calls.values = values
        return list(self.queryset.all())

    def first(self, *values: Any) -> Any:
        return next(iter(self(*values)), None)

    @cached_property
    def queryset(self) -> QuerySet[Any]:
        """The query set, whose clones do not compile it again."""
        queryset = self.build(*map(Given, range(len(inspect.signature(self.build).parameters))))
        compiler = self.compiled(queryset)
        queryset.query.get_compiler = lambda *_, **__: compiler
        return queryset

    def compiled(self, queryset: QuerySet[Any]) -> Any:
        compiler: Any = queryset.query.get_compiler(connection=connections[DEFAULT_DB_ALIAS])
        sql, places = with_literals(*compiler.as_sql())
        converters = compiler.get_converters([one[0] for one in compiler.select])

        def rows(*_: Any, **__: Any) -> list[list[tuple[Any, ...]]]:
            values = self.calls.values
            return [statements.rows(sql, [values[place] for place in places])]

        compiler.execute_sql, compiler.get_converters = rows, lambda _: converters
        return compiler


def with_literals(sql: str, params: list[Any]) -> tuple[str, list[int]]:
    """SQL in which only given values are parameters, and which these are: a plan for any value finds no index of some rows."""
    first, *others = re.split(r"(?<!%)%s", sql)
    written = [first]
    for param, after in zip(params, others, strict=True):
        literal = (
            "%s" if isinstance(param, Given) else Literal(getattr(param, "value", param)).as_string().replace("%", "%%")
        )
        written += [literal, after]
    return "".join(written), [param.place for param in params if isinstance(param, Given)]
