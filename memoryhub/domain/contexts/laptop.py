"""A space that shows the coding agents of this machine: their folders in a home, and projects, as mounts. Nothing is copied."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction

from memoryhub.domain import files, spaces
from memoryhub.domain.coding_agents import FoundAgent
from memoryhub.domain.contexts.home import SETTING, set_home
from memoryhub.errors import Conflict, Forbidden, HubError, Invalid
from memoryhub.models import Actor, Mount, Space

SLUG = "laptop"
# What agents keep beside memory: programs of others, what they said, and what they were told.
BESIDE = (
    "plugins/",
    "sessions/",
    "shell-snapshots/",
    "file-history/",
    "todos/",
    "debug/",
    "history/",
    "antigravity/",
    "/extensions/",
)
# Memory that a mount would leave out otherwise, by the folder of the agent.
OWN_MEMORY = {".gemini": ["tmp/*/memory/**"], ".claude": ["projects/*/memory/**"], ".codex": ["memories/**"]}
OF_PROJECTS = ["CLAUDE.local.md", ".claude/**/*.md"]


@dataclass
class Shown:
    """What a space shows of a machine: each mount's prefix and directory, and why other folders are not shown."""

    space: Space
    mounts: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)


@transaction.atomic
def show_laptop(
    actor: Actor, home: str, found: Sequence[FoundAgent], projects: Sequence[str], *, slug: str = SLUG, name: str = ""
) -> Shown:
    """Makes the space, or adds to it what it does not show yet: a mount for the folder of each agent and for each project."""
    space = _space_of(actor, home, slug, name)
    shown = Shown(space)
    for directory in _folders(found):
        own = next((given for end, given in OWN_MEMORY.items() if directory.endswith(f"/{end}")), [])
        _mount(shown, actor, directory, include=own, exclude=list(BESIDE), takes="documents")
    for directory in projects:
        if files.is_inside(os.path.realpath(home), directory):
            shown.refused.append((directory, "It holds the whole home. Name a project in it."))
            continue
        _mount(shown, actor, directory, include=OF_PROJECTS, exclude=[], takes="")
    return shown


def _space_of(actor: Actor, home: str, slug: str, name: str) -> Space:
    """The space that shows this home. One that somebody made for something else is never given it: its members would see it."""
    if not files.is_hub_operator(actor):
        raise Forbidden("Only who runs the hub says which home on its machine a space shows.")
    if not _is_storable(home):
        raise Invalid("The name of this home is no UTF-8.", code="invalid_path")
    space = Space.objects.filter(slug=slug).first()
    if space and spaces.get_setting(space, SETTING) != home:
        raise Conflict(
            f"There is a space {slug} that does not show {home}. Name another one with --space.", code="space_taken"
        )
    if space is None:
        space = spaces.create(actor, slug, name or "Laptop")
        set_home(space, actor, home)
    return space


def _is_storable(path: str) -> bool:
    return path.isprintable() and path == path.encode("utf-8", "replace").decode()


def _folders(found: Sequence[FoundAgent]) -> list[str]:
    """The folders of agents that lie in the home; of OpenClaw its workspace."""
    homes = [os.path.realpath(one.home) for one in found if one.home and os.path.isdir(one.home)]
    return [os.path.join(one, "workspace") if one.endswith("/.openclaw") else one for one in homes]


def _mount(shown: Shown, actor: Actor, directory: str, *, include: list[str], exclude: list[str], takes: str) -> None:
    if not _is_storable(directory):
        shown.refused.append((directory, "Its name is no UTF-8, or holds characters that nobody sees."))
        return
    known = {one.directory: one.prefix for one in Mount.objects.within(shown.space)}
    if directory in known:
        shown.mounts.append((known[directory], directory))
        return
    if any(files.is_inside(directory, above) for above in known):
        return  # a mount shows it already
    prefix = _free_prefix(directory, set(known.values()))
    try:
        with transaction.atomic():
            files.add_mount(
                shown.space, actor, prefix, store=Mount.Store.FILESYSTEM, directory=directory, takes=takes,
                include=include, exclude=exclude,
            )  # fmt: skip
    except HubError as refusal:
        shown.refused.append((directory, refusal.message))
    else:
        shown.mounts.append((prefix, directory))


def _free_prefix(directory: str, taken: set[str]) -> str:
    """A prefix made of the folder's name, with a number where that is taken."""
    parts = [one for one in directory.split("/") if one]
    name = next((one.lstrip(".") for one in reversed(parts) if one not in ("workspace",)), "") or "project"
    name = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "project"
    for number in range(1, 1_000):
        prefix = f"/{name}/" if number == 1 else f"/{name}-{number}/"
        if prefix not in taken:
            return prefix
    return f"/{name}-{len(taken)}/"
