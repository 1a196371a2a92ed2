"""Error pages: what happened, and what a person can do now."""

from __future__ import annotations

import re
import sys
from contextlib import suppress

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.http import escape_leading_slashes
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub.domain import spaces
from memoryhub.errors import Forbidden, HubError, NotAllowed, NotFound
from memoryhub.languages import translated
from memoryhub.refusals import json_refusal, refusal_of
from memoryhub.requests import hide_secrets, request_id

DATABASE_AWAY = "database_away"
RESENDABLE_CONTENT_TYPES = re.compile(r"application/x-www-form-urlencoded|multipart/form-data")
TITLES = {
    401: gettext_lazy("Sign in first"),
    403: gettext_lazy("Not allowed for your role"),
    404: gettext_lazy("Not found"),
    405: gettext_lazy("Not allowed in this way"),
    409: gettext_lazy("Changed since you looked"),
    412: gettext_lazy("Changed since you looked"),
    413: gettext_lazy("Too large"),
    422: gettext_lazy("Could not save"),
    429: gettext_lazy("Too many requests"),
    500: gettext_lazy("Something went wrong"),
    503: gettext_lazy("Temporarily unavailable"),
}
TITLES_BY_CODE = {"csrf": gettext_lazy("Send it again")}  # these need no advice below
GLYPHS = {403: "lock", 404: "search", 409: "warn", 412: "warn", 413: "warn", 422: "info", 429: "clock", 503: "retry"}
ADVICE = {
    404: gettext_lazy("Check the address, or search."),
    **dict.fromkeys((409, 412), gettext_lazy("Nothing was saved. Reload the page, then decide again.")),
    413: gettext_lazy("Nothing was saved. Make it smaller and send it again."),
    422: gettext_lazy("Nothing was changed. Correct it and send it again."),
    429: gettext_lazy("Wait a moment, then try again."),
    500: gettext_lazy("Nothing was saved. If it happens again, give the request number to whoever runs this hub."),
    503: gettext_lazy("Nothing was changed. Try again in a moment."),
}


def refuse(request: HttpRequest, error: HubError) -> HttpResponse:
    """The response for a refusal: JSON for the API, a part for htmx, else a page."""
    if wants_json(request):
        return json_refusal(error)
    if error.code == DATABASE_AWAY:
        return database_away_page(request, error)
    title, advice = title_and_advice(request, error)
    context = {
        "message": hide_secrets(translated(error.message)), "status": error.status, "title": title, "advice": advice,
        "glyph": GLYPHS.get(error.status, "warn"), "request_id": request_id.get(),
    }  # fmt: skip
    htmx = getattr(request, "htmx", None)
    is_part = htmx and not htmx.boosted
    response = render(request, "errors/_part.html" if is_part else "errors/page.html", context, status=error.status)
    if wait := error.details.get("retry_after"):
        response["Retry-After"] = str(wait)
    return retarget_to_notices(response) if is_part else response


def wrong_method(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The page for a bare 405: an address that takes only what a form sends was opened."""
    refusal = NotAllowed(_("This address only takes what a form sends. Go back to the page with the form."))
    page = refuse(request, refusal)
    page["Allow"] = response.headers["Allow"]
    return page


def title_and_advice(request: HttpRequest, error: HubError) -> tuple[str, str]:
    """What happened, and what to do now; where a page was only asked for, nothing failed to be saved."""
    if title := TITLES_BY_CODE.get(error.code):
        return title, ""
    if error.status == 422 and request.method in ("GET", "HEAD"):
        return _("Invalid address"), ADVICE[404]
    return TITLES.get(error.status, _("That did not work")), ADVICE.get(error.status, "")


def retarget_to_notices(response: HttpResponse) -> HttpResponse:
    """Makes htmx put the response into the notice area of the page instead of the element that it asked for."""
    response["HX-Retarget"], response["HX-Reswap"] = "#notices", "innerHTML"
    return response


def database_away_page(request: HttpRequest, error: HubError) -> HttpResponse:
    """A page for a database that does not answer. It makes no query, and holds what was typed so that it can be sent again."""
    htmx = getattr(request, "htmx", None)
    is_part = htmx and not htmx.boosted
    context = {
        "message": translated(error.message), "status": error.status, "title": TITLES[503], "glyph": GLYPHS[503],
        "advice": _("What you typed is kept on this page.") if (fields := form_fields(request)) else "",
        "address": escape_leading_slashes(request.get_full_path()) if fields or request.method == "GET" else "", "kept": fields,
        "request": request, "request_id": request_id.get(),
    }  # fmt: skip
    response = render(None, "errors/_part.html" if is_part else "errors/broken.html", context, status=error.status)
    response["Retry-After"] = "5"
    return retarget_to_notices(response) if is_part else response


def form_fields(request: HttpRequest) -> list[tuple[str, str]]:
    """Names and values of the form that was sent; empty if it has a password or a file."""
    if request.method != "POST" or not RESENDABLE_CONTENT_TYPES.match(request.content_type or ""):
        return []
    with suppress(Exception):  # the body may not have arrived
        fields = [(name, value) for name, values in request.POST.lists() for value in values]
        if not any("password" in name for name, _value in fields) and not request.FILES:
            return fields
    return []


def wants_json(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404. Members of a space see it inside that space; others do not learn that the space exists."""
    _start, first, slug, *_rest = [*request.path.split("/"), "", ""]
    user = getattr(request, "user", None)
    if first == "s" and user and user.is_authenticated:
        with suppress(NotFound):
            request.space, request.role = spaces.get_for_person(user, slug.replace("\x00", ""))  # type: ignore[attr-defined]
            return refuse(
                request,
                NotFound(_("%(space)s has no such page; the address may be old.") % {"space": request.space.name}),
            )  # type: ignore[attr-defined]
    return refuse(request, NotFound(_("The address may be old, or belong to a space you are not a member of.")))


def broken(request: HttpRequest) -> HttpResponse:
    """The response after an unexpected exception. It renders without context processors, since these may have failed.

    If the database went away while the session was read or saved, outside of the view, the response is 503 instead.
    """
    cause = sys.exc_info()[1]
    refusal = refusal_of(cause) if cause else None
    if refusal is not None and refusal.code == DATABASE_AWAY:
        return refuse(request, refusal)
    number = request_id.get()
    if wants_json(request):
        return json_refusal(
            HubError(f"Something went wrong. Give the request number {number} to whoever runs this hub.")
        )
    context = {"title": TITLES[500], "advice": ADVICE[500], "request_id": number}
    return render(None, "errors/broken.html", context, status=500)


def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    sentence = _("This page was open for too long, or cookies are off. Go back, reload the page and send it again.")
    return refuse(request, Forbidden(sentence, code="csrf"))


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    sentence = _("This address is not served here. ALLOWED_HOSTS names the ones that are.")
    if wants_json(request):
        return JsonResponse(HubError(sentence, code="bad_request").as_json(), status=400)
    return HttpResponse(sentence + "\n", status=400, content_type="text/plain")
