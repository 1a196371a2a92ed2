"""What a text would put into prompts if it entered working memory: for each agent that would read it, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils import timezone

from memoryhub import dialects
from memoryhub.dialects import Entry
from memoryhub.domain import retrieval, working
from memoryhub.domain.prompts import inputs
from memoryhub.domain.prompts.agents import listed_agents
from memoryhub.domain.prompts.assemble import build_prompt
from memoryhub.domain.prompts.explain.compare import PromptChange
from memoryhub.domain.prompts.explain.live_threads import last_calls
from memoryhub.domain.prompts.requests import LastCall, PromptRequest, as_looked_at, dialect_for
from memoryhub.models import Agent, Space

MAX_SHOWN = 4  # agents whose prompts are assembled; the others are named


@dataclass(frozen=True)
class Admission:
    """What admitting a text does: to the prompts of the agents that read it, and who reads it by calls alone or not at all."""

    readers: Sequence[Agent]  # everybody who may read it
    changes: Sequence[PromptChange]  # of the first of them whose prompts show working memory
    by_calls: Sequence[Agent]  # whose prompts do not: they get it when they retrieve
    not_shown: int = 0  # readers whose prompts were not assembled


def if_admitted(space: Space, text: str, *, scope: str = working.GROUP, agent_id: int | None = None) -> Admission:
    """What this text would put into whose prompt if a person admitted it now. Changes nothing."""
    found = [agent for agent in listed_agents(space) if scope != working.AGENT or agent.pk == agent_id]
    readers = sorted(found, key=lambda agent: (agent.pk != agent_id, agent.slug))
    calls = last_calls(space, readers[:MAX_SHOWN])
    changes, by_calls = [], []
    for agent in readers[:MAX_SHOWN]:
        change = _change(space, agent, text, scope, calls.get(agent.pk))
        if change is None:
            by_calls.append(agent)
        else:
            changes.append(change)
    return Admission(readers, changes, by_calls, max(0, len(readers) - MAX_SHOWN))


def _change(space: Space, agent: Agent, text: str, scope: str, last: LastCall | None) -> PromptChange | None:
    """The agent's prompt without and with the text, as it last asked; None if its prompts never show working memory."""
    asked = last.request if last and last.request.query else PromptRequest(query=text[:80])
    asked = replace(as_looked_at(agent, asked), at=None)
    dialect = dialect_for(agent, asked)
    if not dialects.families()[dialect.family].retrieves:
        return None
    limits = retrieval.limits_of(space, agent).with_values(asked.limits.given)
    gathered = inputs.current_inputs(space.pk, agent.pk, agent.slug, dialect, thread=asked.thread, lately=limits)
    if gathered.ingredients.off or not limits.hot:
        return None
    if last and last.request.query:
        gathered = inputs.with_memory(gathered, space, agent, asked.query, limits)
    entry = Entry(0, text[: limits.max_chars], timezone.now(), own=scope == working.AGENT)
    working_then = (entry, *gathered.ingredients.working)[: limits.hot]
    after = replace(gathered, ingredients=replace(gathered.ingredients, working=working_then))
    call = last if last and last.request.query else None
    return PromptChange(agent, build_prompt(dialect, gathered, asked), build_prompt(dialect, after, asked), call)
