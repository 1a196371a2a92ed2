"""Who reads a file: agents of the space in their prompts, coding agents by their own rules."""

from __future__ import annotations

from dataclasses import dataclass

from memoryhub.domain import contexts, files
from memoryhub.domain.contexts import Reader
from memoryhub.models import Agent, Space


@dataclass(frozen=True)
class Readers:
    """Who reads one file: whether it stands in every prompt, in which agents' prompts, and which coding agents load it."""

    in_every: bool
    agents: list[Agent]
    coding: list[Reader]
    is_source: bool = True  # not one of the files that the hub's own dialect takes in any case

    @property
    def loading(self) -> list[str]:
        """The coding agents that load the file, at once or when they come near it."""
        return [one.agent.title for one in self.coding if one.state != "ignored"]

    @property
    def groups(self) -> list[list[Reader]]:
        """The coding agents that do the same for the same reason, those that load the file first. Of those that ignore it,
        only the ones whose rules were compared with the program."""
        found: dict[tuple[str, str], list[Reader]] = {}
        for one in self.coding:
            if one.state != "ignored" or one.agent.verified:
                found.setdefault((one.state, one.why), []).append(one)
        return list(found.values())


def readers_of(space: Space, path: str) -> Readers:
    """Who reads a file, before any agent exists as well."""
    mount = files.mount_at(space, path)
    loaded = contexts.mount_readers(space, mount).readers(path) if mount else []
    return Readers(
        path in files.in_every_prompt(space),
        files.agents_reading(space, path),
        loaded,
        path not in files.PROMPT_FILES.values(),
    )
