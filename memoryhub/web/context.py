"""What the frame around every page shows: the spaces to switch to, the layers' counts, what waits, who I am."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from memoryhub.domain import spaces
from memoryhub.domain.counts import of_space


def page(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    space = getattr(request, "space", None)
    if user is None or not user.is_authenticated:
        return {"space": None, "role": "", "theme": ""}
    context: dict[str, Any] = {
        "space": space,
        "role": getattr(request, "role", ""),
        "theme": user.preferences.get("theme", ""),
        "my_spaces": SimpleLazyObject(lambda: list(spaces.of_person(user))),
    }
    if space is not None:
        context["counts"] = SimpleLazyObject(lambda: of_space(space))
    return context
