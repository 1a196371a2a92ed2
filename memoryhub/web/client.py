"""The client that agents install, served by the hub itself: a page that says what to copy, and the wheel."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import condition, require_safe

from memoryhub.domain import exchange
from memoryhub.errors import NotFound
from memoryhub.web.access import public
from memoryhub.web.frameworks import installs


def etag(request: HttpRequest, **kwargs: object) -> str:
    return f'"sha256-{exchange.client_wheel().sha256}"'


@require_safe
@public
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "client/page.html", {"wheel": exchange.client_wheel(), "installs": installs(request)})


@require_safe
@public
@condition(etag_func=etag)
def wheel(request: HttpRequest, name: str) -> HttpResponse:
    """The wheel. No sign-in: the program that installs it has none, and there is nothing of a space in it."""
    found = exchange.client_wheel()
    if name != found.name:
        raise NotFound(_("This hub serves %(name)s; see /client/.") % {"name": found.name})
    response = HttpResponse(found.content, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{found.name}"'
    response["Cache-Control"] = "no-cache"  # another version of the hub may serve other bytes under this name
    return response
