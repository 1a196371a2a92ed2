from __future__ import annotations

from django.db import models
from django.utils import timezone

from .base import ByActor, Scoped


class Erasure(ByActor):
    """An erasure from its dry run to its receipt. `space_id` 0 is the whole hub.

    What is to be erased stands in `work` alone, and only until the erasure ends; the receipt has a keyed hash of it.
    """

    COUNTING, COUNTED, ERASING, DONE = "counting", "counted", "erasing", "done"
    SESSION, PERSON, AGENT, TEXT, REVISION = "session", "person", "agent", "text", "revision"

    space_id = models.BigIntegerField(default=0)
    kind = models.CharField(max_length=8)
    state = models.CharField(max_length=8, default=COUNTING)
    digest = models.CharField(max_length=64)
    on_disk = models.BooleanField(default=True)  # files in mounted directories as well
    work = models.BinaryField(null=True)
    job_id = models.BigIntegerField(null=True)
    step = models.IntegerField(default=0)  # how many steps are done
    plan = models.JSONField(default=list)  # of the dry run: [{"place", "rows"}]
    rows = models.JSONField(default=dict)  # changed or deleted rows by table
    found = models.JSONField(default=dict)  # of the search afterwards: rows by column
    elsewhere = models.JSONField(default=dict)  # in other spaces; for the owner of the hub alone
    searched = models.IntegerField(default=0)  # columns
    problems = models.JSONField(default=list)  # where it still stands, in sentences
    backups = models.JSONField(default=list)
    first_seen = models.DateTimeField(null=True)  # of the oldest row that had it
    created_at = models.DateTimeField(default=timezone.now)
    confirmed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = Scoped.as_manager()

    class Meta:
        indexes = [models.Index(fields=["space_id", "-id"], name="erasure_space")]
