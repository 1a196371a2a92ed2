"""What saving a form changed, in words: the notice after "Save mount" or "Save settings" names each field with both values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext as _

from memoryhub.errors import HubError
from memoryhub.forms.base import HubForm
from memoryhub.web.notices import done


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
    """“Changes by agents: Need approval → Apply at once; Exclude”, or that nothing changed."""
    if not changed:
        return _("Nothing changed.")
    return "; ".join(change_in_words(form, name, value) for name, value in changed.items()) + "."


def change_in_words(form: forms.Form, name: str, value: Any) -> str:
    field, label = form.fields[name], form[name].label
    before, after = shown(field, form.initial.get(name, "")), shown(field, value)
    return f"{label}: {before} → {after}" if before and after else str(label)


def shown(field: forms.Field, value: Any) -> str:
    """A value as the form shows it; empty for one that takes more than a few words."""
    if isinstance(field.widget, forms.Textarea):
        return ""
    if isinstance(field, forms.BooleanField):
        return _("on") if value else _("off")
    choices = dict(getattr(field, "choices", ()))
    said = str(choices.get(value, value))
    return said if len(said) <= 60 else ""
