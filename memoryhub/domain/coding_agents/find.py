"""The coding agents of a home, and the memory files of the projects that they know or that are named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from memoryhub.dialects import coding
from memoryhub.dialects.coding import installed
from memoryhub.dialects.coding.settings import read_json, read_toml

HOMES = {
    "claude-code": ".claude", "codex": ".codex", "gemini-cli": ".gemini", "opencode": ".config/opencode", "copilot-cli": ".copilot",
    "deepagents-code": ".deepagents", "hermes": ".hermes", "openclaw": ".openclaw", "cline": ".cline", "cursor": ".cursor",
    "windsurf": ".codeium/windsurf", "zed": ".config/zed", "amp": ".config/amp",
}  # fmt: skip
MAX_PROJECTS = 200


def find_agents(home: str, projects: Iterable[str]) -> list[dict[str, Any]]:
    """Each agent that has a folder in this home or a file in one of the projects, with those files. Only known places are entered."""
    home = os.path.realpath(home)
    named = [os.path.realpath(path) for path in projects]
    found = []
    for agent in coding.agents().values():
        folder = os.path.join(home, HOMES[agent.name]) if agent.name in HOMES else ""
        there = folder if folder and os.path.isdir(folder) else ""
        known = [*named, *(path for path in _remembered(agent.name, home) if os.path.isdir(path))]
        listed = [
            {"path": path, "files": files}
            for path in list(dict.fromkeys(known))[:MAX_PROJECTS]
            if (files := _files(agent, path, home))
        ]
        if there or listed:
            version = installed.installed_version(agent.program)
            found.append({"agent": agent.name, "version": version or None, "home": there or None, "projects": listed})
    return found


def _files(agent: coding.CodingAgent, project: str, home: str) -> list[dict[str, Any]]:
    """What the agent gets when it is started in a project, with what it passes over, as files with their size."""
    context = coding.context_of(agent.name, project, home)
    kinds = {one.path: one.kind for one in context.blocks}
    kinds |= {one.path: "ignored" for one in context.ignored if one.path not in kinds}
    kinds |= {one.path: "later" for one in context.later if one.path not in kinds}
    return [
        {"path": path, "kind": kind, "bytes": os.path.getsize(path)}
        for path, kind in kinds.items()
        if os.path.isfile(path)
    ]


def _remembered(agent: str, home: str) -> Iterator[str]:
    """The projects that an agent itself remembers."""
    tree = coding.DiskTree()
    if agent == "claude-code":
        yield from (read_json(tree, os.path.join(home, ".claude.json")).get("projects") or {})
    elif agent == "codex":
        yield from (read_toml(tree, os.path.join(home, ".codex", "config.toml")).get("projects") or {})
    elif agent == "gemini-cli":
        yield from (read_json(tree, os.path.join(home, ".gemini", "projects.json")).get("projects") or {})
