"""Signing in and out: by name and password, by a link that works once, by a passkey; and the second factor."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from memoryhub.domain import accounts
from memoryhub.errors import HubError, Unauthenticated
from memoryhub.models import Person
from memoryhub.requests import client_address
from memoryhub.web.access import public

BEFORE_SIGN_IN = 15 * 60  # seconds that what a stranger began (a passkey, a visit to the provider) is kept
PENDING, PASSKEY = "sign_in_pending", "passkey_question"
# Ways in that are no question of the hub's: a proxy asks for everything, a passkey is both factors.
COMPLETE = ("proxy", "passkey")


def enter(request: HttpRequest, person: Person, leads_to: str, *, by: str) -> HttpResponse:
    """Signs in and leads on; who has a second factor is asked for it first. `by` is how the person came."""
    complete = by in COMPLETE or (by == "provider" and settings.OIDC.second_factor == "provider")
    if complete or not accounts.has_second_factor(person):
        sign_in(request, person, by=by, factor=by if complete else "")
        return redirect(leads_to or "/")
    if request.user.is_authenticated:
        logout(request)
    keep_for_sign_in(request, PENDING, {
        "person": person.pk, "leads_to": leads_to, "by": by, "at": time.time(), "proof": person.get_session_auth_hash(),
    })  # fmt: skip
    return redirect("login.second_factor")


def sign_in(request: HttpRequest, person: Person, *, by: str = "password", factor: str = "") -> None:
    """Starts a fresh session, which its owner then sees in the list of theirs. `factor` is the second factor that was shown."""
    login(request, person, backend="memoryhub.sessions.SignedIn")
    request.session.pop(PENDING, None)
    request.session.set_expiry(None)
    request.session.update({"signed_in_at": time.time(), "signed_in_by": by, "second_factor": factor})
    if not request.session.session_key:
        request.session.save()
    accounts.note_sign_in(
        person, request.session.stored_key, client_address(request.META), request.headers.get("User-Agent", ""),
        by=" and ".join(filter(None, (by, factor if factor != by else ""))),
    )  # fmt: skip


def keep_for_sign_in(request: HttpRequest, key: str, value: Any) -> None:
    """Keeps something in the session; that of somebody who is not signed in lasts a quarter of an hour."""
    request.session[key] = value
    if not request.user.is_authenticated:
        request.session.set_expiry(BEFORE_SIGN_IN)


def safe_next(request: HttpRequest, fallback: str = "/") -> str:
    """The address in `next` if it belongs to this hub, else the fallback."""
    return local_address(request, request.POST.get("next") or request.GET.get("next") or fallback, fallback)


def local_address(request: HttpRequest, wanted: str, fallback: str = "/") -> str:
    # Without a slash at its beginning, `redirect` would look for a view of that name.
    local = wanted.startswith("/") and url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if local else fallback


def site_of(request: HttpRequest) -> accounts.Site:
    """Where this browser sees the hub."""
    return accounts.Site(f"{request.scheme}://{request.get_host()}")


# ---- name and password ----


def show(request: HttpRequest, error: HubError | None = None, **more: Any) -> HttpResponse:
    """The sign-in page, with the refusal of a try."""
    context = {
        "next": safe_next(request), "next_query": urlencode({"next": safe_next(request)}),
        "username": request.POST.get("username", "")[:64], "owner_link": settings.OWNER_LINK,
        "oidc": settings.OIDC, "passkeys": site_of(request).takes_passkeys, "error": error, **more,
    }  # fmt: skip
    response = render(request, "login/page.html", context, status=status_of(error))
    return with_wait(response, error)


def status_of(error: HubError | None) -> int:
    """Forms that are refused are 422; only waiting and a refusal that no other input would change keep their own status."""
    return 200 if error is None else error.status if error.status in (403, 409, 429, 503) else 422


def with_wait(response: HttpResponse, error: HubError | None) -> HttpResponse:
    if error and (wait := error.details.get("retry_after")):
        response["Retry-After"] = str(wait)
    return response


@public
@sensitive_post_parameters("password")
def page(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated and request.method == "GET":
        return redirect(safe_next(request))
    if request.method != "POST":
        return show(request)
    try:
        person = accounts.check_password(
            request.POST.get("username", ""), request.POST.get("password", ""), client_address(request.META)
        )
    except HubError as error:
        return show(request, error)
    return enter(request, person, safe_next(request), by="password")


# ---- a passkey instead of both ----


@public
def passkey(request: HttpRequest) -> HttpResponse:
    """GET: the question for the browser, as JSON; POST: its answer, which signs in."""
    if request.method != "POST":
        options, question = accounts.begin_passkey_check(site_of(request))
        keep_for_sign_in(request, PASSKEY, question)
        return JsonResponse(options)
    try:
        person = accounts.check_passkey(site_of(request), passkey_question(request), request.POST.get("credential", ""))
    except HubError as error:
        return show(request, error)
    return enter(request, person, safe_next(request), by="passkey")


def passkey_question(request: HttpRequest) -> dict[str, Any]:
    """The question that this browser was asked; it counts for one answer."""
    question = request.session.pop(PASSKEY, None)
    if not question:
        raise Unauthenticated(_("That took too long. Try again."), code="no_question")
    return question


# ---- the second factor ----


@public
@sensitive_post_parameters("code")
def second_factor(request: HttpRequest) -> HttpResponse:
    """Asks whoever gave a password or a link for a code or a passkey, and signs in."""
    pending, person = pending_sign_in(request)
    if person is None:
        return redirect("login.page")
    if request.method == "GET" and "options" in request.GET:
        options, request.session[PASSKEY] = accounts.begin_passkey_check(site_of(request), person)
        return JsonResponse(options)
    error = None
    if request.method == "POST":
        try:
            factor = shown_factor(request, person)
        except HubError as refusal:
            error = refusal
        else:
            sign_in(request, person, by=pending["by"], factor=factor)
            return redirect(pending["leads_to"] or "/")
    context = {"error": error, "factors": accounts.second_factors(person), "passkeys": site_of(request).takes_passkeys}
    return with_wait(render(request, "login/second_factor.html", context, status=status_of(error)), error)


def pending_sign_in(request: HttpRequest) -> tuple[dict[str, Any], Person | None]:
    """What was begun in this browser, and by whom: nobody if it was long ago, or their password or account changed since."""
    pending = request.session.get(PENDING) or {}
    if request.user.is_authenticated or time.time() - pending.get("at", 0) > BEFORE_SIGN_IN:
        return {}, None
    person = Person.objects.filter(pk=pending["person"], is_active=True).first()
    if person is None or person.get_session_auth_hash() != pending["proof"]:
        return {}, None
    return pending, person


def shown_factor(request: HttpRequest, person: Person) -> str:
    """The second factor that the form shows: `totp`, `recovery_codes` or `passkey`; else the refusal."""
    if credential := request.POST.get("credential"):
        accounts.check_passkey(site_of(request), passkey_question(request), credential, person)
        return "passkey"
    return accounts.check_code(person, request.POST.get("code", ""), client_address(request.META))


# ---- one-time links ----


@public
def once(request: HttpRequest, secret: str) -> HttpResponse:
    """A one-time link. GET shows a button and tells nothing of the account, as mail programs and chats open links by themselves;
    POST spends the link and signs in."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponseNotAllowed(("GET", "HEAD", "POST"))
    try:
        if request.method == "POST":
            link = accounts.use_sign_in_link(secret)
            return enter(request, link.person, link.leads_to, by="link")
        accounts.peek_sign_in_link(secret)
        response = render(request, "login/once.html")
    except HubError as error:
        response = render(
            request, "login/spent.html", {"error": error, "owner_link": settings.OWNER_LINK}, status=error.status
        )
    response["Referrer-Policy"] = "no-referrer"  # the address is the secret; `middleware.FormCheck` knows what follows
    return response


@public
@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated and request.session.stored_key:
        request.user.sign_ins.filter(session_key=request.session.stored_key).delete()
    logout(request)
    messages.success(request, _("You are signed out."))
    response = redirect("login.page")
    response["Clear-Site-Data"] = '"storage"'  # drafts of texts, which the next person here must not find
    return response
