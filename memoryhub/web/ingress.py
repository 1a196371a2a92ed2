"""The gate of a space: which detectors look, what each does, and a trial run before it counts."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from memoryhub.domain import ingress, jobs, judging
from memoryhub.web.doors import post_only, space_page
from memoryhub.web.notices import done


def chosen(request: HttpRequest) -> list[tuple[str, str]]:
    """The steps as the form has them: an action and a place for each."""
    post = request.POST
    codes = [code for code in ingress.DEFAULT if f"do-{code}" in post]
    places = {code: int(place) if (place := post.get(f"at-{code}", "")).isdecimal() else 99 for code in codes}
    return [(code, post[f"do-{code}"]) for code in sorted(codes, key=lambda code: places[code])]


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return shown(request)


def shown(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    job = jobs.latest(request.space, ingress.DRY_RUN)
    steps = ingress.steps(request.space)
    if "tried" in request.GET and job:
        steps = ingress.steps(request.space, job.payload)
    context = {
        "steps": steps,
        "actions": list(ingress.ACTIONS.items()),
        "job": job,
        "tried": "tried" in request.GET,
        "judge": (judge := judging.chosen(request.space)),
        "wanted": judge,
        "judged": judging.standing(request.space),
        **more,
    }
    part = request.htmx and not request.htmx.boosted
    return render(request, "ingress/_trial.html" if part else "ingress/page.html", context, status=status)


@post_only("manage")
def change(request: HttpRequest) -> HttpResponse:
    ingress.change(request.space, request.actor, chosen(request))
    done(request, "The gate works like this from now on; what it held or admitted before stays as it is.")
    return redirect("ingress.page", request.space.slug)


@post_only("manage")
def dry_run(request: HttpRequest) -> HttpResponse:
    ingress.dry_run(request.space, request.actor, chosen(request))
    response = redirect("ingress.page", request.space.slug)
    response["Location"] += "?tried"
    return response
