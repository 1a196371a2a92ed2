"""Agents: who reads this memory, and in which wrapping."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import count
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils.text import slugify

from memoryhub import dialects
from memoryhub.db import statements
from memoryhub.db.prepared import prepared
from memoryhub.dialects import deepagents
from memoryhub.domain import accounts, activity, retrieval, spaces
from memoryhub.domain.accounts import require
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import HUB, Actor, Agent, AgentChange, Space, TemplateChoice, Token
from memoryhub.text.input_checks import check_text

# The fields of an agent that its prompt shows or depends on, with the words for a change of each. Changes are stored, so that
# prompts of past moments are exact.
IN_PROMPT = {
    "dialect": "the dialect", "system_prompt": "the base prompt", "persona": "the persona", "memory_is_on": "whether memory is on",
    "template": "the template", "budget": "the budget", "gives_way": "what is left out first",
    "retrieval": "the limits of retrieval",
}  # fmt: skip
TEXTS_IN_PROMPT = ("system_prompt", "persona", "template")  # kept to the letter; an erasure of their author erases them
CHANGEABLE = {"name": "the name", "description": "the description", "is_on": "whether it is on", **IN_PROMPT}
NAMES_OF_AGENTS = "SELECT slug, name FROM memoryhub_agent WHERE space_id = %s AND name <> slug"
MAX_LENGTHS = {"name": 100, "description": 500, "system_prompt": 200_000, "persona": 50_000, "template": 200_000}


@transaction.atomic
def create_agent(space: Space, actor: Actor, name: str, *, slug: str = "", **values: Any) -> Agent:
    """Makes an agent. Its slug comes from its name; from a name in another script than Latin it is numbered."""
    require(actor, "manage")
    agent = Agent(space=space)
    assign_values(agent, {"name": name, **values})
    agent.slug = slug[:64].strip("-") or slug_for(space, agent.name)
    try:
        with transaction.atomic():
            agent.save()
    except IntegrityError:
        raise Conflict(
            f"There is an agent {agent.slug!r} in this space already; its page and `memoryhub agent token` make more tokens.",
            field="name",
        ) from None
    record_change(agent, actor)
    spaces.mark_setup(space)
    activity.record(space, actor, "agents.create", "created the agent", agent.name, url=f"agents/{agent.slug}/")
    return agent


@transaction.atomic
def connect_agent(
    space: Space, actor: Actor, name: str, *, token_label: str = "", **values: Any
) -> tuple[Agent, Token, str]:
    """Makes an agent with a token of all scopes; the secret of the token is given here and never again."""
    agent = create_agent(space, actor, name, **values)
    token, secret = accounts.create_token(space, actor, agent=agent, label=token_label)
    return agent, token, secret


def slug_for(space: Space, name: str) -> str:
    """The slug for a new name: its Latin letters and digits. Where others would be lost, a number tells such names apart:
    `bot-2`, and `agent-3` where nothing is left. The same name again is refused."""
    slug = slugify(name)[:64].strip("-_")
    if not slug and name.isascii():
        raise Invalid("Give the agent a name with letters or digits.", field="name")
    if slug and is_latin(name):
        return slug
    Space.objects.select_for_update().get(pk=space.pk)  # two people who create such agents at once get two numbers
    if Agent.objects.within(space).filter(name=name).exists():
        raise Conflict(
            f"There is an agent {name!r} in this space already; its page and `memoryhub agent token` make more tokens.",
            field="name",
        )
    stem = slug[:56] or "agent"
    taken = set(Agent.objects.within(space).filter(slug__startswith=stem).values_list("slug", flat=True))
    free = (f"{stem}-{number}" for number in count(2 if slug else 1))
    return slug if slug and slug not in taken else next(one for one in free if one not in taken)


def is_latin(name: str) -> bool:
    """Whether a slug keeps every letter and digit of a name, apart from accents."""
    plain = unicodedata.normalize("NFKD", name)
    return all(letter.isascii() for letter in plain if letter.isalnum())


@transaction.atomic
def change_agent(agent: Agent, actor: Actor, **values: Any) -> Agent:
    """Changes what is given; the space's prompts are fresh from the commit on."""
    require(actor, "manage")
    agent = Agent.objects.select_for_update().get(pk=agent.pk)
    before = {key: getattr(agent, key) for key in CHANGEABLE}
    assign_values(agent, values)
    changed = [key for key in CHANGEABLE if getattr(agent, key) != before[key]]
    if not changed:
        return agent
    agent.save(update_fields=changed)
    if set(changed) & set(IN_PROMPT):
        record_change(agent, actor)
    spaces.mark_setup(agent.space_id)
    says, adds = "changed the agent", ": " + ", ".join(CHANGEABLE[key] for key in changed)
    if changed in (["is_on"], ["memory_is_on"]):
        says = "switched" if changed == ["is_on"] else "switched the memory of"
        adds = "on" if getattr(agent, changed[0]) else "off"
    activity.record(agent.space, actor, "agents.change", says, agent.name, url=f"agents/{agent.slug}/", adds=adds)
    return agent


def assign_values(agent: Agent, values: dict[str, Any]) -> None:
    for key, value in values.items():
        if key not in CHANGEABLE:
            raise Invalid(f"An agent has no {key!r}.", field=key)
        if key == "retrieval":
            value = retrieval.check_limits(value)
        if isinstance(value, str):
            value = value if key in TEXTS_IN_PROMPT else value.strip()
            check_text(value, key, MAX_LENGTHS.get(key, 64))
        setattr(agent, key, value)
    if not agent.name:
        raise Invalid("An agent needs a name.", field="name")
    if agent.dialect != dialects.AUTO:
        dialects.resolve(agent.dialect)
    if agent.template:
        deepagents.check_template(agent.template)


def record_change(agent: Agent, actor: Actor) -> None:
    """Records the agent's values that appear in its prompt, for prompts of past moments."""
    values = {key: getattr(agent, key) for key in IN_PROMPT}
    AgentChange.objects.create(space_id=agent.space_id, agent_id=agent.pk, values=values, **actor.as_fields())


@transaction.atomic
def delete_agent(agent: Agent, actor: Actor) -> None:
    """Deletes an agent and its tokens; its proposals and records stay under its name."""
    require(actor, "manage")
    space = agent.space
    activity.record(space, actor, "agents.delete", "deleted the agent", agent.name)
    TemplateChoice.objects.within(space).filter(agent_id=agent.pk).delete()
    agent.delete()
    spaces.mark_setup(space)


AGENTS = prepared(lambda space: Agent.objects.within(space).order_by("name", "pk"))
AGENT_AT = prepared(lambda space, slug: Agent.objects.within(space).select_related("space").filter(slug=slug))


def listed_agents(space: Space) -> list[Agent]:
    """The agents of a space by name, for a page that lists them all."""
    return statements.read_once(space, "agents", lambda: AGENTS(space.pk))


@lru_cache(maxsize=16)
def _by_slug(most: int) -> prepared:
    return prepared(lambda space, after: Agent.objects.within(space).filter(slug__gt=after).order_by("slug")[:most])


def agents_after(space: Space, after: str, most: int) -> list[Agent]:
    """Agents in the order of their address, behind one of them."""
    return _by_slug(most)(space.pk, after)


@lru_cache(maxsize=16)
def _called_last(most: int) -> prepared:
    latest = F("seen_at").desc(nulls_last=True)
    return prepared(lambda space: Agent.objects.within(space).order_by(latest, "slug")[:most])


def called_last(space: Space, most: int) -> list[Agent]:
    """The agents that called last, newest first, then those that never did."""
    return _called_last(most)(space.pk)


def agents_of_space(space: Space) -> QuerySet[Agent]:
    return Agent.objects.within(space).order_by("name", "pk")


def names_of_agents(space: Space) -> dict[str, str]:
    """What agents are called whose name is another than their slug, by slug."""
    return dict(statements.rows(NAMES_OF_AGENTS, [space.pk]))


def agent_by_slug(space: Space, slug: str) -> Agent:
    agent: Agent | None = AGENT_AT.first(space.pk, slug)
    if agent is None:
        raise NotFound(f"There is no agent {slug!r} in this space.")
    return agent


def agent_by_name(space: Space, name: str) -> Agent:
    """The agent with this slug or name, as commands name it."""
    known = Agent.objects.within(space).select_related("space")
    agent = known.filter(slug=name).first() or known.filter(name=name.strip()).first()
    if agent is None and is_latin(name):
        agent = known.filter(slug=slugify(name)).first()
    if agent is None:
        have = ", ".join(agents_of_space(space).values_list("slug", flat=True)[:10]) or "none yet"
        raise NotFound(f"There is no agent {name!r} in the space {space.slug}. There is: {have}.")
    return agent


@transaction.atomic
def report_agent(agent: Agent, values: dict[str, Any]) -> Agent:
    """Stores what the agent's client reports: framework and version."""
    agent = Agent.objects.select_for_update().get(pk=agent.pk)
    if agent.reported != values:
        agent.reported = values
        agent.save(update_fields=["reported"])
        spaces.mark_setup(agent.space_id)
        named = " ".join(str(v) for v in list(values.values())[:2])
        actor = Actor.of_agent(agent) if agent else HUB
        activity.record(agent.space, actor, "agents.report", "reported its library", named)
    return agent
