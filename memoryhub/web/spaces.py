"""Spaces: the front page, making a space, and its settings."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memoryhub.domain import activity, demo, spaces
from memoryhub.domain.accounts import require_hub_owner
from memoryhub.errors import HubError
from memoryhub.forms import RenameForm, SettingsForm, SpaceForm
from memoryhub.web import laptop
from memoryhub.web.access import post_only, second_factor_missing, signed_in, space_page
from memoryhub.web.notices import done, save_changes


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
    memberships = list(spaces.memberships_of(request.user))
    opened = [one.space_id for one in memberships if not second_factor_missing(request, one.space)]
    waiting = activity.waiting_by_space(opened)
    mine = [(one, waiting.get(one.space_id)) for one in memberships]
    context = {"mine": mine, "form": SpaceForm(), "has_demo": demo.exists(), **more}
    context["offers_laptop"] = laptop.is_offered(request)
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
            words = _("%(space)s is created and empty. Connect an agent, or mount a folder.")
            done(request, words % {"space": space.name})
            return redirect(space.get_absolute_url())
    return show_front(request, status=422, form=form)


@require_POST
@signed_in
def load_demo(request: HttpRequest) -> HttpResponse:
    require_hub_owner(request.actor)
    space = demo.make(request.user)
    done(request, _("This is the demo. You can delete it under Settings, General."))
    return redirect(space.get_absolute_url())


def show_settings(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    refused = more.pop("form", None)
    context = {
        "sections": [
            refused if refused and refused.section == key else section_form(request, key)
            for key in SettingsForm.SECTIONS
        ],
        "form": refused if refused and not refused.section else None,
        "rename_form": rename_form(request),
        **more,
    }
    return render(request, "spaces/settings.html", context, status=status)


def section_form(request: HttpRequest, section: str, data: QueryDict | None = None) -> SettingsForm:
    """The form of a section, or without one of every setting; bound to what was sent."""
    values = {name: request.space.settings[name] for name in SettingsForm.base_fields}
    return SettingsForm(data, initial=values, section=section, auto_id=f"{section or 'all'}_%s")


def rename_form(request: HttpRequest, data: QueryDict | None = None) -> RenameForm:
    return RenameForm(data, initial={"name": request.space.name, "description": request.space.description})


@space_page("read", methods=("GET", "HEAD"))
def settings_page(request: HttpRequest) -> HttpResponse:
    return show_settings(request)


@post_only("manage")
def change_settings(request: HttpRequest) -> HttpResponse:
    """Saves one section, or every setting where none is named."""
    section = request.POST.get("section", "")
    form = section_form(request, section if section in SettingsForm.SECTIONS else "", request.POST)
    if save_changes(request, form, lambda values: spaces.change_settings(request.space, request.actor, values)):
        return redirect("spaces.settings", request.space.slug)
    return show_settings(request, status=422, form=form)


@post_only("manage")
def rename(request: HttpRequest) -> HttpResponse:
    form = rename_form(request, request.POST)
    if save_changes(request, form, lambda _: spaces.rename(request.space, request.actor, **form.cleaned_data)):
        return redirect("spaces.settings", request.space.slug)
    return show_settings(request, status=422, rename_form=form)


@post_only("manage")
def erase(request: HttpRequest) -> HttpResponse:
    """Deletes a space. Its slug must have been typed, as the demo too may hold people and decisions by now."""
    space = request.space
    if request.POST.get("confirm") != space.slug:
        return show_settings(
            request, status=422, erase_error=_("Type %(slug)s to delete this space.") % {"slug": space.slug}
        )
    spaces.erase(space, request.actor)
    done(request, _("%(space)s is deleted, with everything in it.") % {"space": space.name})
    return redirect("/?all")
