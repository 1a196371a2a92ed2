"""Middleware: request ids, security headers, when a session was last seen, language, time zone, calls of the API, refusals."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.gzip import GZipMiddleware
from django.urls import resolve
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from memoryhub import languages, requests
from memoryhub.domain import accounts, activity
from memoryhub.errors import Forbidden, HubError, Invalid, NotAllowed, TooLarge
from memoryhub.refusals import json_refusal, refusal_of
from memoryhub.templatetags.hidden_characters import label_hidden_in_page
from memoryhub.web import errors as error_pages

View = Callable[[HttpRequest], HttpResponse]
BROKEN_PATH = "memoryhub.broken_path"  # set by wsgi.py if the path is no UTF-8, which Django would repair
MAX_REQUEST_BYTES = 40 * 1024 * 1024  # an import of 32 MiB, and what a form wraps around it

CSP = "; ".join(
    [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'", "connect-src 'self'",
        "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "manifest-src 'self'",
    ]
)  # fmt: skip
# The page that documents the API has icons as data: URLs.
CSP_DOCS = CSP.replace("img-src 'self'", "img-src 'self' data:")


def request_ids(get_response: View) -> View:
    def handle(request: HttpRequest) -> HttpResponse:
        request.id = requests.set_request_id(request.headers.get("X-Request-Id"))
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
    """Compresses responses, but not those of the API with an ETag: it is a sha256 and must stay strong."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.path.startswith("/api/") and response.has_header("ETag"):
            return response
        return super().process_response(request, response)


def hidden_characters(get_response: View) -> View:
    """Draws characters that nobody would see, on every page and wherever it shows a text: names, reasons and logs of agents too.
    Tags and filters mark more in texts of files; this holds for what no template thought of."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not response.streaming and response.headers.get("Content-Type", "").startswith("text/html"):
            page = response.content.decode(response.charset)
            if (drawn := label_hidden_in_page(page)) is not page:
                response.content = drawn
        return response

    return handle


class FormCheck(CsrfViewMiddleware):
    """Django's check of forms. From the page of a one-time link, which gives no referrer, browsers send the origin `null`: there
    the token of the form has to do."""

    def _origin_verified(self, request: HttpRequest) -> bool:
        from_link = request.path.startswith("/login/once/") and request.META.get("HTTP_ORIGIN") == "null"
        return from_link or super()._origin_verified(request)


def last_seen(get_response: View) -> View:
    """Notes when a signed-in browser was last seen, at most once a minute. Requests by htmx do not count. Tells the web server
    that somebody known asked."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        session = getattr(request, "session", None)
        if session is not None and session.accessed and session.session_key:
            user = getattr(request, "user", None)
            if user is None or not user.is_authenticated:
                return response
            request.META[requests.KNOWN] = True
            if not request.htmx and not session.was_seen_lately:
                accounts.note_seen(session.stored_key, requests.client_address(request.META))
        return response

    return handle


FOR_PROGRAMS = ("/healthz", "/readyz", "/metrics")


def language(get_response: View) -> View:
    """Activates the language of who reads the page, for this request alone: calls of agents run in the same threads."""

    def handle(request: HttpRequest) -> HttpResponse:
        if request.path in FOR_PROGRAMS:
            return get_response(request)
        with languages.reader_of(request):
            response = get_response(request)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response

    return handle


def local_time(get_response: View) -> View:
    """Activates the time zone of the browser, which a script of the pages puts into a cookie."""

    def handle(request: HttpRequest) -> HttpResponse:
        try:
            zone = ZoneInfo(unquote(request.COOKIES["memoryhub_zone"]))
        except (KeyError, ValueError, OSError, ZoneInfoNotFoundError):
            return get_response(request)
        with timezone.override(zone):
            return get_response(request)

    return handle


def api_calls(get_response: View) -> View:
    """Answers calls of the API here, since the middleware after this one is for sessions, forms and pages."""

    def handle(request: HttpRequest) -> HttpResponse:
        if not request.path.startswith("/api/"):
            return get_response(request)
        request.get_host()  # refuses a name that is not among ALLOWED_HOSTS
        refusal = early_refusal(request)
        response = json_refusal(refusal) if refusal else api_answer(request)
        if not response.streaming:
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response

    return handle


def api_answer(request: HttpRequest) -> HttpResponse:
    """The response of the view at this path. HEAD is handled as GET; the server leaves the body out."""
    method = request.method
    request.method = "GET" if method == "HEAD" else method
    request.resolver_match = resolve(request.path_info)
    view, args, kwargs = request.resolver_match
    response = view(request, *args, **kwargs)
    request.method = method
    is_ninjas = response.status_code == 405 and response.headers["Content-Type"] != "application/json"
    return method_not_allowed(response) if is_ninjas else response


def method_not_allowed(refusal: HttpResponse) -> HttpResponse:
    """The JSON refusal for a wrong method, which django-ninja answers with plain text."""
    allowed = refusal.headers.get("Allow", "").replace("GET", "GET, HEAD")  # handled as GET
    return json_refusal(NotAllowed(f"This address takes {allowed or 'other methods'}.", allow=allowed))


def refusals(get_response: View) -> View:
    """Turns refusals into responses. Innermost, so that these still get the session, the messages and the headers."""

    def handle(request: HttpRequest) -> HttpResponse:
        if refusal := early_refusal(request):
            return error_pages.refuse(request, refusal)
        # A token that was typed into a search must not appear on the page of results.
        if "mh_" in (query := request.META.get("QUERY_STRING", "")):
            request.META["QUERY_STRING"] = requests.hide_secrets(query).replace("…", "%E2%80%A6")
        response = get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and request.method == "GET":
            return error_pages.wrong_method(request, response)
        return redirect_after_post(request, response)

    handle.process_exception = refusal_page  # type: ignore[attr-defined]
    return handle


def refusal_page(request: HttpRequest, exception: Exception) -> HttpResponse | None:
    """Called by Django when a view raised: the response for a refusal, or None for a bug."""
    error = refusal_of(exception)
    if isinstance(error, Forbidden) and hasattr(request, "space") and hasattr(request, "actor"):
        route = request.resolver_match.route if request.resolver_match else ""
        activity.note_refusal(request.space, request.actor, error, request.method or "", route)
    return error_pages.refuse(request, error) if error else None


def early_refusal(request: HttpRequest) -> HubError | None:
    """The refusal of a request that is too large or has a broken path; None for others. Does not read the body."""
    if content_length(request) > MAX_REQUEST_BYTES:  # else uploads of anybody would be written to disk
        return TooLarge("The request is larger than 40 MiB. Send less at once.")
    if BROKEN_PATH in request.META:
        return Invalid("The address holds bytes that are no UTF-8. Send the name as UTF-8.", code="invalid_path")
    return None


def redirect_after_post(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Makes redirects after a form 303, so that browsers use GET. Those to the sign-in page stay 302."""
    if request.method == "POST" and response.status_code == 302 and not response["Location"].startswith("/login/?"):
        response.status_code = 303
    return response


def content_length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() else 0
