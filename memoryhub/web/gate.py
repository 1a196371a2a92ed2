"""The gate of a space: the order and the action of each detector, and a dry run on past records."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from memoryhub.domain import jobs, quarantine
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import parse_number
from memoryhub.web.notices import done


def steps_of_form(request: HttpRequest) -> list[tuple[str, str]]:
    """Detector codes with their actions, in the order that the form gives them."""
    post = request.POST
    codes = [code for code in quarantine.DEFAULT_STEPS if f"do-{code}" in post]
    places = {code: parse_number(post.get(f"at-{code}"), 99) for code in codes}
    return [(code, post[f"do-{code}"]) for code in sorted(codes, key=lambda code: places[code])]


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


def show(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    job = jobs.latest(request.space, quarantine.GATE_DRY_RUN)
    steps = quarantine.gate_steps(request.space)
    if "tried" in request.GET and job:
        steps = quarantine.gate_steps(request.space, job.payload)
    context = {
        "steps": steps,
        "actions": list(quarantine.GATE_ACTIONS.items()),
        "job": job,
        "tried": "tried" in request.GET,
        "judge": (judge := quarantine.judge_settings(request.space)),
        "wanted": judge,
        "judged": quarantine.judge_status(request.space),
        **more,
    }
    part = request.htmx and not request.htmx.boosted
    return render(request, "gate/_trial.html" if part else "gate/page.html", context, status=status)


@post_only("manage")
def change(request: HttpRequest) -> HttpResponse:
    quarantine.change_gate(request.space, request.actor, steps_of_form(request))
    done(request, _("Gate saved. What it held or admitted before stays as it is."))
    return redirect("gate.page", request.space.slug)


@post_only("manage")
def dry_run(request: HttpRequest) -> HttpResponse:
    quarantine.dry_run_gate(request.space, request.actor, steps_of_form(request))
    response = redirect("gate.page", request.space.slug)
    response["Location"] += "?tried#trial"
    return response
