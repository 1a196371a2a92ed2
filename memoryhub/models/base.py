"""What every table of a space has in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.db import DEFAULT_DB_ALIAS, models
from django.db.models.base import ModelState

M = TypeVar("M", bound=models.Model)


def as_read(model: type[M], values: Iterable[tuple[str, Any]], **related: models.Model) -> M:
    """The object that `from_db` makes of these columns, for the few places where making it costs more than asking for it:
    `__init__` goes through all fields one by one and tells signals that nobody here listens to. `related` objects lie
    beside their ids. As there, a column that is not given is asked for when somebody reads it."""
    one = model.__new__(model)
    state = one._state = ModelState()
    state.adding, state.db, state.fields_cache = False, DEFAULT_DB_ALIAS, related
    one.__dict__.update(values)
    return one


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
