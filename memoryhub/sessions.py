"""Sessions in the database that end when nobody used them for long, or some days after signing in, whatever happens meanwhile."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db.models import Exists, OuterRef
from django.utils import timezone

from memoryhub.domain import accounts


class SessionStore(DatabaseStore):
    """Django's, which finds no session whose sign-in has ended; the statement that reads the session asks that."""

    def _get_session_from_db(self) -> Any:
        ended = accounts.ended_sign_ins().filter(session_key=OuterRef("session_key"))
        live = self.model.objects.filter(~Exists(ended), session_key=self.session_key, expire_date__gt=timezone.now())
        found = live.first()
        if found is None:
            self._session_key = None
        return found
