"""What the tables of a space have in common, and who does something in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from django.db import models

if TYPE_CHECKING:
    from .agents import Agent
    from .people import Person


class Scoped(models.QuerySet):
    """A query set whose rows belong to spaces. All queries go through `within`, which keeps spaces apart."""

    def within(self, space: Any) -> Self:
        return self.filter(space_id=getattr(space, "pk", space))


def move_row(rows: list[Any], one: Any, to: int) -> bool:
    """Moves a row to another place in the order of `rows`, counted from 1, and stores the `position` of each; False where it stands
    there already."""
    place = max(0, min(len(rows) - 1, to - 1))
    if rows.index(one) == place:
        return False
    rows.remove(one)
    rows.insert(place, one)
    for position, row in enumerate(rows, 1):
        row.position = position
    type(one).objects.bulk_update(rows, ["position"])
    return True


class NamesSpace(models.Model):
    """Rows of a large table that are saved: the statement names their space, and leaves it as it is."""

    class Meta:
        abstract = True

    def _do_update(
        self, base_qs: models.QuerySet, using: str, pk_val: Any, values: list[tuple[Any, ...]], *options: Any
    ) -> bool:
        kept = [one for one in values if one[0].attname != "space_id"]
        return super()._do_update(base_qs.filter(space_id=self.space_id), using, pk_val, kept, *options)


class ByActor(models.Model):
    """Who did something, by name and id, so that it stays when the person or agent is deleted."""

    PERSON, AGENT, DISK, HUB, IMPORT = "person", "agent", "disk", "hub", "import"
    ACTOR_KINDS = [(k, k) for k in (PERSON, AGENT, DISK, HUB, IMPORT)]

    actor_kind = models.CharField(max_length=8, choices=ACTOR_KINDS)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150)

    class Meta:
        abstract = True


@dataclass(frozen=True)
class Actor:
    """Who does something: a person in a role, an agent, the disk, or the hub itself."""

    kind: str
    id: int | None
    name: str
    role: str = ""
    person: Person | None = field(default=None, compare=False, repr=False)
    agent: Agent | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of_person(cls, person: Person, role: str = "") -> Actor:
        return cls("person", person.pk, person.username, role, person=person)

    @classmethod
    def of_agent(cls, agent: Agent) -> Actor:
        return cls("agent", agent.pk, agent.slug, agent=agent)

    @property
    def is_person(self) -> bool:
        return self.kind == "person"

    def as_fields(self) -> dict[str, object]:
        """For the columns of `ByActor`."""
        return {"actor_kind": self.kind, "actor_id": self.id, "actor_name": self.name}


DISK = Actor("disk", None, "disk")
HUB = Actor("hub", None, "hub", "owner")
