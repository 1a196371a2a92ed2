"""Mounts: which store serves which path, and an explanation for one path."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from memoryhub.domain import files, prompts
from memoryhub.errors import HubError
from memoryhub.forms import MountForm
from memoryhub.models import Policy
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import done


def show(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    asked, slug = request.GET.get("explain", ""), request.GET.get("agent", "")
    everyone = list(prompts.agents_of_space(request.space))
    agent = next((one for one in everyone if one.slug == slug), None)
    context = {
        "mounts": files.mounts_of_space(request.space), "agents": everyone, "agent": slug, "asked": asked, "policies": Policy.values,
        "explained": files.explain_path(request.space, asked, agent=agent) if asked else None,
        "form": MountForm(initial={"prefix": request.GET.get("prefix", ""), "policy": "review"}),
        "roots": files.allowed_roots(request.actor), **more,
    }  # fmt: skip
    return render(request, "mounts/page.html", context, status=status)


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@post_only("manage")
def add(request: HttpRequest) -> HttpResponse:
    form = MountForm(request.POST)
    if not form.is_valid():
        return show(request, status=422, form=form)
    wanted = form.cleaned_data
    try:
        mount = files.add_mount(
            request.space, request.actor, wanted["prefix"], store=wanted["store"], directory=wanted["directory"],
            policy=wanted["policy"],
        )  # fmt: skip
    except HubError as error:
        form.refuse(error)
        return show(request, status=error.status, form=form)
    done(request, f"{mount.prefix} is mounted.")
    return redirect("mounts.page", request.space.slug)


@post_only("manage")
def change(request: HttpRequest, pk: int) -> HttpResponse:
    mount = files.get_mount(request.space, pk)
    policy, directory = request.POST.get("policy") or None, request.POST.get("directory")
    try:
        files.change_mount(request.space, request.actor, mount, policy=policy, directory=directory)
    except HubError as error:
        return show(request, status=error.status, error=error)
    done(request, f"{mount.prefix} is changed.")
    return redirect("mounts.page", request.space.slug)


@post_only("manage")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    mount = files.get_mount(request.space, pk)
    files.remove_mount(request.space, request.actor, mount)
    done(request, f"The mount {mount.prefix} is gone; its files stay where they lie.")
    return redirect("mounts.page", request.space.slug)
