"""Refusals at the edge of the hub: exceptions of libraries become `HubError`, and `HubError` becomes JSON."""

from __future__ import annotations

import contextlib
import json
import logging

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _

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
        case IntegrityError() if MISSING_REFERENCE in sqlstates_of(exception):
            log.warning("what a request needed was deleted meanwhile: %s", first_line(exception))
            return Unavailable(
                _("Something that this depends on was deleted at the same time. Nothing was changed; try again."),
                code="deleted_meanwhile",
            )
        case OperationalError() if is_disk_full(exception):
            note_disk_full()
            log.error("the disk of the database is full")
            return Unavailable(
                _(
                    "The disk of the database is full, so nothing can be written. Free some space there, then try again."
                ),
                code="database_full",
            )
        case OperationalError() | InterfaceError():
            log.warning("database: %s", first_line(exception))
            return Unavailable(
                "The database is away. Nothing was changed; try again in a moment.", code="database_away"
            )
    return None


DISK_FULL, MISSING_REFERENCE = "53100", "23503"  # as PostgreSQL numbers them
NO_SPACE = "No space left on device"
FULL_NOTE = "database_full"  # a file in the data directory: some process of this node found the disk full


def sqlstates_of(exception: BaseException) -> list[str | None]:
    """What PostgreSQL called the error; Django's exception has psycopg's as its cause."""
    return [getattr(one, "sqlstate", None) for one in (exception, exception.__cause__)]


def is_disk_full(exception: BaseException) -> bool:
    """Whether the database refused for lack of space on its disk."""
    if DISK_FULL in sqlstates_of(exception):
        return True
    return NO_SPACE in str(exception)  # a server that cannot even begin a connection says no number


def note_disk_full() -> None:
    """Leaves word for the other processes of this node, so that `/readyz` looks."""
    with contextlib.suppress(OSError):
        (settings.DATA_DIR / FULL_NOTE).touch()


def go_on_without_room(error: OperationalError, what: str) -> None:
    """Raises the error, unless the disk of the database is full: then what was to be noted beside a read is left out."""
    if not is_disk_full(error):
        raise error
    note_disk_full()
    log.warning("the disk of the database is full: %s is not noted", what)


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
