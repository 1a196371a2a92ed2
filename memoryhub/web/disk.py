"""Changes on disk: what a mount does with them, saying seen, taking back, and values that are no secrets."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.domain import files
from memoryhub.errors import Conflict, HubError
from memoryhub.templatetags.files import page_address
from memoryhub.web import file_views, files_access
from memoryhub.web.access import post_only, space_page
from memoryhub.web.file_views import requested_path
from memoryhub.web.notices import done, refused


def back_to(request: HttpRequest, where: str) -> HttpResponse:
    """The page that the form was on: the inbox, or the file."""
    inbox = reverse("proposals.page", args=[request.space.slug])
    to = inbox if request.POST.get("next") == "inbox" else page_address(request.space.slug, where)
    return HttpResponseRedirect(to, status=303)


def act_and_go_back(
    request: HttpRequest, where: str, says: str, act: Callable[[], object], refusals: type[HubError] = Conflict
) -> HttpResponse:
    """Does it and says so, or says why it was refused; then to the page that the form was on."""
    try:
        act()
        done(request, says)
    except refusals as error:
        refused(request, error.message)
    return back_to(request, where)


@post_only("decide")
def mark_seen(request: HttpRequest, path: str) -> HttpResponse:
    """Says that somebody looked at a change on disk that counts."""
    where = requested_path(request, path)
    revision = file_views.revision_number(request.POST.get("revision", ""))
    says = _("%(path)s is marked as seen.") % {"path": where}
    return act_and_go_back(request, where, says, lambda: files.mark_seen(request.space, request.actor, where, revision))


@post_only("decide")
def take_back(request: HttpRequest, path: str) -> HttpResponse:
    """Makes the text before a change on disk the newest again, on disk as well."""
    where = requested_path(request, path)
    revision = file_views.revision_number(request.POST.get("revision", ""))
    says = _("%(path)s is as it was before the change on disk.") % {"path": where}
    return act_and_go_back(request, where, says, lambda: files.take_back(request.space, request.actor, where, revision))


@post_only("decide")
def put_back(request: HttpRequest, path: str) -> HttpResponse:
    """Writes the approved text over what is held on disk."""
    where = requested_path(request, path)
    says = _("The approved text is on disk again. The change is kept in its proposal.")
    return act_and_go_back(request, where, says, lambda: files.put_back(request.space, request.actor, where), HubError)


@post_only("decide")
def hold_again(request: HttpRequest, path: str) -> HttpResponse:
    """Holds changes of a file again, after the hub stopped because a program kept changing it."""
    where = requested_path(request, path)
    says = _("Changes of %(path)s on disk wait for a person again.") % {"path": where}
    return act_and_go_back(
        request, where, says, lambda: files.hold_again(request.space, request.actor, where), HubError
    )


@post_only("edit")
def look_again(request: HttpRequest, path: str) -> HttpResponse:
    """Looks whether the secret is still in the file on disk."""
    where = requested_path(request, path)
    lines = files.look_again(request.space, where)
    if lines:
        found = ", ".join(map(str, lines))
        refused(request, _("The file on disk still contains a secret: line %(lines)s.") % {"lines": found})
    else:
        done(request, _("The file on disk no longer contains a secret."))
    return back_to(request, where)


@post_only("edit")
def allow(request: HttpRequest, path: str) -> HttpResponse:
    """Says that a marked value is no secret."""
    where = requested_path(request, path)
    try:
        allowed = files.allow_on_disk(request.space, request.actor, where, request.POST.get("value", ""))
        undo = reverse("disk.forbid", args=[request.space.slug, allowed.pk])
        done(request, _("Marked as not a secret. Only a keyed hash of the value is kept."), undo=undo)
    except Conflict as error:
        refused(request, error.message)
    return back_to(request, where)


@space_page("read", methods=("GET", "HEAD"))
def allowed(request: HttpRequest) -> HttpResponse:
    """The values of which people said that they are no secrets."""
    return render(request, "disk/allowed.html", {"values": files.allowed_in_space(request.space)})


@post_only("edit")
def forbid(request: HttpRequest, pk: int) -> HttpResponse:
    """Takes back that a value is no secret."""
    files.forbid(request.space, request.actor, pk)
    done(request, _("Marked as a secret again. Revisions saved meanwhile keep the value."))
    return redirect("disk.allowed", request.space.slug)


@post_only("manage")
def change_on_disk(request: HttpRequest, pk: int) -> HttpResponse:
    """Chooses what a change in the directory of a mount does."""
    mount, chosen = files.get_mount(request.space, pk), request.POST.get("on_disk", "")
    on_disk, _sep, put_back = chosen.partition("+")
    files.change_on_disk(request.space, request.actor, mount, on_disk, put_back=bool(put_back))
    done(request, _("%(prefix)s is changed.") % {"prefix": mount.prefix})
    return files_access.back(request, "mounts", mount=mount.pk)


@post_only("edit")
def retry(request: HttpRequest, path: str) -> HttpResponse:
    """Tries again to write a revision to the disk that did not get there."""
    where = requested_path(request, path)
    says = _("%(path)s is on disk now.") % {"path": where}
    return act_and_go_back(request, where, says, lambda: files.retry_disk(request.space, where))
