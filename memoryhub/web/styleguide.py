"""Every component in every state, for developers (DEBUG only)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memoryhub.web.access import public


@public
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "styleguide/page.html")
