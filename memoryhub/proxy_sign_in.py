"""Middleware: whom a trusted proxy names in a header is signed in; anybody else who sends the header is refused."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from memoryhub import languages
from memoryhub.domain import accounts, spaces
from memoryhub.errors import Forbidden, HubError
from memoryhub.web.errors import refuse
from memoryhub.web.login import sign_in

View = Callable[[HttpRequest], HttpResponse]
UNTRUSTED = "This address may not name people. Open the hub through its proxy."


def proxy_sign_in(get_response: View) -> View:
    """Takes the headers out of every request, so that nothing behind it can trust them by mistake."""
    if settings.PROXY is None:
        raise MiddlewareNotUsed

    def handle(request: HttpRequest) -> HttpResponse:
        given = {key: request.META.pop(key) for key in settings.PROXY.keys if key in request.META}
        try:
            take(request, given)
        except HubError as refusal:
            with languages.reader_of(request):
                return refuse(request, refusal)
        return get_response(request)

    return handle


def take(request: HttpRequest, given: dict[str, str]) -> None:
    """Signs in whom the headers name, keeps who is signed in as that already, and ends a session that the proxy no longer backs."""
    if given and not settings.PROXY.trusts(request.META.get("REMOTE_ADDR", "")):
        raise Forbidden(UNTRUSTED, code="untrusted_proxy")
    name = given.get(settings.PROXY.keys[0], "").strip()
    if not name:
        if request.session.get("signed_in_by") == "proxy":
            logout(request)
        return
    groups = given.get(settings.PROXY.keys[1], "") if len(settings.PROXY.keys) > 1 else ""
    if is_signed_in_as(request, name, groups):
        return
    person = accounts.person_of_proxy(name)
    if len(settings.PROXY.keys) > 1:
        spaces.apply_group_roles(person, [one.strip() for one in groups.split(",")], "the proxy")
    sign_in(request, person, by="proxy", factor="proxy")
    request.session["proxy_groups"] = groups
    request.user = person


def is_signed_in_as(request: HttpRequest, name: str, groups: str) -> bool:
    """Whether this session was begun by the proxy for the same person in the same groups."""
    if request.session.get("signed_in_by") != "proxy" or request.session.get("proxy_groups") != groups:
        return False
    return request.user.is_authenticated and request.user.username.lower() == name.lower()
