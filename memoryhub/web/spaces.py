"""Spaces: the front page, making a space, and its settings."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from memoryhub.domain import demo, spaces
from memoryhub.domain.accounts import require_hub_owner
from memoryhub.errors import HubError
from memoryhub.forms import RenameForm, SettingsForm, SpaceForm
from memoryhub.web.access import post_only, signed_in, space_page
from memoryhub.web.notices import done


@signed_in
def front(request: HttpRequest) -> HttpResponse:
    """Leads to the last used space, the front space or the only one; else lists the spaces."""
    mine = list(spaces.spaces_of_person(request.user))
    if "all" not in request.GET:
        last = next((space for space in mine if space.pk == request.user.last_space_id), None)
        front = next((space for space in mine if space.slug == settings.FRONT_SPACE), None)
        chosen = last or front or (mine[0] if len(mine) == 1 else None)
        if chosen:
            return redirect(chosen.get_absolute_url())
    return show_front(request)


def show_front(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    mine = spaces.memberships_of(request.user)
    context = {"mine": mine, "form": SpaceForm(), "has_demo": demo.exists(), **more}
    return render(request, "spaces/front.html", context, status=status)


@require_POST
@signed_in
def create(request: HttpRequest) -> HttpResponse:
    require_hub_owner(request.actor)
    form = SpaceForm(request.POST)
    if form.is_valid():
        try:
            space = spaces.create(request.actor, form.cleaned_data["slug"], form.cleaned_data["name"])
        except HubError as error:
            form.refuse(error)
        else:
            done(request, f"{space.name} is made, and empty. Connect an agent, or mount a folder.")
            return redirect(space.get_absolute_url())
    return show_front(request, status=422, form=form)


@require_POST
@signed_in
def load_demo(request: HttpRequest) -> HttpResponse:
    require_hub_owner(request.actor)
    space = demo.make(request.user)
    done(request, "This is the demo. Settings, Delete this space removes it.")
    return redirect(space.get_absolute_url())


def show_settings(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    space = request.space
    values = {name: spaces.get_setting(space, name) for name in SettingsForm.base_fields}
    context = {
        "form": SettingsForm(initial=values),
        "rename_form": RenameForm(initial={"name": space.name, "description": space.description}),
        "values": values,
        **more,
    }
    return render(request, "spaces/settings.html", context, status=status)


@space_page("read", methods=("GET", "HEAD"))
def settings_page(request: HttpRequest) -> HttpResponse:
    return show_settings(request)


@post_only("manage")
def change_settings(request: HttpRequest) -> HttpResponse:
    form = SettingsForm(request.POST)
    if form.is_valid():
        try:
            chosen = {name: value for name, value in form.cleaned_data.items() if value != ""}
            spaces.change_settings(request.space, request.actor, chosen)
        except HubError as error:
            form.refuse(error)
        else:
            done(request, "The settings are saved.")
            return redirect("spaces.settings", request.space.slug)
    return show_settings(request, status=422, form=form)


@post_only("manage")
def rename(request: HttpRequest) -> HttpResponse:
    form = RenameForm(request.POST)
    if form.is_valid():
        spaces.rename(request.space, request.actor, **form.cleaned_data)
        done(request, "Saved.")
        return redirect("spaces.settings", request.space.slug)
    return show_settings(request, status=422, rename_form=form)


@post_only("manage")
def erase(request: HttpRequest) -> HttpResponse:
    """Deletes a space. Its slug must have been typed, as the demo too may hold people and decisions by now."""
    space = request.space
    if request.POST.get("confirm") != space.slug:
        return show_settings(request, status=422, erase_error=f"Type {space.slug} to delete this space.")
    spaces.erase(space, request.actor)
    done(request, f"{space.name} is deleted, with everything in it.")
    return redirect("/?all")
