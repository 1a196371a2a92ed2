"""Actors. Rows store them with the fields of `models.ByActor`."""

from __future__ import annotations

from dataclasses import dataclass, field

from .agents import Agent
from .people import Person
from .spaces import Role


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
        """For the columns of `models.ByActor`."""
        return {"actor_kind": self.kind, "actor_id": self.id, "actor_name": self.name}


DISK = Actor("disk", None, "disk")
HUB = Actor("hub", None, "hub", Role.OWNER)
