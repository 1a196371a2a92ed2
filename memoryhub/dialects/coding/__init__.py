"""Coding agents that find their memory by themselves: a folder in, the exact text of their context out.

One module per agent; a module here that defines `AGENT` is one. All of them read through a `Tree`, so that the answer for files on
disk, for a change that is not made yet, and for trees in tests comes from one code.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache

from memoryhub.errors import Invalid

from .shapes import Block, CodingAgent, Context, Ignored, Later, Start
from .tree import CachedTree, ChangedTree, DiskTree, Tree


@cache
def agents() -> dict[str, CodingAgent]:
    """Every coding agent by its name; those that were compared with the program first."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    found = [module.AGENT for module in modules if hasattr(module, "AGENT")]
    return {one.name: one for one in sorted(found, key=lambda one: (not one.verified, one.name))}


def agent(name: str) -> CodingAgent:
    """The agent of this name; `Invalid` with the names that there are."""
    if name not in agents():
        raise Invalid(f"There is no coding agent {name[:80]!r}. Known are {', '.join(agents())}.", code="unknown_agent")
    return agents()[name]


def context_of(
    name: str,
    directory: str,
    home: str,
    *,
    touched: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    tree: Tree | None = None,
    heading: str = "",
) -> Context:
    """What the agent gets when it is started in this folder by the person with this home. Nothing is run or written."""
    tree = tree or DiskTree()
    where = tree.real(os.path.abspath(directory))
    return agent(name).read(Start(tree, where, os.path.abspath(home), tuple(touched), env or {}, heading))
