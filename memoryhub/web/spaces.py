"""Spaces: the front door that leads to one, and what an owner sets."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from memoryhub.domain import spaces
from memoryhub.web.doors import signed_in


@signed_in
def front(request: HttpRequest) -> HttpResponse:
    """Goes to the space one was in last, or the only one; else lists them."""
    mine = list(spaces.of_person(request.user))
    if "all" not in request.GET:
        last = next((space for space in mine if space.pk == request.user.last_space_id), None)
        chosen = last or (mine[0] if len(mine) == 1 else None)
        if chosen:
            return redirect(chosen.get_absolute_url())
    return render(request, "spaces/front.html", {"mine": mine})
