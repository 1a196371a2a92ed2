"""What every table of a space has in common."""

from __future__ import annotations

from typing import Any, Self

from django.db import models


class Scoped(models.QuerySet):
    """Rows of one space. Every path in goes through `within`, so a space stays a wall."""

    def within(self, space: Any) -> Self:
        return self.filter(space_id=getattr(space, "pk", space))


class ByActor(models.Model):
    """Who did it, as it was then: people and agents can go, what they did stays."""

    PERSON, AGENT, DISK, HUB, IMPORT = "person", "agent", "disk", "hub", "import"
    ACTOR_KINDS = [(k, k) for k in (PERSON, AGENT, DISK, HUB, IMPORT)]

    actor_kind = models.CharField(max_length=8, choices=ACTOR_KINDS)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150)

    class Meta:
        abstract = True
