"""Every refusal of the hub: a status, a code and one sentence that says what to do.

Domain functions raise these; `middleware.py` turns them into a page, a part of a page or JSON, in one place.
"""

from __future__ import annotations

from typing import Any


class HubError(Exception):
    """A refusal with a sentence for people and a code for programs; `details` go into the JSON beside them."""

    status = 500
    code = "error"

    def __init__(self, message: str, *, code: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.details = details

    def as_json(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, **self.details}}


class Unauthenticated(HubError):
    status, code = 401, "unauthenticated"


class Forbidden(HubError):
    status, code = 403, "forbidden"


class NotFound(HubError):
    """Nothing there, or not yours: a stranger cannot tell which."""

    status, code = 404, "not_found"


class NotAllowed(HubError):
    """The address is right, the method is not."""

    status, code = 405, "method_not_allowed"


class Conflict(HubError):
    status, code = 409, "conflict"


class Stale(HubError):
    """The caller named a state (`If-Match`) that no longer holds."""

    status, code = 412, "precondition_failed"


class TooLarge(HubError):
    status, code = 413, "too_large"


class Invalid(HubError):
    status, code = 422, "invalid"


class TooMany(HubError):
    status, code = 429, "too_many_requests"


class Unavailable(HubError):
    """Something the hub stands on (database, disk, embedder) is away: nothing was changed, try again."""

    status, code = 503, "unavailable"
