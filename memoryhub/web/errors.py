"""Refusals as a person sees them: what happened, and what to do now."""

from __future__ import annotations

from contextlib import suppress

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from memoryhub.domain import spaces
from memoryhub.errors import Forbidden, HubError, NotFound
from memoryhub.requests import current_request_id, hide_secrets

TITLES = {
    401: "Please sign in",
    403: "Not for your role",
    404: "Nothing here, or not yours",
    405: "Not in this way",
    409: "It changed since you looked",
    412: "It changed since you looked",
    413: "Too large",
    422: "That does not work yet",
    429: "Slow down a little",
    500: "Something broke on our side",
    503: "Away for a moment",
}
BY_CODE = {"csrf": "Please send it again"}  # whose sentence says all
GLYPHS = {403: "lock", 404: "search", 409: "warn", 412: "warn", 413: "warn", 422: "info", 429: "clock", 503: "retry"}
ADVICE = {
    404: "Look the address over, or search.",
    409: "Nothing was written. Look again, then decide.",
    413: "Nothing was saved. Make it smaller and send it again.",
    422: "Nothing was changed. Mend it and send it again.",
    429: "Nothing was lost. Wait, then try again.",
    500: "Nothing half done was kept. If it happens again, tell whoever runs this hub the number of the request.",
    503: "Nothing was changed. Try again in a moment.",
}


def refuse(request: HttpRequest, error: HubError) -> HttpResponse:
    """A refusal in the form the caller can use: JSON, a part for htmx, or a page."""
    if wants_json(request):
        return JsonResponse(error.as_json(), status=error.status)
    context = {
        "message": hide_secrets(error.message),
        "status": error.status,
        "title": BY_CODE.get(error.code) or TITLES.get(error.status, "That did not work"),
        "glyph": GLYPHS.get(error.status, "warn"),
        "advice": "" if error.code in BY_CODE else ADVICE.get(error.status, ""),
        "request_id": current_request_id(),
    }
    htmx = getattr(request, "htmx", None)
    template = "errors/_part.html" if htmx and not htmx.boosted else "errors/page.html"
    response = render(request, template, context, status=error.status)
    if wait := error.details.get("retry_after"):
        response["Retry-After"] = str(wait)
    if template.endswith("_part.html"):
        # A part goes to the notice area of whichever page asked, not into the place of what it tried to change.
        response["HX-Retarget"], response["HX-Reswap"] = "#notices", "innerHTML"
    return response


def wants_json(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """A member who mistyped stays in their space; nobody else learns that there is one."""
    _, first, slug, *_ = [*request.path.split("/"), "", ""]
    user = getattr(request, "user", None)
    if first == "s" and user and user.is_authenticated:
        with suppress(NotFound):
            request.space, request.role = spaces.enter(user, slug.replace("\x00", ""))  # type: ignore[attr-defined]
            return refuse(request, NotFound(f"{request.space.name} has no such page; the address may be old."))  # type: ignore[attr-defined]
    return refuse(request, NotFound("The address may be old, or belong to a space you are not in."))


def broken(request: HttpRequest) -> HttpResponse:
    """After a bug: as little machinery as possible, since it may be what broke."""
    if wants_json(request):
        error = HubError(f"Something broke on our side. Tell whoever runs this hub the request {current_request_id()}.")
        return JsonResponse(error.as_json(), status=500)
    context = {"title": TITLES[500], "advice": ADVICE[500], "request_id": current_request_id()}
    return render(None, "errors/broken.html", context, status=500)


def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    sentence = "This page was open for too long, or cookies are off. Go back, reload the page and send it again."
    return refuse(request, Forbidden(sentence, code="csrf"))


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    sentence = "This address is not served here. ALLOWED_HOSTS names the ones that are."
    if wants_json(request):
        return JsonResponse(HubError(sentence, code="bad_request").as_json(), status=400)
    return HttpResponse(sentence + "\n", status=400, content_type="text/plain")
