"""The door of every page: who is it, which space, may they. Behind it a view has `request.space`, `request.role`, `request.actor`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from memoryhub.domain import accounts, spaces
from memoryhub.errors import NotAllowed
from memoryhub.models import Actor
from memoryhub.web.errors import refuse

View = Callable[..., HttpResponse]


def to_login(request: HttpRequest) -> HttpResponse:
    """A stranger is led to sign in, and back to where they wanted to go."""
    url = "/login/?" + urlencode({"next": request.get_full_path() if request.method == "GET" else came_from(request)})
    if request.htmx:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = url
        return response
    return redirect(url)


def came_from(request: HttpRequest) -> str:
    """The page whose form was sent; the front page where the browser does not say, or names another host."""
    page = urlsplit(request.headers.get("Referer", ""))
    same = page.netloc == request.get_host() and page.path.startswith("/") and not page.path.startswith("//")
    return page._replace(scheme="", netloc="", fragment="").geturl() if same else "/"


def signed_in(view: View) -> View:
    """For pages that belong to no space: one's own account, the list of spaces."""

    @wraps(view)
    def door(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_login(request)
        request.actor = Actor.of_person(request.user)
        return view(request, **kwargs)

    door.needs = "signed in"  # type: ignore[attr-defined]
    return door


def space_page(action: str, *, methods: tuple[str, ...] = ("GET", "HEAD", "POST")) -> Callable[[View], View]:
    """For pages of a space: strangers sign in (302), others find nothing (404), members lacking the role are told (403)."""

    def decorate(view: View) -> View:
        @wraps(view)
        def door(request: HttpRequest, space: str, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return to_login(request)
            request.space, request.role = spaces.enter(request.user, space)
            request.actor = Actor.of_person(request.user, request.role)
            accounts.require(request.actor, action)
            if request.method not in methods:
                return wrong_method(request, methods)
            return view(request, **kwargs)

        door.needs = action  # type: ignore[attr-defined]
        return door

    return decorate


def wrong_method(request: HttpRequest, methods: tuple[str, ...]) -> HttpResponse:
    """For whoever opens the address of a form, say from the address bar after a refusal."""
    refusal = NotAllowed("This address only takes what a form sends. Go back to the page with the form.")
    response = refuse(request, refusal)
    response["Allow"] = ", ".join(methods)
    return response


def public(view: View) -> View:
    """Open to strangers, on purpose: sign-in, health. The test that walks all addresses asks for this mark."""
    view.needs = "nothing"  # type: ignore[attr-defined]
    return view


def post_only(action: str) -> Callable[[View], View]:
    return space_page(action, methods=("POST",))
