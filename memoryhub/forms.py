"""Forms. They check the shape of values; the domain checks their meaning."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

from django import forms
from django.forms.utils import pretty_name
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memoryhub import dialects
from memoryhub.languages import translated
from memoryhub.models import Role, Scope

ROLE_CHOICES = (
    (Role.VIEWER, _("Viewer")), (Role.EDITOR, _("Editor")), (Role.REVIEWER, _("Reviewer")), (Role.OWNER, _("Owner")),
)  # fmt: skip
SCOPE_CHOICES = (
    (Scope.PROMPT, _("Prompt")), (Scope.FILES, _("Files")), (Scope.PROPOSE, _("Propose")), (Scope.INGEST, _("Ingest")),
    (Scope.RETRIEVE, _("Retrieve")),
)  # fmt: skip


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
        self.add_error(field if field in self.fields else None, translated(error.message))


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
        said = {dialects.AUTO: _("auto: what its calls ask for")}
        self.fields["dialect"].choices = [(name, said.get(name, name)) for name in names]


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


class PersonForm(HubForm):
    username = forms.CharField(
        label=_("Name"), max_length=64, widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"})
    )
    role = forms.ChoiceField(label=_("Role"), choices=ROLE_CHOICES, initial=Role.VIEWER)
    email = forms.EmailField(
        label=_("E-mail"), required=False,
        help_text=_("For mails. Noted by the owner of the hub, single sign-on may find the person by it."),
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
        choices=[("any", _("Any reviewer or owner")), ("others", _("Nobody on their own agent's"))], required=False,
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


class LimitsForm(HubForm):
    """How much agents may send and store; the domain checks the bounds."""

    agent_calls_a_minute = forms.IntegerField(
        label=_("Logs and changes of one agent a minute"), help_text=_("Each web process counts by itself.")
    )
    agent_megabytes = forms.IntegerField(label=_("Stored by one agent (MB)"))
    space_megabytes = forms.IntegerField(label=_("Stored in this space (MB)"))


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
        label=_("What gives way to it, first to last"),
        choices=[(",".join(order), in_order(order)) for order in permutations(CUT_ORDER_LABELS)],
    )
    template = forms.CharField(
        label=_("A template of its own"), required=False, strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "class": "input mono", "spellcheck": "false"}),
        help_text=_("With {agent_memory} exactly once, for dialects of deepagents. Empty: the library's own."),
    )  # fmt: skip


POLICY_CHOICES = (
    ("review", _("Need approval")), ("trusted", _("Apply at once")), ("read_only", _("Not allowed (read only)")),
)  # fmt: skip


class RuleForm(HubForm):
    """A rule for paths, for all agents or one of the space."""

    PEOPLE = ((1, _("One reviewer")), (2, _("Two reviewers")))

    pattern = forms.CharField(
        max_length=1024, label=_("Path pattern"), help_text=_("Such as /memories/notes/** or *.log.md."),
        widget=forms.TextInput(attrs={"class": "input mono", "autocomplete": "off", "spellcheck": "false"}),
    )  # fmt: skip
    agent = forms.ChoiceField(required=False, label=_("Agent"))
    policy = forms.ChoiceField(choices=POLICY_CHOICES, initial="review", label=_("Changes by agents"))
    max_added = forms.IntegerField(
        required=False, min_value=0, max_value=1_000_000, label=_("Apply at once up to (characters)"),
        help_text=_("Added to a file since somebody other than an agent wrote or approved it, and no more removed."),
    )  # fmt: skip
    unless_findings = forms.BooleanField(
        required=False, initial=True, label=_("Apply at once only without findings of detectors")
    )
    reviewers = forms.TypedChoiceField(
        coerce=int, empty_value=1, choices=PEOPLE, required=False, label=_("Approval by")
    )
    confirm = forms.BooleanField(required=False, label=_("Save it although no file matches it now"))

    def __init__(self, *args: Any, space: Any, **kwargs: Any) -> None:
        kwargs.setdefault("auto_id", "rule_%s")
        super().__init__(*args, **kwargs)
        from memoryhub.domain import prompts

        slugs = prompts.agents_of_space(space).values_list("slug", "name")
        self.fields["agent"].choices = [("", _("Every agent")), *slugs]


class WebhookForm(HubForm):
    """A webhook: its URL, format and events."""

    url = forms.CharField(max_length=500, label=_("Address"), help_text=_("https://… of the program that is told."))
    shape = forms.ChoiceField(
        label=_("Format"), choices=[("hub", _("memoryhub's own JSON")), ("slack", _("For chat programs (Slack)"))]
    )
    events = forms.MultipleChoiceField(
        label=_("Events"), widget=forms.CheckboxSelectMultiple,
        choices=[
            ("proposal.created", _("proposed")), ("proposal.approved", _("approved")),
            ("proposal.rejected", _("rejected, or changes requested")),
            ("proposal.withdrawn", _("withdrawn")), ("proposal.outdated", _("no longer applies")),
            ("proposal.expiring", _("expires soon")), ("proposal.expired", _("expired")), ("proposal.commented", _("commented")),
            ("proposal.undone", _("undone")), ("proposal.reopened", _("reopened")),
            ("file.changed_on_disk", _("a file changed on disk")),
        ],
        initial=["proposal.created", "proposal.approved", "proposal.rejected", "proposal.expiring", "proposal.expired"],
    )  # fmt: skip


class MountForm(HubForm):
    """A new mount."""

    prefix = forms.CharField(
        max_length=1024, label=_("Path"), help_text=_("As agents see it: /memories/, or ~/.deepagents/."),
        widget=forms.TextInput(attrs={"class": "input mono"}),
    )  # fmt: skip
    store = forms.ChoiceField(
        label=_("Files are kept"),
        choices=[
            ("database", _("In the hub")), ("filesystem", _("In a directory")), ("thread", _("Per thread, for a day")),
            ("views", _("Nowhere: shows memory, read-only")),
        ],
    )  # fmt: skip
    directory = forms.CharField(
        required=False, max_length=4096, label=_("Directory"), help_text=_("On the machine of the hub, for files in a directory."),
        widget=forms.TextInput(attrs={"class": "input mono"}),
    )  # fmt: skip
    policy = forms.ChoiceField(choices=POLICY_CHOICES, label=_("Changes by agents"))
    exclude = forms.CharField(
        required=False, max_length=100_000, widget=forms.Textarea(attrs={"rows": 2, "class": "input mono"}), label=_("Exclude"),
        help_text=_("Of a directory: patterns as in .gitignore files, one a line. Version control, secrets, dependencies and "
                    "what .gitignore files ignore are left out anyway."),
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="mount_%s", **kwargs)


class MountSettingsForm(HubForm):
    """A mount that is there. Only a directory has changes on disk and a selection of files."""

    ENDS = (("day", _("After a day without use")), ("run", _("When the hub starts again, or after a day without use")))
    ON_DISK = (("apply", _("Apply")), ("hold", _("Hold")), ("hold+put_back", _("Hold and put back")))

    policy = forms.ChoiceField(choices=POLICY_CHOICES, label=_("Changes by agents"))
    on_disk = forms.ChoiceField(choices=ON_DISK, label=_("Changes on disk"), required=False, widget=forms.RadioSelect)
    ends = forms.ChoiceField(choices=ENDS, label=_("Files are deleted"), required=False)
    directory = forms.CharField(
        max_length=4096, label=_("Directory"), widget=forms.TextInput(attrs={"class": "input mono"})
    )
    takes = forms.ChoiceField(
        choices=[("all", _("Every file")), ("documents", _("Memory and documents"))],
        required=False,
        label=_("Takes in"),
    )
    include = forms.CharField(
        required=False, max_length=100_000, label=_("Include"), help_text=_("One pattern a line, as in .gitignore files."),
        widget=forms.Textarea(attrs={"rows": 3, "class": "input mono"}),
    )  # fmt: skip
    exclude = forms.CharField(
        required=False, max_length=100_000, label=_("Exclude"), help_text=_("What both match is excluded."),
        widget=forms.Textarea(attrs={"rows": 3, "class": "input mono"}),
    )  # fmt: skip

    def __init__(self, *args: Any, mount: Any, **kwargs: Any) -> None:
        kwargs.setdefault("initial", self.values_of(mount))
        super().__init__(*args, auto_id=f"m{mount.pk}_%s", **kwargs)
        if mount.store != "filesystem":
            for name in ("on_disk", "directory", "takes", "include", "exclude"):
                del self.fields[name]
        if mount.store != "thread":
            del self.fields["ends"]

    @staticmethod
    def values_of(mount: Any) -> dict[str, str]:
        return {
            "ends": "run" if mount.ends_with_run else "day",
            "policy": mount.policy, "directory": mount.directory, "takes": mount.takes, "include": mount.include,
            "exclude": mount.exclude, "on_disk": "hold+put_back" if mount.put_back else mount.on_disk,
        }  # fmt: skip


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
