"""Erasing everything that a session logged: a preview, then the erasure, confirmed by typing the session's name."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from memoryhub.domain import erasure
from memoryhub.errors import Invalid
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text
from memoryhub.web.notices import done


@space_page("manage", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    session = clean_text(request.GET.get("session", ""))
    return render(
        request, "erasure/page.html", {"session": session, "extent": erasure.erasure_extent(request.space, session)}
    )


@post_only("manage")
def erase(request: HttpRequest) -> HttpResponse:
    session = clean_text(request.POST.get("session", ""))
    try:
        gone = erasure.erase(request.space, request.actor, session, confirm=request.POST.get("confirm", ""))
    except Invalid as refusal:
        extent = erasure.erasure_extent(request.space, session)
        return render(
            request, "erasure/page.html", {"session": session, "extent": extent, "error": refusal.message}, status=422
        )
    done(request, f"Erased for good: {', '.join(f'{count} {name}' for name, count in gone.items())}.")
    return redirect("quarantine.page", request.space.slug)
