"""Decorators that check access to pages. Behind `space_page` a view has `request.space`, `request.role` and `request.actor`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect

from memoryhub.db import replica
from memoryhub.domain import accounts, spaces
from memoryhub.models import Actor, Space
from memoryhub.templatetags.agent_names import named_as_in

View = Callable[..., HttpResponse]
RECENTLY = 15 * 60  # seconds


def to_login(request: HttpRequest) -> HttpResponse:
    """Redirects to the sign-in page, which leads back to the page that was asked for."""
    wanted = request.get_full_path() if request.method == "GET" else referring_path(request)
    return lead_to(request, "/login/?" + urlencode({"next": wanted}))


def lead_to(request: HttpRequest, url: str) -> HttpResponse:
    """A redirect of the whole page, also where htmx asked for a part."""
    if request.htmx:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = url
        return response
    return redirect(url)


def referring_path(request: HttpRequest) -> str:
    """The path of the page whose form was sent; `/` where the browser names none, or another host."""
    page = urlsplit(request.headers.get("Referer", ""))
    same = page.netloc == request.get_host() and page.path.startswith("/") and not page.path.startswith("//")
    return page._replace(scheme="", netloc="", fragment="").geturl() if same else "/"


def signed_in(view: View) -> View:
    """A decorator for pages outside any space: the account, the list of spaces."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_login(request)
        request.actor = Actor.of_person(request.user)
        return view(request, **kwargs)

    guarded.needs = "signed in"  # type: ignore[attr-defined]
    return guarded


def recently_signed_in(view: View) -> View:
    """A decorator for changes that give lasting access: who signed in more than 15 minutes ago confirms first who they are."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_login(request)
        if time.time() - request.session.get("signed_in_at", 0) > RECENTLY:
            wanted = request.get_full_path() if request.method == "GET" else referring_path(request)
            return lead_to(request, "/account/confirm/?" + urlencode({"next": wanted}))
        request.actor = Actor.of_person(request.user)
        return view(request, **kwargs)

    guarded.needs = "signed in"  # type: ignore[attr-defined]
    return guarded


def second_factor_missing(request: HttpRequest, space: Space) -> bool:
    """Whether the space wants a second factor and this session was begun without one."""
    wants = space.settings["second_factor"] == "required"
    return wants and not request.session.get("second_factor")


def to_second_factor(request: HttpRequest, space: Space) -> HttpResponse:
    """Leads to the page that asks for the factor, or to the one that enrols a first one."""
    if accounts.has_second_factor(request.user):
        return lead_to(request, "/account/confirm/?" + urlencode({"next": space.get_absolute_url()}))
    return lead_to(request, "/account/second-factor/?" + urlencode({"required": space.slug}))


def space_page(action: str, *, methods: tuple[str, ...] = ("GET", "HEAD", "POST")) -> Callable[[View], View]:
    """A decorator for pages of a space: 302 to sign in, 404 for people who are no members, 403 for members without the role."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, space: str, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return to_login(request)
            request.space, request.role = spaces.get_for_person(request.user, space)
            request.actor = Actor.of_person(request.user, request.role)
            if second_factor_missing(request, request.space):
                return to_second_factor(request, request.space)
            accounts.require(request.actor, action)
            if request.method == "GET" and not request.htmx:
                spaces.note_space(request.user, request.space)
            if request.method not in methods:
                return HttpResponseNotAllowed(methods)
            with named_as_in(request.space):
                if request.method in ("GET", "HEAD"):
                    request.space.kept = {}  # for `statements.read_once`
                    return replica.read(lambda: view(request, **kwargs))
                return view(request, **kwargs)

        guarded.needs = action  # type: ignore[attr-defined]
        return guarded

    return decorate


def public(view: View) -> View:
    """Marks a view that anybody may open, such as sign-in and health. A test checks that every view has such a mark."""
    view.needs = "nothing"  # type: ignore[attr-defined]
    return view


def post_only(action: str) -> Callable[[View], View]:
    return space_page(action, methods=("POST",))
