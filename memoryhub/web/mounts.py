"""Mounts: which store serves which path. They stand on the page of files and access."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.domain import files
from memoryhub.errors import HubError
from memoryhub.forms import MountForm, MountSettingsForm
from memoryhub.models import Mount
from memoryhub.stores.survey import Survey
from memoryhub.web import files_access
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import changed_fields, changes_in_words, done
from memoryhub.web.surveys import survey_of


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    """The address of earlier versions."""
    asked = request.GET
    if "explain" in asked:
        return files_access.back(request, "tester", path=asked["explain"], by=asked.get("agent", ""))
    if "prefix" in asked:
        return files_access.back(request, "add-mount", prefix=asked["prefix"])
    return files_access.back(request, "mounts", mount=asked.get("mount"))


@post_only("manage")
def add(request: HttpRequest) -> HttpResponse:
    form = MountForm(request.POST)
    if not form.is_valid():
        return files_access.show(request, status=422, form=form, adds_mount=True)
    wanted = form.cleaned_data
    try:
        mount = files.add_mount(
            request.space, request.actor, wanted["prefix"], store=wanted["store"], directory=wanted["directory"],
            policy=wanted["policy"], exclude=wanted["exclude"],
        )  # fmt: skip
    except HubError as error:
        form.refuse(error)
        return files_access.show(request, status=error.status, form=form, adds_mount=True)
    found = survey_of(mount)
    mounted = _("%(prefix)s is mounted.") % {"prefix": mount.prefix}
    done(request, f"{mounted} {survey_words(found, mount.directory)}" if found else mounted)
    return files_access.back(request, "mounts", mount=mount.pk)


def survey_words(found: Survey, directory: str) -> str:
    """What a mount of this directory takes in and leaves out."""
    named = found.listed() if found.groups else ""
    if named:
        words = ngettext(
            "%(n)s file of %(directory)s, %(left_out)s left out: %(names)s.",
            "%(n)s files of %(directory)s, %(left_out)s left out: %(names)s.",
            found.files,
        )
    else:
        words = ngettext("%(n)s file of %(directory)s.", "%(n)s files of %(directory)s.", found.files)
    left_out = f"{found.left_out}{'+' if found.is_more else ''}"
    says = words % {"n": found.files, "directory": directory, "left_out": left_out, "names": named}
    return (
        f"{says} {_('It has more files than one mount takes: leave some out, or mount a folder of it.')}"
        if found.is_full
        else says
    )


@post_only("manage")
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Saves the settings of a mount; or takes in one name that it leaves out, or stops excluding a pattern."""
    mount = files.get_mount(request.space, pk)
    if name := request.POST.get("take_in"):
        return change_selection(request, mount, lambda: files.take_in_name(request.space, request.actor, mount, name))
    if pattern := request.POST.get("stop_excluding"):
        return change_selection(
            request, mount, lambda: files.stop_excluding(request.space, request.actor, mount, pattern)
        )
    form = MountSettingsForm(with_what_stands(request, mount), mount=mount)
    if not form.is_valid():
        return refused(request, mount, form, 422)
    changed = changed_fields(form)
    try:
        save(request, mount, changed)
    except HubError as error:
        form.refuse(error)
        return refused(request, mount, form, error.status)
    done(request, f"{mount.prefix} {changes_in_words(form, changed)}")
    return files_access.back(request, "mounts", mount=mount.pk)


def with_what_stands(request: HttpRequest, mount: Mount) -> dict[str, Any]:
    """What was sent, and of the other fields what stands: a form that shows some of them leaves the rest as it is."""
    return MountSettingsForm.values_of(mount) | {
        key: value for key, value in request.POST.items() if value or key != "takes"
    }


def save(request: HttpRequest, mount: Mount, changed: dict[str, Any]) -> None:
    """What differs; a directory that is changed alone is looked at anew."""
    on_disk = changed.get("on_disk")
    chosen = {name: value for name, value in changed.items() if name not in ("on_disk", "ends")}
    if "ends" in changed:
        chosen["ends_with_run"] = changed["ends"] == "run"
    if chosen:
        files.change_mount(request.space, request.actor, mount, **chosen)
    if on_disk:
        action, _sep, put_back = on_disk.partition("+")
        files.change_on_disk(request.space, request.actor, mount, action, put_back=bool(put_back))


def change_selection(request: HttpRequest, mount: Mount, act: Any) -> HttpResponse:
    try:
        act()
    except HubError as error:
        return files_access.show(request, status=error.status, error=error, opened=mount)
    done(request, _("What %(prefix)s takes in is changed.") % {"prefix": mount.prefix})
    return files_access.back(request, "mounts", mount=mount.pk)


def refused(request: HttpRequest, mount: Mount, form: MountSettingsForm, status: int) -> HttpResponse:
    survey = survey_of(mount)
    return files_access.show(request, status=status, opened=mount, mount_settings=form, survey=survey)


@post_only("manage")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    mount = files.get_mount(request.space, pk)
    files.remove_mount(request.space, request.actor, mount)
    done(request, _("The mount %(prefix)s is removed; its files stay where they are.") % {"prefix": mount.prefix})
    return files_access.back(request, "mounts")
