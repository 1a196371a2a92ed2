"""Around every request: its id, the security headers, who was seen, and refusals turned into a page, a part or JSON."""

from __future__ import annotations

import logging
from collections.abc import Callable
from urllib.parse import unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.gzip import GZipMiddleware
from django.utils import timezone

from memoryhub import requests
from memoryhub.domain import accounts
from memoryhub.errors import Forbidden, HubError, Invalid, NotAllowed, NotFound, TooLarge, Unavailable

View = Callable[[HttpRequest], HttpResponse]
BROKEN_PATH = "memoryhub.broken_path"  # set by wsgi.py, before Django repairs the address
MOST_SENT = 40 * 1024 * 1024  # an import of 32 MiB, and what a form wraps around it
log = logging.getLogger("memoryhub")

CSP = "; ".join(
    [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'", "connect-src 'self'",
        "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "manifest-src 'self'",
    ]
)  # fmt: skip
# The page that tries the API out draws its icons from data: addresses.
CSP_DOCS = CSP.replace("img-src 'self'", "img-src 'self' data:")


def request_ids(get_response: View) -> View:
    def handle(request: HttpRequest) -> HttpResponse:
        request.id = requests.begin(request.headers.get("X-Request-Id"))
        response = get_response(request)
        response.headers["X-Request-Id"] = request.id
        return response

    return handle


def security_headers(get_response: View) -> View:
    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        docs = request.path == "/api/v1/docs"
        response.headers.setdefault("Content-Security-Policy", CSP_DOCS if docs else CSP)
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
        if not request.path.startswith(settings.STATIC_URL):
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return handle


class Compression(GZipMiddleware):
    """What carries an ETag for programs travels as it is: compressing would weaken the ETag, which is a sha256."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.path.startswith("/api/") and response.has_header("ETag"):
            return response
        return super().process_response(request, response)


def seen(get_response: View) -> View:
    """Keeps 'last seen' of the signed-in browser, at most once a minute and never on what a page fetches by itself."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        session = getattr(request, "session", None)
        if session is not None and session.accessed and session.session_key and not request.htmx:
            user = getattr(request, "user", None)
            if user is not None and user.is_authenticated:
                accounts.note_seen(session.session_key, address_of(request))
        return response

    return handle


def address_of(request: HttpRequest) -> str | None:
    return requests.client_address(request.META, trust_proxy=settings.BEHIND_TLS)


def local_time(get_response: View) -> View:
    """Shows times as the reader's own clock has them; their browser names its zone in a cookie."""

    def handle(request: HttpRequest) -> HttpResponse:
        try:
            zone = ZoneInfo(unquote(request.COOKIES["memoryhub_zone"]))
        except (KeyError, ValueError, OSError, ZoneInfoNotFoundError):
            return get_response(request)
        with timezone.override(zone):
            return get_response(request)

    return handle


def refusals(get_response: View) -> View:
    """Innermost, so that a refusal raised by a view still gets the session, the messages and the headers."""

    def handle(request: HttpRequest) -> HttpResponse:
        if sent_bytes(request) > MOST_SENT:  # before anybody reads it: uploads would go to the disk, whoever sends them
            return refused(request, TooLarge("The request is larger than 40 MiB. Send less at once."))
        if BROKEN_PATH in request.META:
            told = "The address holds bytes that are no UTF-8. Send the name as UTF-8."
            return refused(request, Invalid(told, code="invalid_path"))
        if request.path.startswith("/api/"):
            return called(request, get_response)
        # A key typed into a search or a filter is not drawn again by the page that answers.
        if "mh_" in (query := request.META.get("QUERY_STRING", "")):
            request.META["QUERY_STRING"] = requests.hide_secrets(query).replace("…", "%E2%80%A6")
        return see_other(request, get_response(request))

    handle.process_exception = raised  # type: ignore[attr-defined]
    return handle


def refused(request: HttpRequest, error: HubError) -> HttpResponse:
    """The refusal as whoever asks reads it: a page, a part of one, or JSON."""
    from memoryhub.api.ground import answer
    from memoryhub.web.errors import refuse, wants_json

    return answer(error) if wants_json(request) else refuse(request, error)


def raised(request: HttpRequest, exception: Exception) -> HttpResponse | None:
    """What Django asks when a view of ours raised; django-ninja's handlers have the same errors for theirs."""
    error = None if request.path.startswith("/api/") else as_refusal(exception)
    return refused(request, error) if error else None


def called(request: HttpRequest, get_response: View) -> HttpResponse:
    """The answer to a call of the API, where HEAD is GET (the server leaves the body out)."""
    method = request.method
    request.method = "GET" if method == "HEAD" else method
    response = get_response(request)
    request.method = method
    return not_allowed(response) if response.status_code == 405 else response


def not_allowed(refusal: HttpResponse) -> HttpResponse:
    """django-ninja answers a wrong method with plain text; here it gets the one shape."""
    from memoryhub.api.ground import answer

    allowed = refusal.headers.get("Allow", "")
    response = answer(NotAllowed(f"This address takes {allowed or 'other methods'}."))
    response.headers["Allow"] = allowed
    return response


def see_other(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """After a form the browser shall GET what comes next: 303 says so, 302 leaves it to custom. Strangers are led by 302."""
    if request.method == "POST" and response.status_code == 302 and not response["Location"].startswith("/login/?"):
        response.status_code = 303
    return response


def sent_bytes(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() else 0


def as_refusal(exception: BaseException) -> HubError | None:
    """The one place where foreign exceptions become our own; None for what is a bug."""
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
            log.warning("a value that the database cannot hold: %s", str(exception).strip().splitlines()[0])
            return Invalid(
                "A value of the request cannot be kept: no NUL characters, no endless numbers.", code="bad_value"
            )
        case OperationalError() | InterfaceError():
            log.warning("database: %s", str(exception).strip().splitlines()[0] if str(exception).strip() else exception)
            return Unavailable(
                "The database is away. Nothing was changed; try again in a moment.", code="database_away"
            )
    return None
