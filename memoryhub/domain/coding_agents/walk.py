"""The memory files of a project: which names count, and a walk that does not enter what no agent reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from memoryhub.dialects import coding

# What is fetched, built or kept by tools: full of other projects' instruction files.
SKIPPED = frozenset(
    """
    .git .hg .svn node_modules bower_components vendor third_party site-packages __pycache__ .venv venv env .tox .nox dist build
    target out coverage .next .nuxt .cache .mypy_cache .pytest_cache .ruff_cache .gradle .terraform Pods DerivedData
    """.split()  # noqa: SIM905  a table
)
MAX_FOLDERS = 20_000
EXACT = frozenset(["CONTEXT.md"])  # in other letters a page of documentation, not a mistake
RULE_FOLDERS = {
    ".claude/rules": ".md", ".cursor/rules": ".mdc", ".github/instructions": ".instructions.md", ".windsurf/rules": ".md",
    ".clinerules": ".md",
}  # fmt: skip


def names_of_agents(agents: list[str]) -> set[str]:
    """The names that these agents look for in a project, as paths below a folder."""
    return {name for agent in agents for name in coding.agent(agent).files}


def memory_files(
    root: str, agents: list[str], *, enters: Callable[[str], bool] | None = None, most: int = MAX_FOLDERS
) -> Iterator[str]:
    """The instruction files below a folder in the order of their paths, links to folders not followed; `enters` says whether
    the walk goes into a folder, of which it sees so many at most."""
    exact = names_of_agents(agents) & EXACT
    names = {name.lower() for name in names_of_agents(agents) - EXACT}
    for number, (folder, folders, files) in enumerate(os.walk(root)):
        if number >= most:
            return
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        if enters:
            folders[:] = [name for name in folders if enters(os.path.join(folder, name))]
        inner = os.path.relpath(folder, root)
        ending = next((end for place, end in RULE_FOLDERS.items() if f"/{inner}/".find(f"/{place}/") >= 0), None)
        for name in sorted(files):
            nested = f"{os.path.basename(folder)}/{name}".lower()
            if name.lower() in names or name in exact or nested in names or (ending and name.endswith(ending)):
                yield os.path.join(folder, name)
