"""Files: mounts, and rules for changes by agents."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memoryhub.domain import prompts

from .base import HubForm

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
        slugs = prompts.agents_of_space(space).values_list("slug", "name")
        self.fields["agent"].choices = [("", _("Every agent")), *slugs]


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
