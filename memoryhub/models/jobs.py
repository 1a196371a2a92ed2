from __future__ import annotations

from django.db import models
from django.utils import timezone

from .base import Scoped


class Job(models.Model):
    """Slow or periodic work, with progress, tries and its last error. `space_id` 0 is the hub itself."""

    WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"

    space_id = models.BigIntegerField(default=0)
    kind = models.CharField(max_length=64)
    payload = models.JSONField(default=dict)
    state = models.CharField(max_length=8, default=WAITING, choices=[(s, s) for s in (WAITING, RUNNING, DONE, FAILED)])
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    result = models.JSONField(default=dict)
    tries = models.IntegerField(default=0)
    last_error = models.TextField(blank=True)
    run_after = models.DateTimeField(default=timezone.now)
    asked_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = Scoped.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["run_after", "id"], condition=models.Q(state="waiting"), name="job_waiting"),
            models.Index(fields=["space_id", "kind", "-id"], name="job_of_space"),
        ]


class Made(models.Model):
    """The result of a job for people to fetch. Deleted after a while; it can be made again."""

    space_id = models.BigIntegerField()
    kind = models.CharField(max_length=64)
    key = models.CharField(max_length=100)
    name = models.CharField(max_length=255, blank=True)
    content = models.BinaryField()
    made_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space_id", "kind", "key"], name="one_made")]
