"""How much retrieval gives out and from which score on: for a space, for one agent instead, or for one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from memoryhub.domain import spaces
from memoryhub.domain.accounts import require
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Agent, AgentChange, Space

MAX_ITEMS = 50
MAX_CHARS = 1 << 20
WHOLE_SPACE = 0  # in place of an agent's id, in the history of settings
SETTING = "retrieval"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one retrieval."""

    hot: int = 10  # newest working entries
    cold: int = 5  # best long-term chunks
    threshold: float | None = (
        None  # the lowest cosine; None: the embedder's own, below which enough equal words count too
    )
    max_chars: int = 500  # of each item
    words: float = 0.5  # the share of words in the order; the rest is meaning

    def with_values(self, values: Mapping[str, Any]) -> Limits:
        """These limits with others in place of those that are named."""
        return replace(self, **values) if values else self

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


NAMES = tuple(one.name for one in fields(Limits))
DEFAULTS = Limits()
BOUNDS = {"hot": (0, MAX_ITEMS), "cold": (0, MAX_ITEMS), "max_chars": (1, MAX_CHARS)}
SHARES = {"threshold": (-1, 1), "words": (0, 1)}


def limits_of(space: Space, agent: Agent | None = None) -> Limits:
    """The limits that hold for this agent, or for the space: its own values, then the space's, then the defaults."""
    own = agent.retrieval if agent is not None else None
    whole = space.settings.get(SETTING)
    if not own and not whole:
        return DEFAULTS
    return DEFAULTS.with_values({**(whole or {}), **(own or {})})


def limits_then(space: Space, own: Mapping[str, Any], at: Any) -> Limits:
    """The limits at a past moment, with the agent's own values of that time."""
    changes = AgentChange.objects.within(space).filter(agent_id=WHOLE_SPACE, created_at__lte=at)
    change = changes.order_by("-created_at", "-pk").first()
    return DEFAULTS.with_values({**(change.values if change else {}), **own})


def check_limits(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that were given; refused with the name of the field where one is out of bounds. None means not given."""
    given = {name: value for name, value in values.items() if value is not None}
    for name, value in given.items():
        if name in BOUNDS:
            low, high = BOUNDS[name]
            is_right = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        elif name in SHARES:
            low, high = SHARES[name]
            is_right = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        else:
            raise Invalid(f"Retrieval has no setting {name!r}.", code="unknown_setting", field=name)
        if not is_right:
            raise Invalid(f"{name} is a number from {low} to {high}.", code="invalid", field=name)
    return given


def change_limits(space: Space, actor: Actor, values: Mapping[str, Any]) -> Space:
    """Sets the limits of a space; what is left out is the default again. Agents with values of their own keep those."""
    require(actor, "manage")
    chosen = check_limits(values)
    before = space.settings.get(SETTING, {})
    space = spaces.change_settings(space, actor, {SETTING: chosen})
    if chosen != before:
        AgentChange.objects.create(space_id=space.pk, agent_id=WHOLE_SPACE, values=chosen, **actor.as_fields())
    return space
