"""Agents, their prompts and their tokens."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memoryhub import dialects
from memoryhub.models import Scope

from .base import HubForm

SCOPE_CHOICES = (
    (Scope.PROMPT, _("Prompt")), (Scope.FILES, _("Files")), (Scope.PROPOSE, _("Propose")), (Scope.INGEST, _("Ingest")),
    (Scope.RETRIEVE, _("Retrieve")),
)  # fmt: skip


class AgentForm(HubForm):
    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("Its address is made from it."))
    description = forms.CharField(
        label=_("Description"), max_length=500, required=False, help_text=_("What it does, in a few words.")
    )
    dialect = forms.ChoiceField(label=_("Dialect"), help_text=_("How its framework wraps memory into the prompt."))
    system_prompt = forms.CharField(
        label=_("Base system prompt"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 6, "class": "input mono"}),
        help_text=_("Where the caller sends none of its own."),
    )  # fmt: skip
    persona = forms.CharField(
        label=_("Persona"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 3, "class": "input mono"}),
        help_text=_("Who it is, in the hub's own dialect."),
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A family by its name alone is its newest form, or the version that the agent's client reports.
        names = list(dict.fromkeys([dialects.AUTO, *dialects.families(), *dialects.names()]))
        # A version between two forms is as good a choice; one that an agent has already stays selectable.
        if (given := self.initial.get("dialect")) and given not in names:
            names = [given, *names]
        labels = {dialects.AUTO: _("auto: what its calls ask for")}
        self.fields["dialect"].choices = [(name, labels.get(name, name)) for name in names]


class NewAgentForm(AgentForm):
    """A new agent. Without a dialect of its own it gets that of its framework."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["dialect"]
        field.required = False
        field.choices = [("", _("As its framework does")), *field.choices]
        field.help_text = _("How memory is wrapped into the prompt.")
        self.fields["name"].help_text = _("Letters of any alphabet.")


class TokenForm(HubForm):
    label = forms.CharField(
        label=_("Label"), max_length=100, required=False, help_text=_("Where it will be used: ci, laptop of rk.")
    )
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"), choices=SCOPE_CHOICES, widget=forms.CheckboxSelectMultiple, required=False
    )
    days = forms.TypedChoiceField(
        label=_("Ends"), coerce=int, empty_value=0, required=False,
        choices=[
            (0, _("when revoked")), (7, _("after a week")), (30, _("after 30 days")), (90, _("after 90 days")), (365, _("after a year")),
        ],
    )  # fmt: skip

    def values(self) -> dict[str, Any]:
        days = self.cleaned_data["days"]
        return {
            "label": self.cleaned_data["label"],
            "scopes": self.cleaned_data["scopes"] or None,
            "expires_at": timezone.now() + timedelta(days=days) if days else None,
        }


CUT_ORDER_LABELS = {"working": _("working memory"), "longterm": _("long-term memory"), "source": _("files")}


def _in_order(order: tuple[str, ...]) -> str:
    first, second, third = (CUT_ORDER_LABELS[kind] for kind in order)
    return gettext("%(first)s, then %(second)s, then %(third)s") % {"first": first, "second": second, "third": third}


in_order = lazy(_in_order, str)  # the choices are made once, for every language


class PromptSettingsForm(HubForm):
    """The settings of an agent that affect its prompt."""

    memory_is_on = forms.BooleanField(label=_("Memory is on"), required=False)
    budget = forms.IntegerField(
        label=_("Budget"), required=False, min_value=1, max_value=10_000_000,
        help_text=_("In tokens. Empty: no limit, nothing is left out."),
    )  # fmt: skip
    gives_way = forms.ChoiceField(
        label=_("Left out first when over budget"),
        choices=[(",".join(order), in_order(order)) for order in permutations(CUT_ORDER_LABELS)],
    )
    template = forms.CharField(
        label=_("A template of its own"), required=False, strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "class": "input mono", "spellcheck": "false"}),
        help_text=_("With {agent_memory} exactly once, for dialects of deepagents. Empty: the library's own."),
    )  # fmt: skip
