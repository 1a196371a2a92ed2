"""Spaces: made, renamed, their settings, limits and webhooks."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memoryhub.domain import notify

from .base import HubForm


class SpaceForm(HubForm):
    name = forms.CharField(label=_("Name"), max_length=100)
    slug = forms.SlugField(
        label=_("Address"), max_length=64, help_text=_("Small letters, digits and hyphens; it stays.")
    )


class RenameForm(HubForm):
    name = forms.CharField(label=_("Name"), max_length=100)
    description = forms.CharField(label=_("Description"), max_length=500, required=False)


class SettingsForm(HubForm):
    """The settings of a space; the domain checks their bounds. With a section, those of that section alone."""

    SECTIONS = {
        "proposals": (_("Proposals"), ("proposal_days", "warn_days", "reviewers", "who_decides")),
        "working": (_("Working memory"), ("working_limit", "working_hours", "logs_reach_others")),
        "prompts": (_("Delivered prompts"), ("delivery_days",)),
        "sign_in": (_("Sign-in"), ("second_factor",)),
    }

    proposal_days = forms.IntegerField(
        label=_("Proposals expire after (days)"), help_text=_("Nothing is approved automatically.")
    )
    warn_days = forms.IntegerField(label=_("Warn before they expire (days)"))
    reviewers = forms.IntegerField(label=_("Reviewers for each proposal"))
    who_decides = forms.ChoiceField(
        choices=[("any", _("Any reviewer or owner")), ("others", _("Anyone but the creator of the agent's token"))], required=False,
        label=_("Who decides"), help_text=_("Whoever created a token of an agent can propose in its name."),
    )  # fmt: skip
    working_limit = forms.IntegerField(
        label=_("Newest entries kept"), help_text=_("A lower number removes the oldest at once.")
    )
    working_hours = forms.IntegerField(label=_("Entries expire after (hours)"), help_text=_("Entries from now on."))
    logs_reach_others = forms.ChoiceField(
        choices=[("gate", _("After the gate")), ("person", _("After a person"))], required=False,
        label=_("What agents log reaches other agents"),
        help_text=_("After a person: it waits in quarantine as unseen, and only its own agent gets it until then."),
    )  # fmt: skip
    delivery_days = forms.IntegerField(label=_("Delivered prompts are kept (days)"))
    second_factor = forms.ChoiceField(
        choices=[("off", _("Up to each person")), ("required", _("Required of every member"))], required=False,
        label=_("Second factor"), help_text=_("Without one, members are led to set it up before they open the space."),
    )  # fmt: skip

    def __init__(self, *args: Any, section: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section
        self.title, names = self.SECTIONS.get(section, (_("Settings"), tuple(self.fields)))
        for name in set(self.fields) - set(names):
            del self.fields[name]

    def clean(self) -> dict[str, Any]:
        """The values that were sent; a setting that was not stays as it is."""
        return {name: value for name, value in self.cleaned_data.items() if value != ""}


class LimitsForm(HubForm):
    """How much agents may send and store; the domain checks the bounds."""

    agent_calls_a_minute = forms.IntegerField(
        label=_("Logs and changes of one agent a minute"), help_text=_("Each web process counts by itself.")
    )
    agent_megabytes = forms.IntegerField(label=_("Stored by one agent (MB)"))
    space_megabytes = forms.IntegerField(label=_("Stored in this space (MB)"))


EVENT_LABELS = {
    "proposal.created": _("proposed"), "proposal.approved": _("approved"),
    "proposal.rejected": _("rejected, or changes requested"), "proposal.withdrawn": _("withdrawn"),
    "proposal.outdated": _("no longer applies"), "proposal.expiring": _("expires soon"), "proposal.expired": _("expired"),
    "proposal.commented": _("commented"), "proposal.undone": _("undone"), "proposal.reopened": _("reopened"),
    "file.changed_on_disk": _("a file changed on disk"),
}  # fmt: skip


class WebhookForm(HubForm):
    """A webhook: its URL, format and events."""

    url = forms.CharField(
        max_length=500, label=_("Address"), help_text=_("https://… address that receives the events.")
    )
    shape = forms.ChoiceField(
        label=_("Format"), choices=[("hub", _("memoryhub's own JSON")), ("slack", _("For chat programs (Slack)"))]
    )
    events = forms.MultipleChoiceField(
        label=_("Events"), widget=forms.CheckboxSelectMultiple, choices=[(event, EVENT_LABELS[event]) for event in notify.EVENTS],
        initial=["proposal.created", "proposal.approved", "proposal.rejected", "proposal.expiring", "proposal.expired"],
    )  # fmt: skip
