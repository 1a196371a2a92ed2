"""Quarantine records, working entries and long-term entries, with their revisions and pairs."""

from __future__ import annotations

from typing import Any, Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import QuerySet
from django.utils import timezone

from .agents import Agent
from .base import ByActor, NamesSpace, Scoped
from .spaces import Space


class Records(Scoped):
    """Query set of quarantine records of one space."""

    def in_state(self, space: Any, state: str) -> Self:
        return self.filter(pk__in=_ids_in_state(space, state))

    def not_in_state(self, space: Any, state: str) -> Self:
        return self.exclude(pk__in=_ids_in_state(space, state))


def _ids_in_state(space: Any, state: str) -> QuerySet:
    return RecordState.objects.within(space).filter(is_newest=True, state=state).values("record_id")


class Record(models.Model):
    """A raw record of what an agent logged. It has no foreign keys; a trigger refuses UPDATE and DELETE."""

    class NodeKind(models.TextChoices):
        AGENT = "agent"
        FACT_CHECK = "fact_check"
        MEMORY_RETRIEVAL = "memory_retrieval"

    space_id = models.BigIntegerField()
    agent_id = models.BigIntegerField(null=True)
    agent_name = models.CharField(max_length=150)
    session_id = models.CharField(max_length=200)
    node_id = models.CharField(max_length=200)
    node_kind = models.CharField(max_length=16, choices=NodeKind)
    scope = models.CharField(max_length=5, default="group")
    content = models.TextField()
    sha256 = models.CharField(max_length=64)
    metadata = models.JSONField(default=dict)
    findings = models.JSONField(default=list)
    codes = ArrayField(models.CharField(max_length=32), default=list)  # of the findings, to filter by
    words = SearchVectorField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Records.as_manager()

    class Meta:
        db_table = '"quarantine"."record"'
        indexes = [
            models.Index(fields=["space_id", "-id"], name="record_space"),
            models.Index(fields=["space_id", "session_id", "id"], name="record_session"),
            models.Index(fields=["space_id", "created_at"], name="record_created"),
            GinIndex(fields=["codes"], condition=~models.Q(codes=[]), name="record_findings"),
            GinIndex(fields=["words"], name="record_words"),
        ]


class RecordState(ByActor):
    """A state that a record went through; the newest has `is_newest` and counts."""

    HELD, ADMITTED, PROMOTED, DISCARDED = "held", "admitted", "promoted", "discarded"

    space_id = models.BigIntegerField()
    record_id = models.BigIntegerField()
    state = models.CharField(max_length=9)
    is_newest = models.BooleanField(default=True)
    reason = models.CharField(max_length=500, blank=True)
    working_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        db_table = '"quarantine"."state"'
        indexes = [
            models.Index(fields=["space_id", "record_id", "-id"], name="state_record"),
            models.Index(
                fields=["space_id", "state", "-record_id"], condition=models.Q(is_newest=True), name="state_newest"
            ),
        ]


class WorkingEntry(models.Model):
    """An admitted record in working memory, by default for 24 hours and among the newest 50 of its group."""

    space_id = models.BigIntegerField()
    # The agent that alone reads it, because scope is "agent" or no person has seen it yet; 0: the group.
    agent_key = models.BigIntegerField(default=0)
    agent_id = models.BigIntegerField(null=True)  # the agent that logged it
    agent_name = models.CharField(max_length=150, blank=True)
    scope = models.CharField(max_length=5, default="group")
    content = models.TextField()
    metadata = models.JSONField(default=dict)
    findings = models.JSONField(default=list)
    record_id = models.BigIntegerField(null=True)
    session_id = models.CharField(max_length=200, blank=True)
    is_pinned = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)  # deleted by a person, who may still put it back
    times = models.IntegerField(default=1, db_default=1)  # how often its session said it
    seen_by = models.CharField(max_length=150, blank=True, default="", db_default="")  # the person who looked at it

    objects = Scoped.as_manager()

    class Meta:
        indexes = [models.Index(fields=["space_id", "agent_key", "-id"], name="working_newest")]

    @property
    def codes(self) -> list[str]:
        """What was found in it, each kind once."""
        return list(dict.fromkeys(one["code"] for one in self.findings))


class WorkingRevision(ByActor):
    """The text of a working entry before a person corrected it; stays after the entry expired."""

    space_id = models.BigIntegerField()
    entry_id = models.BigIntegerField()
    session_id = models.CharField(max_length=200, blank=True)  # of the entry; erasures look for it
    content = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)  # when it was corrected, by the actor

    objects = Scoped.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["space_id", "entry_id", "id"], name="working_revision"),
            models.Index(fields=["space_id", "session_id"], name="working_revision_session"),
        ]


class LongtermEntry(NamesSpace, ByActor):
    """An entry of long-term memory; the actor is who promoted it."""

    space = models.ForeignKey(  # no index of its own: that of numbers begins with it
        Space, on_delete=models.CASCADE, related_name="entries", db_index=False
    )
    number = models.BigIntegerField()  # L-312
    content = models.TextField()
    scope = models.CharField(max_length=5, default="group")
    agent = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="entries", db_index=False)
    revision = models.IntegerField(default=1)
    state = models.CharField(max_length=8, default="active")  # active retired waiting (for the embedder)
    record_id = models.BigIntegerField(null=True)
    session_id = models.CharField(max_length=200, blank=True)
    proposal = models.BigIntegerField(null=True)
    reason = models.CharField(max_length=2000, blank=True)
    metadata = models.JSONField(default=dict)
    review_by = models.DateField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True)
    checked_by = models.CharField(max_length=150, blank=True)
    pin = models.IntegerField(null=True)  # its place among those that people pinned
    retired_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    modified_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "number"], name="one_entry_number")]
        indexes = [
            models.Index(fields=["space", "state", "-id"], name="entry_state"),
            models.Index(
                fields=["space", "review_by"], condition=models.Q(review_by__isnull=False), name="entry_review_due"
            ),
            models.Index(fields=["agent"], condition=models.Q(agent__isnull=False), name="entry_agent"),
            models.Index(fields=["space", "pin"], condition=models.Q(pin__isnull=False), name="entry_pinned"),
        ]


class EntryRevision(ByActor):
    """The text and state of a long-term entry after each change."""

    space_id = models.BigIntegerField()
    entry_id = models.BigIntegerField()
    number = models.IntegerField()
    content = models.TextField()
    state = models.CharField(max_length=8, default="active")
    reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space_id", "entry_id", "number"], name="one_entry_revision")]


class EntryPair(models.Model):
    """Two entries that may say the same or contradict each other, until a person settles it."""

    space_id = models.BigIntegerField()
    older_id = models.BigIntegerField()
    newer_id = models.BigIntegerField()
    kind = models.CharField(max_length=13)  # duplicate contradiction
    cosine = models.FloatField()
    verdict = models.CharField(max_length=12, blank=True)
    settled_at = models.DateTimeField(null=True)
    settled_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space_id", "older_id", "newer_id"], name="one_pair")]
        indexes = [models.Index(fields=["space_id", "newer_id"], name="pair_newer")]
