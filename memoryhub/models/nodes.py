from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Node(models.Model):
    """A machine, or a data directory of one, on which `memoryhub up` runs. All its times are by the database's clock."""

    id = models.CharField(primary_key=True, max_length=64)
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=40)
    run = models.CharField(max_length=40)  # of this start: another hub with the same id has another
    key_digest = models.CharField(max_length=64)  # of its SECRET_KEY
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    stopped_at = models.DateTimeField(null=True)
    is_told_to_stop = models.BooleanField(default=False, db_default=False)
    clock_ahead = models.FloatField(default=0, db_default=0)  # seconds that its clock goes before the database's

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class SharedKey(models.Model):
    """The one row with the SECRET_KEY of nodes that were given none: encrypted by what only the address of the database tells."""

    id = models.BigIntegerField(primary_key=True, default=1)
    digest = models.CharField(max_length=64)
    sealed = models.TextField()
