"""What can go wrong between an agent and its hub; every message says what to do and none carries the token."""

from __future__ import annotations

from typing import Any


class HubError(Exception):
    """A refusal or a failure: `code` for programs, `message` for people, `details` beside them."""

    def __init__(self, message: str, *, code: str = "error", status: int = 0, details: dict[str, Any] | None = None):
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.details = details or {}

    @property
    def advice(self) -> str:
        """What to try instead, with a blank before it, where the hub says so: it looked at the text that was meant."""
        hint = str(self.details.get("hint", ""))
        return f" {hint}" if hint.endswith(".") else ""  # else a code for programs


class HubRefused(HubError):
    """The hub understood the call and said no; calling again will not help."""


class Unauthenticated(HubRefused):
    """No token, or one that the hub does not accept (any more)."""


class Forbidden(HubRefused):
    """The token is known but may not do this."""


class NotFound(HubRefused):
    """Nothing there, or not in the space of this token."""


class Conflict(HubRefused):
    """The state of things moved on: `If-Match` or `seen` no longer holds, or it was decided already."""


class Invalid(HubRefused):
    """The call itself does not hold: path, text, arguments or size."""


class HubUnavailable(HubError):
    """The hub cannot be reached or is in trouble; the same call may work later."""


class RateLimited(HubUnavailable):
    """The hub asks to slow down; `retry_after` says for how many seconds."""

    def __init__(self, message: str, *, retry_after: float | None = None, **kwargs: Any):
        super().__init__(message, **kwargs)
        self.retry_after = retry_after


BY_STATUS: dict[int, type[HubRefused]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    413: Invalid,
    422: Invalid,
}
