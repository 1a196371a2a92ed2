"""What a space and its agents use of their limits, and the limits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from memoryhub.domain import quotas, spaces
from memoryhub.errors import HubError
from memoryhub.forms import LimitsForm
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import done


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@post_only("manage")
def change(request: HttpRequest) -> HttpResponse:
    form = LimitsForm(request.POST)
    if form.is_valid():
        try:
            spaces.change_settings(request.space, request.actor, form.cleaned_data)
        except HubError as error:
            form.refuse(error)
        else:
            done(request, "The limits are saved.")
            return redirect("quotas.page", request.space.slug)
    return show(request, status=422, form=form)


def show(request: HttpRequest, *, status: int = 200, form: LimitsForm | None = None) -> HttpResponse:
    usage = quotas.usage_of_space(request.space)
    form = form or LimitsForm(
        initial={name: spaces.get_setting(request.space, name) for name in LimitsForm.base_fields}
    )
    counted_at = datetime.fromisoformat(usage.counted_at) if usage.counted_at else None
    context: dict[str, Any] = {"usage": usage, "form": form, "counted_at": counted_at}
    return render(request, "quotas/page.html", context, status=status)
