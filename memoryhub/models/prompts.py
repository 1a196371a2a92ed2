from __future__ import annotations

import zlib
from typing import Any

from django.db import models
from django.db.models import Value
from django.utils import timezone

from .base import ByActor, Scoped


class DialectTemplate(models.Model):
    """The template text of a framework, with its origin and sha256. `space_id` 0 serves every space."""

    space_id = models.BigIntegerField(default=0)
    family = models.CharField(max_length=32)
    form = models.CharField(max_length=64)  # deepagents/0.6.3
    version = models.CharField(max_length=32)
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    came_from = models.CharField(max_length=200)  # installed library, wheel, or an agent's client
    is_known = models.BooleanField(default=False)  # size and sha256 are the published ones
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space_id", "family", "version", "sha256"], name="one_template_text")
        ]


class TemplateChoice(ByActor):
    """The template that counts for one agent and form since a moment: a published one that its client reported, or a reported
    one that a person approved. The newest that has not ended counts."""

    space_id = models.BigIntegerField()
    agent_id = models.BigIntegerField()
    form = models.CharField(max_length=64)
    template_id = models.BigIntegerField()
    proposal = models.BigIntegerField(null=True)  # the number of the proposal that was approved
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)  # when the approval was undone

    objects = Scoped.as_manager()

    class Meta:
        indexes = [models.Index(fields=["space_id", "agent_id", "form", "-id"], name="template_choice")]


class PackedField(models.BinaryField):
    """Bytes that are compressed here, seven times quicker than by the database."""

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(None if value is None else pack(value), connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> bytes | None:
        return None if value is None else zlib.decompress(value)


def pack(data: bytes) -> bytes:
    return zlib.compress(data, 1)


class PromptText(models.Model):
    """A delivered text, stored once for all its deliveries."""

    space_id = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    text = PackedField()
    tokens = models.IntegerField(default=0)
    parts = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space_id", "sha256"], name="one_prompt_text")]


class Delivery(models.Model):
    """Which agent, on which thread, got which prompt, when first, when last, and how often."""

    space_id = models.BigIntegerField()
    agent_id = models.BigIntegerField()
    thread_id = models.CharField(max_length=200, blank=True)
    sha256 = models.CharField(max_length=64)
    dialect = models.CharField(max_length=64, blank=True)
    revisions = models.JSONField(default=dict)  # path: revision
    asked = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))  # as in `prompts.requests`
    first_at = models.DateTimeField(default=timezone.now)
    last_at = models.DateTimeField(default=timezone.now)
    count = models.BigIntegerField(default=1)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space_id", "agent_id", "thread_id", "sha256"], name="one_delivery")
        ]
        indexes = [
            models.Index(fields=["space_id", "agent_id", "-last_at"], name="delivery_last"),
            models.Index(fields=["last_at"], name="delivery_old"),
        ]


class AgentChange(ByActor):
    """The settings of an agent that affect its prompt, after each change of them."""

    space_id = models.BigIntegerField()
    agent_id = models.BigIntegerField()
    values = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        indexes = [models.Index(fields=["space_id", "agent_id", "created_at"], name="agent_change_at")]
