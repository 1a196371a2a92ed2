"""People: members of a space, and what somebody changes of their own account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memoryhub.models import Role

from .base import HubForm

ROLE_CHOICES = (
    (Role.VIEWER, _("Viewer")), (Role.EDITOR, _("Editor")), (Role.REVIEWER, _("Reviewer")), (Role.OWNER, _("Owner")),
)  # fmt: skip


class PersonForm(HubForm):
    username = forms.CharField(
        label=_("Name"), max_length=64, help_text=_("To sign in with: one word, such as ines.vogel."),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"}),
    )  # fmt: skip
    role = forms.ChoiceField(label=_("Role"), choices=ROLE_CHOICES, initial=Role.VIEWER)
    email = forms.EmailField(
        label=_("E-mail"), required=False,
        help_text=_("For notifications. If the owner of the hub enters it, single sign-on can match the person by it."),
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=ROLE_CHOICES)


class PasswordForm(HubForm):
    current = forms.CharField(
        label=_("Current password"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label=_("New password"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )
    again = forms.CharField(
        label=_("New password again"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )
    keep_tokens = forms.BooleanField(label=_("Keep my API tokens"), required=False)

    def __init__(self, *args: Any, asks_current: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["current"].required = asks_current

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("new") and cleaned.get("again") and cleaned["new"] != cleaned["again"]:
            self.add_error("again", _("The two new passwords differ."))
        return cleaned


class EmailForm(HubForm):
    email = forms.EmailField(
        label=_("E-mail"), required=False, help_text=_("Where summaries of waiting proposals go, if a space sends them."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )  # fmt: skip
