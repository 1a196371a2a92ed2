"""What the tables of a space have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.db import DEFAULT_DB_ALIAS, models
from django.db.models.base import ModelState

M = TypeVar("M", bound=models.Model)


def instance_from_columns(model: type[M], values: Iterable[tuple[str, Any]], **related: models.Model) -> M:
    """An instance of a model from columns of its row, without `__init__`, which costs more than the query.

    `related` sets related objects. A column that is not given is deferred, as after `from_db`.
    """
    one = model.__new__(model)
    state = one._state = ModelState()
    state.adding, state.db, state.fields_cache = False, DEFAULT_DB_ALIAS, related
    one.__dict__.update(values)
    return one


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
