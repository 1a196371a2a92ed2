"""Forms. They check the shape of values; the domain checks their meaning."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

from django import forms
from django.forms.utils import pretty_name
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memoryhub import dialects
from memoryhub.models import Role, Scope


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
        """Adds a refusal of the domain to the field that it names, else to the form."""
        field = error.details.get("field")
        self.add_error(field if field in self.fields else None, error.message)


class AgentForm(HubForm):
    name = forms.CharField(max_length=100, help_text="Its address is made from it.")
    description = forms.CharField(max_length=500, required=False, help_text="What it does, in a few words.")
    dialect = forms.ChoiceField(help_text="How its framework wraps memory into the prompt.")
    system_prompt = forms.CharField(
        label="Base system prompt", required=False, strip=False, widget=forms.Textarea(attrs={"rows": 6, "class": "input mono"}),
        help_text="Where the caller sends none of its own.",
    )  # fmt: skip
    persona = forms.CharField(
        required=False, strip=False, widget=forms.Textarea(attrs={"rows": 3, "class": "input mono"}),
        help_text="Who it is, in the hub's own dialect.",
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A family by its name alone is its newest form, or the version that the agent's client reports.
        names = list(dict.fromkeys([dialects.AUTO, *dialects.families(), *dialects.names()]))
        # A version between two forms is as good a choice; one that an agent has already stays selectable.
        if (given := self.initial.get("dialect")) and given not in names:
            names = [given, *names]
        said = {dialects.AUTO: "auto: what its calls ask for"}
        self.fields["dialect"].choices = [(name, said.get(name, name)) for name in names]


class NewAgentForm(AgentForm):
    """A new agent. Without a dialect of its own it gets that of its framework."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["dialect"]
        field.required = False
        field.choices = [("", _("As its framework does")), *field.choices]
        field.help_text = _("How memory is wrapped into the prompt.")
        self.fields["name"].help_text = _("In any script.")


class TokenForm(HubForm):
    label = forms.CharField(max_length=100, required=False, help_text="Where it will be used: ci, laptop of rk.")
    scopes = forms.MultipleChoiceField(choices=Scope.choices, widget=forms.CheckboxSelectMultiple, required=False)
    days = forms.TypedChoiceField(
        label="Ends", coerce=int, empty_value=0, required=False,
        choices=[(0, "when revoked"), (7, "after a week"), (30, "after 30 days"), (90, "after 90 days"), (365, "after a year")],
    )  # fmt: skip

    def values(self) -> dict[str, Any]:
        days = self.cleaned_data["days"]
        return {
            "label": self.cleaned_data["label"],
            "scopes": self.cleaned_data["scopes"] or None,
            "expires_at": timezone.now() + timedelta(days=days) if days else None,
        }


class PersonForm(HubForm):
    username = forms.CharField(
        label="Name", max_length=64, widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"})
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER)
    email = forms.EmailField(
        label="E-mail", required=False, help_text="For mails. Noted by the owner of the hub, single sign-on may find the person by it.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


class PasswordForm(HubForm):
    current = forms.CharField(
        label="Current password",
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label="New password", strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )
    again = forms.CharField(
        label="New password again", strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )
    keep_tokens = forms.BooleanField(label="Keep my API tokens", required=False)

    def __init__(self, *args: Any, asks_current: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["current"].required = asks_current

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("new") and cleaned.get("again") and cleaned["new"] != cleaned["again"]:
            self.add_error("again", "The two new passwords differ.")
        return cleaned


class EmailForm(HubForm):
    email = forms.EmailField(
        label="E-mail", required=False, help_text="Where summaries of waiting proposals go, if a space sends them.",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )  # fmt: skip


class SpaceForm(HubForm):
    name = forms.CharField(max_length=100)
    slug = forms.SlugField(label="Address", max_length=64, help_text="Small letters, digits and hyphens; it stays.")


class RenameForm(HubForm):
    name = forms.CharField(max_length=100)
    description = forms.CharField(max_length=500, required=False)


class SettingsForm(HubForm):
    """The settings of a space; the domain checks their bounds."""

    proposal_days = forms.IntegerField(label="Proposals expire after (days)")
    warn_days = forms.IntegerField(label="Warn before they expire (days)")
    reviewers = forms.IntegerField(label="Reviewers for each proposal")
    who_decides = forms.ChoiceField(
        choices=[("any", "any reviewer or owner"), ("others", "nobody on their own agent's")], required=False,
        label="Who decides", help_text="Whoever made a key of an agent can ask in its name.",
    )  # fmt: skip
    second_factor = forms.ChoiceField(
        choices=[("off", "up to each person"), ("required", "required of every member")], required=False,
        label="Second factor", help_text="Without one, members are led to set it up before they open the space.",
    )  # fmt: skip
    working_limit = forms.IntegerField(
        label="Working memory keeps the newest", help_text="A lower number lets the oldest go at once."
    )
    working_hours = forms.IntegerField(label="Working memory lasts (hours)", help_text="Entries from now on.")
    logs_reach_others = forms.ChoiceField(
        choices=[("gate", "after the gate"), ("person", "after a person")], required=False,
        label="What agents log reaches other agents",
        help_text="After a person: it waits in quarantine as unseen, and only its own agent gets it until then.",
    )  # fmt: skip
    delivery_days = forms.IntegerField(label="Delivered prompts are kept (days)")


class LimitsForm(HubForm):
    """How much agents may send and store; the domain checks the bounds."""

    agent_calls_a_minute = forms.IntegerField(
        label="Logs and changes of one agent a minute", help_text="Each web process counts by itself."
    )
    agent_megabytes = forms.IntegerField(label="Stored by one agent (MB)")
    space_megabytes = forms.IntegerField(label="Stored in this space (MB)")


CUT_ORDER_LABELS = {"working": "working memory", "longterm": "long-term memory", "source": "files"}


class PromptSettingsForm(HubForm):
    """The settings of an agent that affect its prompt."""

    memory_is_on = forms.BooleanField(label="Memory is on", required=False)
    budget = forms.IntegerField(
        required=False, min_value=1, max_value=10_000_000, help_text="In tokens. Empty: no limit, nothing gives way.",
    )  # fmt: skip
    gives_way = forms.ChoiceField(
        label="What gives way to it, first to last",
        choices=[
            (",".join(order), ", then ".join(CUT_ORDER_LABELS[kind] for kind in order))
            for order in permutations(CUT_ORDER_LABELS)
        ],
    )
    template = forms.CharField(
        label="A template of its own", required=False, strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "class": "input mono", "spellcheck": "false"}),
        help_text="With {agent_memory} exactly once, for dialects of deepagents. Empty: the library's own.",
    )  # fmt: skip


class RuleForm(HubForm):
    """A rule for paths, for all agents or one of the space."""

    POLICIES = (
        ("review", "review: a person decides"), ("trusted", "trusted: applied at once"), ("read_only", "read only: refused"),
    )  # fmt: skip
    PEOPLE = ((1, "one person decides"), (2, "two people have to agree"))

    pattern = forms.CharField(max_length=1024, label="Paths", help_text="A pattern such as /memories/notes/**")
    agent = forms.ChoiceField(required=False)
    policy = forms.ChoiceField(choices=POLICIES, initial="review")
    max_added = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        label="Only up to so many added characters",
        help_text="And no more taken away; a deletion or a move always asks.",
    )
    unless_findings = forms.BooleanField(required=False, initial=True, label="Only when no detector objects")
    reviewers = forms.TypedChoiceField(coerce=int, empty_value=1, choices=PEOPLE, required=False)
    confirm = forms.BooleanField(required=False, label="Add it although no file matches it now")

    def __init__(self, *args: Any, space: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        from memoryhub.domain import prompts

        slugs = prompts.agents_of_space(space).values_list("slug", flat=True)
        self.fields["agent"].choices = [("", "every agent"), *((slug, slug) for slug in slugs)]


class WebhookForm(HubForm):
    """A webhook: its URL, format and events."""

    url = forms.CharField(max_length=500, label="Address", help_text="https://… of the program that is told.")
    shape = forms.ChoiceField(choices=[("hub", "memoryhub's own JSON"), ("slack", "as chat programs take it (Slack)")])
    events = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        choices=[
            ("proposal.created", "an agent asks"), ("proposal.approved", "approved"),
            ("proposal.rejected", "rejected, or changes requested"),
            ("proposal.withdrawn", "taken back"), ("proposal.outdated", "no longer applies"),
            ("proposal.expiring", "ends soon"), ("proposal.expired", "expired"), ("proposal.commented", "commented"),
            ("proposal.undone", "undone"),
            ("proposal.reopened", "reopened"), ("file.changed_on_disk", "a file changed on disk"),
        ],
        initial=["proposal.created", "proposal.approved", "proposal.rejected", "proposal.expiring", "proposal.expired"],
    )  # fmt: skip


class MountForm(HubForm):
    prefix = forms.CharField(max_length=1024, help_text="As agents see it: /memories/, or ~/.deepagents/.")
    store = forms.ChoiceField(
        choices=[
            ("database", "in the hub"),
            ("filesystem", "in a directory"),
            ("thread", "per thread, for a day"),
            ("views", "shows memory, read-only"),
        ]
    )
    directory = forms.CharField(
        required=False, max_length=4096, help_text="On the machine of the hub, for files in a directory."
    )
    policy = forms.ChoiceField(
        choices=[("review", "review: agents ask, people decide"), ("trusted", "trusted: agents write at once"),
                 ("read_only", "read_only: agents only read")], help_text="What happens to a write by an agent.",
    )  # fmt: skip
    exclude = forms.CharField(
        required=False, max_length=100_000, widget=forms.Textarea(attrs={"rows": 2, "class": "input mono"}), label="Leave out",
        help_text="Of a directory: patterns as in .gitignore files, one a line. Version control, secrets, dependencies and "
                  "what .gitignore files ignore are left out anyway.",
    )  # fmt: skip


class RetrievalForm(HubForm):
    """Limits of retrieval; what is left empty is as the space, or as the hub has it."""

    hot = forms.IntegerField(
        label=_("Recent entries"),
        required=False,
        min_value=0,
        max_value=50,
        help_text=_("The newest of working memory."),
    )
    cold = forms.IntegerField(
        label=_("Long-term chunks"), required=False, min_value=0, max_value=50, help_text=_("The best matches.")
    )
    max_chars = forms.IntegerField(
        label=_("Characters of each"),
        required=False,
        min_value=1,
        max_value=1 << 20,
        help_text=_("Longer texts are cut."),
    )
    threshold = forms.FloatField(
        label=_("Similarity threshold"), required=False, min_value=-1, max_value=1,
        help_text=_("The lowest cosine that is given out. Empty: the embedder's own, below which equal words count too."),
    )  # fmt: skip
    words = forms.IntegerField(
        label=_("Words in the order, in %"), required=False, min_value=0, max_value=100,
        help_text=_("The rest is likeness of meaning."),
    )  # fmt: skip

    def __init__(self, *args: Any, inherited: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            value = getattr(inherited, name, None)
            if value is not None:
                field.widget.attrs["placeholder"] = round(value * 100) if name == "words" else value

    @property
    def values(self) -> dict[str, Any]:
        """What was given, as the domain has it."""
        given = {name: value for name, value in self.cleaned_data.items() if value is not None}
        return given | ({"words": given["words"] / 100} if "words" in given else {})


class ChunksForm(HubForm):
    size = forms.IntegerField(label=_("Characters of a chunk"), help_text=_("100 to 4,000."))
    overlap = forms.IntegerField(label=_("Shared with the next"), help_text=_("Up to half of a chunk."))
