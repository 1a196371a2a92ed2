"""Refusals at the edge of the hub: exceptions of libraries become `HubError`, and `HubError` becomes JSON."""

from __future__ import annotations

import json
import logging

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpResponse

from memoryhub.errors import Forbidden, HubError, Invalid, NotFound, TooLarge, Unavailable
from memoryhub.requests import hide_secrets

log = logging.getLogger("memoryhub")


def refusal_of(exception: BaseException) -> HubError | None:
    """The `HubError` for an exception; None if it is a bug."""
    match exception:
        case HubError():
            return exception
        case Http404():
            return NotFound("Nothing here, or not yours. The address may be old, or belong to a space you are not in.")
        case PermissionDenied():
            return Forbidden(str(exception) or "That is not for your role.")
        case RequestDataTooBig():
            return TooLarge("The request is larger than 8 MiB. Send less at once.")
        case SuspiciousOperation():
            return Invalid("The request is not well formed.", code="bad_request")
        case DataError():
            log.warning("a value that the database cannot hold: %s", first_line(exception))
            return Invalid(
                "A value of the request cannot be kept: no NUL characters, no endless numbers.", code="bad_value"
            )
        case OperationalError() | InterfaceError():
            log.warning("database: %s", first_line(exception))
            return Unavailable(
                "The database is away. Nothing was changed; try again in a moment.", code="database_away"
            )
    return None


def first_line(exception: BaseException) -> str:
    return (str(exception).strip().splitlines() or [repr(exception)])[0]


def json_refusal(error: HubError) -> HttpResponse:
    """The JSON response for a refusal, with the headers that its status needs."""
    body = hide_secrets(json.dumps(error.as_json(), ensure_ascii=False, default=str))
    # The message may quote half a character of what was sent, which UTF-8 does not hold.
    response = HttpResponse(body.encode("utf-8", "replace"), status=error.status, content_type="application/json")
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    if error.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    if allow := error.details.get("allow"):
        response["Allow"] = allow
    if wait := error.details.get("retry_after"):
        response["Retry-After"] = str(wait)
    return response
