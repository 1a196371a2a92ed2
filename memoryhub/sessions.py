"""Sessions in the database that end when nobody used them for long, or some days after signing in, whatever happens meanwhile.

The database has a digest of the key that a browser's cookie holds: a copy of the database, or a backup, signs nobody in.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from memoryhub.domain import accounts


def stored(session_key: str) -> str:
    """What the database has of a key. Keys have 165 random bits, so a plain digest does; the column takes 40 characters."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:40]


class SessionStore(DatabaseStore):
    """Django's, which finds no session whose sign-in has ended; the statement that reads the session asks that."""

    @property
    def stored_key(self) -> str:
        """By which the database knows this session; empty while there is none."""
        return stored(self.session_key) if self.session_key else ""

    def _get_session_from_db(self) -> Any:
        ended = accounts.ended_sign_ins().filter(session_key=OuterRef("session_key"))
        live = self.model.objects.filter(~Exists(ended), session_key=self.stored_key, expire_date__gt=Now())
        found = live.first()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return super().exists(stored(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = self.stored_key
        return row

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(stored(key))
