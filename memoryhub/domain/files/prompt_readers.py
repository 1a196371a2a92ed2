"""Which agents' prompts a file is in."""

from __future__ import annotations

from django.db.models import Q

from memoryhub import dialects
from memoryhub.models import Agent, Source, Space

GUIDELINES_PATH = "/memories/hub-guidelines.md"


def source_readers(space: Space) -> dict[str, list[str]]:
    """For each path that is injected, the agents whose prompt it is in: for lists of many files."""
    listed = [source for source in Source.objects.within(space) if source.is_on]
    have_own = {source.agent_id for source in Source.objects.within(space).exclude(agent=None)}
    found: dict[str, list[str]] = {}
    for agent in Agent.objects.within(space).filter(memory_is_on=True).order_by("name", "pk"):
        for source in listed:
            if source.agent_id == (agent.pk if agent.pk in have_own else None):
                names = found.setdefault(source.path, [])
                if agent.name not in names:
                    names.append(agent.name)
    return found


def agents_reading(space: Space, path: str) -> list[Agent]:
    """The agents whose prompt shows this path: by their own list of sources, or by the space's if they have none."""
    listed = Source.objects.within(space)
    have_own = set(listed.exclude(agent=None).values_list("agent_id", flat=True))
    showing = set(listed.filter(path=path, is_on=True).values_list("agent_id", flat=True))
    everyone = Agent.objects.within(space).filter(memory_is_on=True).order_by("name", "pk")
    if path == GUIDELINES_PATH:
        return [agent for agent in everyone if dialects.resolve(agent.dialect).family == "hub"]
    shown = Q(pk__in=showing - {None})
    if None in showing:
        shown |= ~Q(pk__in=have_own)
    return list(everyone.filter(shown))
