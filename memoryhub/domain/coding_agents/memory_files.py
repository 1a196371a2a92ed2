"""The memory files of a project: which names count, a walk that does not enter what no agent reads, and what becomes of those below
the folder that an agent is started in: which wait for a touch, and which are never read from there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from memoryhub.dialects import coding
from memoryhub.dialects.coding import Context, Ignored, Later, Tree

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
NAMES_A_TOUCH = frozenset(["claude-code", "gemini-cli", "opencode"])  # their dialects answer what a touched file adds
# By their documentation; what text they add is not known.
LOADS_BELOW = {"copilot-cli": None, "cursor": frozenset(["AGENTS.md"]), "windsurf": frozenset(["AGENTS.md"])}
ANY_FILE = "any file"
NOT_LOADED = "Below the folder that it is started in, and not loaded on demand"


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


def context_in(
    name: str,
    directory: str,
    home: str,
    *,
    below: Sequence[str] = (),
    touched: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    tree: Tree | None = None,
    heading: str = "",
) -> Context:
    """What an agent gets when it is started in a folder, and what becomes of the memory files `below` it."""

    def read(files: Sequence[str]) -> Context:
        return coding.context_of(name, directory, home, touched=files, env=env, tree=tree, heading=heading)

    context = read(touched)
    known = {one.path for group in (context.blocks, context.ignored, context.later, context.inlined) for one in group}
    own = [path for path in below if path not in known and _is_looked_for(name, path)]
    if not own:
        return context
    later = _on_demand(name, directory, own, read, touched, known)
    loaded = {one.path for one in later}
    ignored = [Ignored(path, NOT_LOADED) for path in own if path not in loaded]
    return replace(context, later=(*context.later, *later), ignored=(*context.ignored, *ignored))


def _is_looked_for(name: str, path: str) -> bool:
    folder, base = os.path.split(path)
    names = coding.agent(name).files
    return base in names or f"{os.path.basename(folder)}/{base}" in names


def _on_demand(name: str, directory: str, own: list[str], read, touched, known) -> list[Later]:  # type: ignore[no-untyped-def]
    if name in LOADS_BELOW:
        only = LOADS_BELOW[name]
        return [
            Later(path, _trigger(directory, path)) for path in own if only is None or os.path.basename(path) in only
        ]
    if name not in NAMES_A_TOUCH:
        return []
    folders = list(dict.fromkeys(folder_of(path) for path in own))
    context = read([*touched, *(os.path.join(folder, ANY_FILE) for folder in folders)])
    nested = [one.path for one in context.blocks if one.kind == "nested" and one.path not in known]
    return [Later(path, _trigger(directory, path)) for path in dict.fromkeys(nested)]


def folder_of(path: str) -> str:
    """The folder that a memory file speaks of: the one around `.claude`, `.github` and their like."""
    parts = os.path.dirname(path).split("/")
    hidden = next((at for at, part in enumerate(parts) if part.startswith(".") and part not in (".", "..")), len(parts))
    return "/".join(parts[:hidden]) or "/"


def _trigger(directory: str, path: str) -> str:
    return f"when a file below {os.path.relpath(folder_of(path), directory)}/ is read"
