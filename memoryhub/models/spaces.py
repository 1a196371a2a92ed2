from __future__ import annotations

import secrets
from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import Scoped

slug_rule = RegexValidator(r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$", _("Use small letters, digits and hyphens."))


def first_mark() -> int:
    """A mark that no other space ever had, also not one of the same id that a fail-over lost."""
    return secrets.randbelow(1 << 53)


class Role(models.TextChoices):
    VIEWER = "viewer"
    EDITOR = "editor"
    REVIEWER = "reviewer"
    OWNER = "owner"


# What a space can choose: (default, minimum, maximum) for numbers, (default,) for others.
SETTINGS: dict[str, tuple[Any, ...]] = {
    "proposal_days": (30, 1, 365),
    "warn_days": (3, 0, 60),
    "working_limit": (50, 1, 50),
    "working_hours": (24, 1, 24 * 30),
    "logs_reach_others": ("gate",),  # "person": what an agent logs reaches other agents when a person has seen it
    "delivery_days": (90, 1, 3650),
    "reviewers": (1, 1, 2),
    "who_decides": ("any",),  # "others": who made a token of an agent does not decide on its proposals
    "second_factor": ("off",),  # "required": members open the space with a second factor alone
    # For each agent, but the last; counted as `domain/quotas` says.
    "agent_calls_a_minute": (60_000, 1, 1_000_000),
    "agent_megabytes": (2_048, 1, 1_000_000),
    "space_megabytes": (20_480, 1, 10_000_000),
    "ingress": ({},),
    "detectors": ({},),
    "judge": ({},),
    "embedder": ("",),
    "embedder_before": ("",),
    "digest": ("",),
    "home": ("",),  # whose coding agents on this machine the space shows; set by `contexts.set_home` alone
    "retrieval": ({},),  # as `domain/retrieval` checks it
    "chunks": ({},),  # size and overlap, as `domain/longterm` checks it
}


class Settings(dict[str, Any]):
    """What a space chose. A subscript gives the default of what it did not choose; `in`, `get` and the stored row leave that out."""

    __missing__ = {name: one[0] for name, one in SETTINGS.items()}.__getitem__


class SettingsField(models.JSONField):
    def from_db_value(self, *stored: Any) -> Settings:
        return Settings(super().from_db_value(*stored))

    def get_default(self) -> Settings:
        return Settings()

    def deconstruct(self) -> Any:
        """To migrations a column of JSON."""
        name, _path, args, options = super().deconstruct()
        return name, "django.db.models.JSONField", args, options


class Space(models.Model):
    """A team's or project's memory. `revision` rises in the transaction of every change that a prompt may show.

    `longterm_mark` is another number after every change that a retrieval from long-term memory may show, `setup_mark` after
    every change but those of the texts of files and of long-term memory. They are drawn at random, as the marks of lexemes
    and the steps of `revision` are: a number that was rolled back, restored or lost in a fail-over never comes to stand for
    something else.
    """

    slug = models.CharField(max_length=64, unique=True, validators=[slug_rule])
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=500, blank=True)
    is_demo = models.BooleanField(default=False)
    revision = models.BigIntegerField(default=first_mark)
    longterm_mark = models.BigIntegerField(default=first_mark)
    setup_mark = models.BigIntegerField(default=first_mark)
    last_proposal = models.BigIntegerField(default=0)  # proposals and entries count per space
    last_entry = models.BigIntegerField(default=0)
    # What agents and people have stored, as a job counts it (domain/quotas): in all, and by kind.
    stored_bytes = models.BigIntegerField(default=0, db_default=0)
    stored = models.JSONField(default=dict, db_default={})
    has_views = models.BooleanField(default=False, db_default=False)  # a mount of the store `views`
    settings: Settings = SettingsField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return f"/s/{self.slug}/"


class Membership(models.Model):
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="memberships")
    person = models.ForeignKey("memoryhub.Person", on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "person"], name="one_membership")]

    def __str__(self) -> str:
        return f"{self.person_id} in {self.space_id}: {self.role}"
