"""What the tables of a space have in common."""

from __future__ import annotations

from typing import Any, Self

from django.db import models


class Scoped(models.QuerySet):
    """A query set whose rows belong to spaces. All queries go through `within`, which keeps spaces apart."""

    def within(self, space: Any) -> Self:
        return self.filter(space_id=getattr(space, "pk", space))


class ByActor(models.Model):
    """Who did something, by name and id, so that it stays when the person or agent is deleted."""

    PERSON, AGENT, DISK, HUB, IMPORT = "person", "agent", "disk", "hub", "import"
    ACTOR_KINDS = [(k, k) for k in (PERSON, AGENT, DISK, HUB, IMPORT)]

    actor_kind = models.CharField(max_length=8, choices=ACTOR_KINDS)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150)

    class Meta:
        abstract = True
