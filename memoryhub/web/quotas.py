"""What a space and its agents use of their limits, and the limits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render

from memoryhub.domain import quotas, spaces
from memoryhub.forms import LimitsForm
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import save_changes


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@post_only("manage")
def change(request: HttpRequest) -> HttpResponse:
    form = limits_form(request, request.POST)
    if save_changes(request, form, lambda values: spaces.change_settings(request.space, request.actor, values)):
        return redirect("quotas.page", request.space.slug)
    return show(request, status=422, form=form)


def limits_form(request: HttpRequest, data: QueryDict | None = None) -> LimitsForm:
    values = {name: request.space.settings[name] for name in LimitsForm.base_fields}
    return LimitsForm(data, initial=values)


def show(request: HttpRequest, *, status: int = 200, form: LimitsForm | None = None) -> HttpResponse:
    usage = quotas.usage_of_space(request.space)
    form = form or limits_form(request)
    counted_at = datetime.fromisoformat(usage.counted_at) if usage.counted_at else None
    context: dict[str, Any] = {"usage": usage, "form": form, "counted_at": counted_at}
    return render(request, "quotas/page.html", context, status=status)
