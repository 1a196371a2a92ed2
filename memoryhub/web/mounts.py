"""Mounts: which store serves which path, and an explanation for one path."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from memoryhub.domain import files, prompts
from memoryhub.domain.accounts import may
from memoryhub.errors import HubError
from memoryhub.forms import MountForm
from memoryhub.models import Mount, Policy
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import done


def show(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    asked, slug = request.GET.get("explain", ""), request.GET.get("agent", "")
    everyone = list(prompts.agents_of_space(request.space))
    agent = next((one for one in everyone if one.slug == slug), None)
    mounts = files.mounts_of_space(request.space)
    if may(request.actor.role, "manage"):
        for mount in mounts:
            mount.survey = surveyed(mount)  # type: ignore[attr-defined]  # for the template
    context = {
        "mounts": mounts, "agents": everyone, "agent": slug, "asked": asked, "policies": Policy.values,
        "explained": files.explain_path(request.space, asked, agent=agent) if asked else None,
        "form": MountForm(initial={"prefix": request.GET.get("prefix", ""), "policy": "review"}),
        "roots": files.allowed_roots(request.actor), "may_mount": files.may_mount_directories(request.actor), **more,
    }  # fmt: skip
    return render(request, "mounts/page.html", context, status=status)


def surveyed(mount: Mount) -> Any:
    """What a mount of a directory takes in; none where that cannot be read just now."""
    try:
        return files.survey_mount(mount)
    except HubError:
        return None


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
            policy=wanted["policy"], exclude=wanted["exclude"],
        )  # fmt: skip
    except HubError as error:
        form.refuse(error)
        return show(request, status=error.status, form=form)
    found = surveyed(mount)
    says = f" {found.sentence(mount.directory).removeprefix('memoryhub shows ')}." if found else ""
    done(request, f"{mount.prefix} is mounted.{says}")
    return redirect("mounts.page", request.space.slug)


@post_only("manage")
def change(request: HttpRequest, pk: int) -> HttpResponse:
    mount = files.get_mount(request.space, pk)
    post = request.POST
    try:
        if name := post.get("take_in"):
            files.take_in_name(request.space, request.actor, mount, name)
        elif pattern := post.get("stop_excluding"):
            files.stop_excluding(request.space, request.actor, mount, pattern)
        else:
            files.change_mount(
                request.space, request.actor, mount, policy=post.get("policy") or None, directory=post.get("directory"),
                takes=post.get("takes") or None, include=post.get("include"), exclude=post.get("exclude"),
            )  # fmt: skip
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
