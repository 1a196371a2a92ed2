"""The connections of Django: none is asked for where the server did not answer just now."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.postgresql import base

from memoryhub.db import hang


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if not hang.is_watching() or self.alias != DEFAULT_DB_ALIAS:
            return super().get_new_connection(conn_params)
        hang.refuse_while_hung()
        limited = {**conn_params, "connect_timeout": hang.CONNECT_SECONDS} if hang.is_hung() else conn_params
        try:
            made = super().get_new_connection(limited)
        except psycopg.errors.ConnectionTimeout:
            hang.note_hang()
            raise
        hang.note_answer()
        return made
