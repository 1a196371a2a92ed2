"""The account page of a person: password, e-mail, sessions, personal tokens, language, colour theme."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from memoryhub import languages
from memoryhub.domain import accounts, activity, spaces
from memoryhub.errors import HubError, Invalid, NotFound, TooMany, Unauthenticated
from memoryhub.forms import EmailForm, PasswordForm, TokenForm
from memoryhub.languages import translated
from memoryhub.models import Actor, Person, Space, Token
from memoryhub.web.access import public, second_factor_missing, signed_in, to_second_factor
from memoryhub.web.login import safe_next
from memoryhub.web.notices import done
from memoryhub.web.oidc import connect_proof

THEMES = {"": "dark", "dark": "light", "light": ""}  # the theme that follows each; "" is that of the system


def show(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    mine = Token.objects.filter(person=request.user, revoked_at=None).select_related("space", "person", "agent")
    context = {
        "sessions": accounts.live_sessions(request.user),
        "this_session": request.session.stored_key,
        "tokens": mine,
        "spaces": spaces.spaces_of_person(request.user),
        "has_password": request.user.has_usable_password(),
        "password_form": PasswordForm(asks_current=request.user.has_usable_password()),
        "token_form": TokenForm(),
        "factors": accounts.second_factors(request.user),
        "oidc": settings.OIDC,
        "connect_proof": connect_proof(request),
        "identities": accounts.identities_of(request.user),
        "email_form": EmailForm(initial={"email": request.user.email}),
        **more,
    }
    return render(request, "account/page.html", context, status=status)


@signed_in
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@signed_in
def log(request: HttpRequest) -> HttpResponse:
    """What happened to one's own account; the owner of the hub may look at everybody's."""
    everybody = request.user.is_hub_owner and "everybody" in request.GET
    lines = activity.account_lines(None if everybody else request.user)
    return render(request, "account/log.html", {"lines": lines, "everybody": everybody})


def wrong_password_reason(person: Person, current: str) -> str:
    """Why `current` is not the password of the person, or "". Tries count and are slowed down as at sign-in."""
    if not person.has_usable_password():
        return ""
    try:
        accounts.check_password(person.username, current, None)
    except TooMany as error:
        return translated(error.message)
    except Unauthenticated:
        return _("The current password is wrong.")
    return ""


@sensitive_post_parameters()
@require_POST
@signed_in
def change_password(request: HttpRequest) -> HttpResponse:
    """Sets a new password and ends all other sessions. Asks for the current password if there is one."""
    form = PasswordForm(request.POST, asks_current=request.user.has_usable_password())
    if not form.is_valid():
        return show(request, status=422, password_form=form)
    if refusal := wrong_password_reason(request.user, form.cleaned_data["current"]):
        form.add_error("current", refusal)
        return show(request, status=422, password_form=form)
    try:
        accounts.change_password(
            request.user, form.cleaned_data["new"],
            keep_session=request.session.stored_key, keep_tokens=form.cleaned_data["keep_tokens"],
        )  # fmt: skip
    except HubError as error:
        form.add_error("new", translated(error.message))
        return show(request, status=422, password_form=form)
    old_key = request.session.stored_key
    update_session_auth_hash(request, request.user)  # gives the session another key
    request.session.save()
    request.user.sign_ins.filter(session_key=old_key).update(session_key=request.session.stored_key)
    done(request, _("Password changed. You are signed out everywhere else."))
    return redirect("account.page")


@require_POST
@signed_in
def change_email(request: HttpRequest) -> HttpResponse:
    form = EmailForm(request.POST)
    if not form.is_valid():
        return show(request, status=422, email_form=form)
    accounts.change_email(request.user, form.cleaned_data["email"])
    done(request, _("Saved."))
    return redirect("account.page")


@require_POST
@signed_in
def end_session(request: HttpRequest, pk: int) -> HttpResponse:
    accounts.end_session(request.user, pk)
    done(request, _("The session is signed out."))
    return redirect("account.page")


@require_POST
@signed_in
def end_sessions(request: HttpRequest) -> HttpResponse:
    accounts.end_sessions(request.actor, request.user, keep=request.session.stored_key)
    done(request, _("You are signed out everywhere else."))
    return redirect("account.page")


@require_POST
@signed_in
def theme(request: HttpRequest) -> HttpResponse:
    accounts.set_preference(request.user, "theme", THEMES[request.user.preferences.get("theme", "")])
    return redirect(safe_next(request))


@public
@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Sets the language of the account and of this browser; of somebody who is not signed in, that of the browser alone."""
    chosen = request.POST.get("language", "")
    if chosen and chosen not in dict(settings.LANGUAGES):
        raise Invalid(_("There is no such language. Choose one of the list."), field="language")
    if request.user.is_authenticated:
        accounts.set_language(request.user, chosen)
    response = redirect(safe_next(request))
    if chosen:
        year = timedelta(days=365)
        response.set_cookie(languages.COOKIE, chosen, year, httponly=True, samesite="Lax", secure=settings.BEHIND_TLS)
    else:
        response.delete_cookie(languages.COOKIE, samesite="Lax")
    return response


@require_POST
@signed_in
def open_next(request: HttpRequest) -> HttpResponse:
    """Keeps whether a decision leads to the next one that waits."""
    accounts.set_preference(request.user, "open_next", "yes" if request.POST.get("open_next") else "no")
    return HttpResponse(status=204) if request.htmx else redirect(safe_next(request))


def own_actor(request: HttpRequest, slug: str) -> tuple[Space, Actor]:
    space, role = spaces.get_for_person(request.user, slug)
    return space, Actor.of_person(request.user, role)


@require_POST
@signed_in
def create_token(request: HttpRequest) -> HttpResponse:
    """Makes a personal token for one space. The secret is shown once, on the page that answers."""
    form = TokenForm(request.POST)
    space, actor = own_actor(request, request.POST.get("space", ""))
    if not form.is_valid():
        return show(request, status=422, token_form=form)
    if second_factor_missing(request, space):  # else a token would open what the session may not
        return to_second_factor(request, space)
    token, secret = accounts.create_token(space, actor, person=request.user, **form.values())
    return show(request, new_token=token, secret=secret)


@require_POST
@signed_in
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(Token.objects.select_related("space", "person", "agent"), pk=pk, person=request.user)
    try:
        _space, actor = own_actor(request, token.space.slug)
    except NotFound:
        actor = request.actor
    accounts.revoke_token(token, actor)
    done(request, _("The token %(token)s is revoked.") % {"token": token})
    return redirect("account.page")
