"""Whose long-term memory somebody may read: as a condition for the database, and for what a process keeps of it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memoryhub.models import Agent

GROUP = -1  # in place of an agent's id, for what is the group's; 0 is nobody's (`indexing`)
MINE = {
    "group": "agent_id IS NULL",
    "agent": "agent_id = {agent}",
    "both": "(agent_id IS NULL OR agent_id = {agent})",
    "all": "true",
}


class Readers(NamedTuple):
    """The group's, an agent's own, both, or (people) all of it."""

    kind: str
    agent: int
    sql: str

    @property
    def reads_group(self) -> bool:
        return self.kind != "agent"

    def among(self, owners: np.ndarray) -> np.ndarray:
        """Which of these owners are meant."""
        if self.kind == "all":
            return np.ones(len(owners), bool)
        mine = owners == (GROUP if self.kind == "group" else self.agent)
        return mine | (owners == GROUP) if self.kind == "both" else mine


def readers_for(agent: Agent | None, scope: str | None, everyone: bool) -> Readers:
    """What may be read for this agent, or without one for the group or for a person."""
    if agent is None:
        return made("all" if everyone and scope is None else "group", 0)
    return made(scope if scope in ("group", "agent") else "both", int(agent.pk))


@lru_cache(maxsize=1024)
def made(kind: str, agent: int) -> Readers:
    return Readers(kind, agent, MINE[kind].format(agent=agent))
