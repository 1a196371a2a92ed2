"""What all forms share: CSS classes, words for wrong values, refusals of the domain at their field."""

from __future__ import annotations

from typing import Any

from django import forms
from django.forms.utils import pretty_name
from django.utils.translation import gettext_lazy as _

from memoryhub.languages import translated


def labelled_messages(field: forms.Field, label: str) -> dict[str, str]:
    """What a field says of a wrong value, naming it by its label."""
    words = {
        "required": _("%(label)s is required."),
        "invalid_choice": _("%(label)s: choose one of the list."),
        "max_length": _("%(label)s has %%(limit_value)d characters at most."),
        "min_value": _("%(label)s is at least %%(limit_value)s."),
        "max_value": _("%(label)s is at most %%(limit_value)s."),
    }
    if isinstance(field, forms.IntegerField):
        words["invalid"] = _("%(label)s is a whole number.")
    return {code: text % {"label": label} for code, text in words.items()}


class HubForm(forms.Form):
    """Base of all forms: gives fields their CSS class and shows refusals of the domain."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.error_messages |= labelled_messages(field, str(field.label or pretty_name(name)))
            if not isinstance(field.widget, forms.CheckboxInput | forms.CheckboxSelectMultiple | forms.RadioSelect):
                field.widget.attrs.setdefault("class", "input")

    def refuse(self, error: Any) -> None:
        """Adds a refusal of the domain to the field that it names, else to the form; it names the field by its label."""
        name, message = error.details.get("field"), error.message
        if name not in self.fields:
            self.add_error(None, translated(message))
            return
        spoken, label = name.replace("_", " ").capitalize(), str(self.fields[name].label or pretty_name(name))
        if message.startswith(f"{spoken} is "):
            message = label + message.removeprefix(spoken)
        self.add_error(name, translated(message))
