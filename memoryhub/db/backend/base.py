"""The connections of Django: none is asked for where the server did not answer just now; one that broke says so."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.postgresql import base
from django.utils.functional import cached_property

from memoryhub.db import hang
from memoryhub.db.statements import ErrorWrapper


class DatabaseWrapper(base.DatabaseWrapper):
    @cached_property
    def wrap_database_errors(self) -> ErrorWrapper:
        return ErrorWrapper(self)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if not hang.is_watching() or self.alias != DEFAULT_DB_ALIAS:
            return super().get_new_connection(conn_params)
        hang.refuse_while_hung()
        if not hang.is_hung():
            return self._made(conn_params)
        made = self._made({**conn_params, "connect_timeout": hang.CONNECT_SECONDS})
        if not hang.answers_on(made):
            made.close()
            hang.note_hang()
            raise psycopg.OperationalError(hang.NO_ANSWER)
        hang.note_answer()
        return made

    def _made(self, conn_params: dict[str, Any]) -> Any:
        try:
            return super().get_new_connection(conn_params)
        except psycopg.errors.ConnectionTimeout:
            hang.note_hang()
            raise
