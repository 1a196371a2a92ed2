"""Sessions in the database that end when nobody used them for long, or some days after signing in, whatever happens meanwhile.

The database has a digest of the key that a browser's cookie holds: a copy of the database, or a backup, signs nobody in.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore

from memoryhub.domain import accounts
from memoryhub.models import Person


def stored(session_key: str) -> str:
    """What the database has of a key. Keys have 165 random bits, so a plain digest does; the column takes 40 characters."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:40]


class SignedIn(ModelBackend):
    """Django's, which finds the person of a session by a prepared statement: every page asks that."""

    def get_user(self, user_id: int) -> Person | None:
        person = accounts.person_of_session(user_id)
        return person if person and self.user_can_authenticate(person) else None


class SessionStore(DatabaseStore):
    """Django's, which finds no session whose sign-in has ended; the statement that reads the session asks that."""

    was_seen_lately = False  # within the last minute, as the database has it

    @property
    def stored_key(self) -> str:
        """The digest by which the database knows this session; empty while there is none."""
        return stored(self.session_key) if self.session_key else ""

    def _get_session_from_db(self) -> Any:
        found = accounts.live_session(self.stored_key)
        if found is None:
            self._session_key = None
            return None
        data, expires_at, self.was_seen_lately = found
        return self.model(session_key=self.stored_key, session_data=data, expire_date=expires_at)

    def exists(self, session_key: str) -> bool:
        return super().exists(stored(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = self.stored_key
        return row

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(stored(key))
