"""The overview of a space: where memory flows, what waits, what changed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memoryhub.web.doors import space_page


@space_page("read")
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "overview/page.html")
