"""A person's own second factors: an app that shows codes, passkeys, recovery codes; and the page that asks whether it is you."""

from __future__ import annotations

import time
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from memoryhub.domain import accounts
from memoryhub.errors import HubError, Invalid
from memoryhub.requests import client_address
from memoryhub.web.access import recently_signed_in, signed_in
from memoryhub.web.login import PASSKEY, passkey_question, safe_next, shown_factor, site_of, status_of, with_wait
from memoryhub.web.notices import done

SECRET = "totp_secret"  # noqa: S105  the name under which the session keeps it


def show(request: HttpRequest, error: HubError | None = None, **more: Any) -> HttpResponse:
    context = {
        "factors": accounts.second_factors(request.user), "passkeys": site_of(request).takes_passkeys,
        "required": request.GET.get("required", "")[:64], "error": error, **more,
    }  # fmt: skip
    return render(request, "second_factor/page.html", context, status=status_of(error))


@signed_in
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@recently_signed_in
@sensitive_post_parameters("code")
def app(request: HttpRequest) -> HttpResponse:
    """GET: the QR code for an app; POST: the app's code, which enrols it."""
    secret = request.session.setdefault(SECRET, accounts.new_totp_secret())
    error = None
    if request.method == "POST":
        try:
            codes = accounts.activate_totp(request.user, secret, request.POST.get("code", ""))
            del request.session[SECRET]
            return enrolled(request, "totp", codes, _("The app is now your second factor."))
        except HubError as refusal:
            error = refusal
    address = accounts.totp_address(request.user, secret, request.get_host())
    context = {"secret": secret, "address": address, "error": error}
    return render(request, "second_factor/app.html", context, status=status_of(error))


def enrolled(request: HttpRequest, factor: str, codes: list[str], says: str) -> HttpResponse:
    """After a factor was added: it was just shown, so this session has it. New recovery codes are shown this once."""
    request.session["second_factor"] = factor
    if codes:
        return show(request, codes="\n".join(codes), says=says)
    done(request, says)
    return redirect("second_factor.page")


@require_POST
@recently_signed_in
def remove_totp(request: HttpRequest) -> HttpResponse:
    accounts.remove_totp(request.user)
    done(request, _("App removed."))
    return redirect("second_factor.page")


@require_POST
@recently_signed_in
def new_recovery_codes(request: HttpRequest) -> HttpResponse:
    try:
        codes = accounts.new_recovery_codes(request.user)
        return show(request, codes="\n".join(codes), says=_("The old codes no longer work."))
    except HubError as error:
        return show(request, error)


@recently_signed_in
@require_GET
def passkey_options(request: HttpRequest) -> HttpResponse:
    """What the browser needs to make a passkey."""
    options, request.session[PASSKEY] = accounts.begin_passkey(request.user, site_of(request))
    return JsonResponse(options)


@require_POST
@recently_signed_in
def add_passkey(request: HttpRequest) -> HttpResponse:
    try:
        codes = accounts.add_passkey(
            request.user, site_of(request), passkey_question(request),
            request.POST.get("credential", ""), request.POST.get("name", ""),
        )  # fmt: skip
    except HubError as error:
        return show(request, error)
    return enrolled(request, "passkey", codes, _("You can now sign in with the passkey."))


@require_POST
@recently_signed_in
def remove_passkey(request: HttpRequest, pk: int) -> HttpResponse:
    accounts.remove_passkey(request.user, pk)
    done(request, _("Passkey removed."))
    return redirect("second_factor.page")


# ---- is it you? ----


@signed_in
@sensitive_post_parameters("code", "password")
def confirm(request: HttpRequest) -> HttpResponse:
    """Asks for the password, a code or a passkey, before what matters most can be changed."""
    if request.method == "GET" and "options" in request.GET:
        options, request.session[PASSKEY] = accounts.begin_passkey_check(site_of(request), request.user)
        return JsonResponse(options)
    factors, error = accounts.second_factors(request.user), None
    if request.method == "POST":
        try:
            confirm_by(request, has_factor=factors.any)
        except HubError as refusal:
            error = refusal
        else:
            return redirect(safe_next(request))
    context = {
        "factors": factors, "error": error, "next": safe_next(request), "passkeys": site_of(request).takes_passkeys,
        "has_password": request.user.has_usable_password() and not factors.any,
    }  # fmt: skip
    return with_wait(render(request, "second_factor/confirm.html", context, status=status_of(error)), error)


def confirm_by(request: HttpRequest, *, has_factor: bool) -> None:
    """Notes that it is this person, by a second factor where they have one, else by the password."""
    if has_factor:
        request.session["second_factor"] = shown_factor(request, request.user)
    elif request.user.has_usable_password():
        accounts.check_password(request.user.username, request.POST.get("password", ""), client_address(request.META))
    else:
        raise Invalid(_("Sign out and in again, then come back."))
    old_key = request.session.stored_key
    request.session["signed_in_at"] = time.time()
    request.session.cycle_key()  # who had learned the old one has nothing of it
    request.user.sign_ins.filter(session_key=old_key).update(session_key=request.session.stored_key)
