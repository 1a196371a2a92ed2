"""Notices on the next page: of what was done, with an undo button where there is one, and of what saving a form changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.errors import HubError
from memoryhub.forms.base import HubForm
from memoryhub.languages import translated
from memoryhub.models import Proposal


def done(request: HttpRequest, text: str, *, undo: str = "", see: str = "") -> None:
    """Adds a notice to the next page; a POST to the address `undo` takes back what was done, `see` is a prompt that shows it."""
    messages.success(request, text, extra_tags=f"{undo} {see}".rstrip())


def refused(request: HttpRequest, text: str) -> None:
    """Adds a notice of what was not done; a refusal of the domain is told in the language of the page."""
    messages.error(request, translated(text))


def proposed(request: HttpRequest, made: list[Proposal]) -> HttpResponseRedirect:
    """After a person left changes to a reviewer: to the proposal, or to the inbox where there are several."""
    says = ngettext(
        "Proposal %(numbers)s waits for a decision.", "Proposals %(numbers)s wait for a decision.", len(made)
    )
    done(request, says % {"numbers": ", ".join(str(one.number) for one in made)})
    slug = request.space.slug  # type: ignore[attr-defined]
    if len(made) == 1:
        return HttpResponseRedirect(reverse("proposals.detail", args=[slug, made[0].number]), status=303)
    return HttpResponseRedirect(reverse("proposals.page", args=[slug]), status=303)


def save_changes(request: HttpRequest, form: HubForm, save: Callable[[dict[str, Any]], object]) -> bool:
    """Saves what was changed in a form and says so; False where form or domain refuse it, and then the form says why."""
    if not form.is_valid():
        return False
    changed = changed_fields(form)
    try:
        save(changed)
    except HubError as error:
        form.refuse(error)
        return False
    done(request, changes_in_words(form, changed))
    return True


def changed_fields(form: forms.Form) -> dict[str, Any]:
    """The values of a valid form that differ from those it began with, by name. Browsers send CRLF for the LF of a text."""
    return {name: value for name, value in values_of(form).items() if value != form.initial.get(name, "")}


def values_of(form: forms.Form) -> dict[str, Any]:
    return {
        name: value.replace("\r\n", "\n") if isinstance(value, str) else value
        for name, value in form.cleaned_data.items()
    }


def changes_in_words(form: forms.Form, changed: dict[str, Any]) -> str:
    """“Changes by agents: Need approval → Apply at once; Exclude changed”, or that nothing changed."""
    if not changed:
        return _("Nothing changed.")
    return "; ".join(change_in_words(form, name, value) for name, value in changed.items()) + "."


def change_in_words(form: forms.Form, name: str, value: Any) -> str:
    field, label = form.fields[name], form[name].label
    before, after = shown(field, form.initial.get(name, "")), shown(field, value)
    return f"{label}: {before} → {after}" if before and after else _("%(field)s changed") % {"field": label}


def shown(field: forms.Field, value: Any) -> str:
    """A value as the form shows it; empty for one that takes more than a few words."""
    if isinstance(field.widget, forms.Textarea):
        return ""
    if isinstance(field, forms.BooleanField):
        return _("on") if value else _("off")
    choices = dict(getattr(field, "choices", ()))
    label = str(choices.get(value, value))
    return label if len(label) <= 60 else ""
