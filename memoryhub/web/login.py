"""Signing in and out: by a link that works once, or by name and password."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.shortcuts import redirect, render
from django.utils.decorators import decorator_from_middleware
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from memoryhub.domain import accounts
from memoryhub.errors import HubError
from memoryhub.models import Person
from memoryhub.requests import client_address
from memoryhub.web.access import public, wrong_method


def sign_in(request: HttpRequest, person: Person) -> None:
    """Starts a fresh session, which its owner then sees in the list of theirs."""
    login(request, person, backend="django.contrib.auth.backends.ModelBackend")
    if not request.session.session_key:
        request.session.save()
    accounts.note_sign_in(
        person, request.session.session_key, client_address(request.META), request.headers.get("User-Agent", "")
    )


def safe_next(request: HttpRequest, fallback: str = "/") -> str:
    """The address in `next` if it belongs to this hub, else the fallback."""
    wanted = request.POST.get("next") or request.GET.get("next") or fallback
    local = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if local else fallback


@public
@sensitive_post_parameters("password")
def page(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated and request.method == "GET":
        return redirect(safe_next(request))
    context = {
        "next": safe_next(request),
        "username": request.POST.get("username", "")[:64],
        "owner_link": settings.OWNER_LINK,
    }
    if request.method != "POST":
        return render(request, "login/page.html", context)
    try:
        person = accounts.check_password(
            request.POST.get("username", ""), request.POST.get("password", ""), client_address(request.META)
        )
    except HubError as error:
        status = 429 if error.status == 429 else 422
        response = render(request, "login/page.html", {**context, "error": error}, status=status)
        if wait := error.details.get("retry_after"):
            response["Retry-After"] = str(wait)
        return response
    sign_in(request, person)
    return redirect(safe_next(request))


class TokenOnly(CsrfViewMiddleware):
    """Django's check of forms, which also takes the origin `null`: browsers send it from a page that gives no referrer."""

    def _origin_verified(self, request: HttpRequest) -> bool:
        return request.META.get("HTTP_ORIGIN") == "null" or super()._origin_verified(request)


@public
@csrf_exempt  # in favour of the check below
@decorator_from_middleware(TokenOnly)
def once(request: HttpRequest, secret: str) -> HttpResponse:
    """A one-time link. GET shows a button and tells nothing of the account, as mail programs and chats open links by themselves;
    POST spends the link and signs in."""
    if request.method not in ("GET", "HEAD", "POST"):
        return wrong_method(request, ("GET", "HEAD", "POST"))
    try:
        if request.method == "POST":
            link = accounts.use_sign_in_link(secret)
            sign_in(request, link.person)
            return redirect(link.leads_to or "/")
        accounts.peek_sign_in_link(secret)
        response = render(request, "login/once.html")
    except HubError as error:
        response = render(
            request, "login/spent.html", {"error": error, "owner_link": settings.OWNER_LINK}, status=error.status
        )
    response["Referrer-Policy"] = "no-referrer"  # the address is the secret
    return response


@public
@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated and request.session.session_key:
        request.user.sign_ins.filter(session_key=request.session.session_key).delete()
    logout(request)
    messages.success(request, "You are signed out.")
    return redirect("login.page")
