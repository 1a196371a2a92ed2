"""Members of a space: roles, sign-in links, removal, deactivation."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.domain import accounts, spaces
from memoryhub.errors import Conflict, HubError
from memoryhub.forms import PersonForm, RoleForm
from memoryhub.models import Person, Role
from memoryhub.web.access import post_only, space_page
from memoryhub.web.notices import done, refused


def show(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    context = {
        "members": spaces.members(request.space),
        "linkable": accounts.linkable(request.space, request.actor),
        "tokens": accounts.tokens_of_space(request.space, agent=None, revoked_at=None),
        "form": PersonForm(),
        "link_times": accounts.LINK_TIME_NAMES,
        **more,
    }
    return render(request, "people/page.html", context, status=status)


@space_page("manage", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@post_only("manage")
def add(request: HttpRequest) -> HttpResponse:
    """Adds a person with an account, or makes an account and shows its one-time sign-in link."""
    form = PersonForm(request.POST)
    if not form.is_valid():
        return show(request, status=422, form=form)
    name, role = form.cleaned_data["username"], form.cleaned_data["role"]
    lasts = accounts.link_time(request.POST.get("lasts", ""))
    existing = accounts.find_person(name)
    try:
        person = existing or accounts.create_person(request.actor, name, email=form.cleaned_data["email"])
        spaces.add_member(request.space, request.actor, person, role)
    except HubError as error:
        form.refuse(error)
        return show(request, status=422, form=form)
    if existing:
        done(request, role_words(person, role))
        return redirect("people.page", request.space.slug)
    return show_link(request, person, lasts)


def role_words(person: Person, role: str) -> str:
    words = _("%(person)s is now %(role)s of this space.")
    return words % {"person": person.username, "role": str(Role(role).label).lower()}


def show_link(request: HttpRequest, person: Person, lasts: timedelta) -> HttpResponse:
    """The page with a new link for the person, which nobody can see again."""
    leads_to = request.space.get_absolute_url()
    secret = accounts.make_sign_in_link(request.actor, person, leads_to=leads_to, lasts=lasts)
    link = request.build_absolute_uri(reverse("login.once", args=[secret]))
    return show(request, link=link, link_for=person, link_until=timezone.now() + lasts)


def member_of(request: HttpRequest, pk: int) -> Person:
    return spaces.get_member(request.space, pk).person


@post_only("manage")
def make_link(request: HttpRequest, pk: int) -> HttpResponse:
    person = member_of(request, pk)
    accounts.require_no_other_owner(request.space, request.actor, person)
    return show_link(request, person, accounts.link_time(request.POST.get("lasts", "")))


@post_only("manage")
def change_role(request: HttpRequest, pk: int) -> HttpResponse:
    member = spaces.get_member(request.space, pk)
    form, person, was = RoleForm(request.POST if "role" in request.POST else request.GET), member.person, member.role
    if not form.is_valid():
        return show(request, status=422)
    try:
        spaces.change_role(request.space, request.actor, person, form.cleaned_data["role"])
    except HubError as error:
        refused(request, error.message)
        return show(request, status=error.status)
    undo = f"{request.path}?role={was}" if person != request.user else ""
    done(request, role_words(person, form.cleaned_data["role"]), undo=undo)
    return redirect("people.page" if person != request.user else "overview.page", request.space.slug)


@post_only("manage")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    person = member_of(request, pk)
    try:
        spaces.remove_member(request.space, request.actor, person)
    except HubError as error:
        refused(request, error.message)
        return show(request, status=error.status)
    words = _("%(person)s is removed, and their tokens here are revoked. Their activity stays.")
    done(request, words % {"person": person.username})
    return redirect("people.page", request.space.slug) if person != request.user else redirect("spaces.front")


@post_only("manage")
def deactivate(request: HttpRequest, pk: int) -> HttpResponse:
    person = member_of(request, pk)
    try:
        spaces.deactivate_person(request.actor, person)
    except Conflict as refusal:
        refused(request, refusal.message)
        return show(request, status=refusal.status)
    undo = reverse("people.reactivate", args=[request.space.slug, pk])
    words = _("%(person)s is deactivated: signed out everywhere, and their tokens are refused.")
    done(request, words % {"person": person.username}, undo=undo)
    return redirect("people.page", request.space.slug)


@post_only("manage")
def reactivate(request: HttpRequest, pk: int) -> HttpResponse:
    person = member_of(request, pk)
    spaces.reactivate_person(request.actor, person)
    done(request, _("%(person)s can sign in again.") % {"person": person.username})
    return redirect("people.page", request.space.slug)
