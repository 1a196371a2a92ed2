"""A space that shows the coding agents of this machine: whose home it shows, set by `memoryhub laptop` on the machine of its person
alone; and their folders in it, and projects, as mounts. Nothing is copied."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from memoryhub.domain import coding_agents, files, spaces
from memoryhub.domain.accounts import may
from memoryhub.domain.coding_agents import FoundAgent
from memoryhub.errors import Conflict, Forbidden, HubError, Invalid, NotFound
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


@dataclass(frozen=True)
class Offer:
    """What a home holds, and what a space would show of it: found read only, nothing is made."""

    home: str
    agents: list[FoundAgent]
    folders: list[str]  # of agents
    projects: list[str]
    slug: str  # of the space that shows them, or would
    space: Space | None  # the one that does already
    mounted: frozenset[str]

    @property
    def new(self) -> list[str]:
        """What is not shown yet."""
        return [path for path in (*self.folders, *self.projects) if path not in self.mounted]


def find_laptop(actor: Actor, named: Sequence[str] = ()) -> Offer:
    """The coding agents of the home of whoever runs the hub, and the projects named; those that agents remember too."""
    _require_operator(actor)
    home = os.path.abspath(os.path.expanduser("~"))
    wanted = [_named_project(one) for one in named]
    here = coding_agents.project_of(os.path.abspath("."))
    found = coding_agents.find_agents(home, [*wanted, here], env=os.environ)
    projects = coding_agents.projects_to_show(found, wanted, home)
    space, slug = _shown_by(actor, home)
    mounted = Mount.objects.within(space).values_list("directory", flat=True) if space else ()
    return Offer(home, found, coding_agents.folders_to_show(found), projects, slug, space, frozenset(mounted))


def _named_project(given: str) -> str:
    path = files.real_directory(given)
    if not os.path.isdir(path):
        raise Invalid(f"{path} is no folder.", code="no_directory", field="project")
    return path


def _shown_by(actor: Actor, home: str) -> tuple[Space | None, str]:
    """The space of this actor that shows the home, and its slug; else none, and a slug that nobody has."""
    taken = {space.slug: space for space in Space.objects.filter(slug__startswith=SLUG)}
    for number in range(1, 1_000):
        slug = SLUG if number == 1 else f"{SLUG}-{number}"
        space = taken.get(slug)
        if space is None:
            return None, slug
        if space.settings[SETTING] == home and actor_in(actor, space):
            return space, slug
    raise Conflict("Too many spaces are named laptop. Use memoryhub laptop --space.", code="space_taken")


def actor_in(actor: Actor, space: Space) -> Actor | None:
    """Whoever runs the hub, in the role that they have in a space; None where they have none."""
    if actor.person is None:
        return actor
    try:
        return Actor.of_person(actor.person, spaces.get_for_person(actor.person, space.slug)[1])
    except NotFound:
        return None


def show_chosen(actor: Actor, offer: Offer, chosen: Collection[str]) -> Shown:
    """Shows what a person ticked of an offer; refused where it names anything else."""
    if not chosen:
        raise Invalid("Choose at least one folder.", code="nothing_chosen")
    if not set(chosen) <= {*offer.folders, *offer.projects}:
        raise Conflict("The folders changed since you looked. See what is found now.", code="changed_since_seen")
    agents = [one for one in offer.agents if set(coding_agents.folders_to_show([one])) & set(chosen)]
    projects = [path for path in offer.projects if path in chosen]
    return show_laptop(actor, offer.home, agents, projects, slug=offer.slug)


@transaction.atomic
def show_laptop(
    actor: Actor, home: str, found: Sequence[FoundAgent], projects: Sequence[str], *, slug: str = SLUG, name: str = ""
) -> Shown:
    """Makes the space, or adds to it what it does not show yet: a mount for the folder of each agent and for each project."""
    space = _space_of(actor, home, slug, name)
    actor = actor_in(actor, space) or actor
    if space.settings[SETTING] != home:  # made just now
        set_home(space, actor, home)
    shown = Shown(space)
    for directory in coding_agents.folders_to_show(found):
        own = next((given for end, given in OWN_MEMORY.items() if directory.endswith(f"/{end}")), [])
        _mount(shown, actor, directory, include=own, exclude=list(BESIDE), takes="documents")
    for directory in projects:
        if files.is_inside(os.path.realpath(home), directory):
            shown.refused.append((directory, "It holds the whole home. Name a project in it."))
            continue
        _mount(shown, actor, directory, include=OF_PROJECTS, exclude=[], takes="")
    return shown


def _require_operator(actor: Actor) -> None:
    if not files.is_hub_operator(actor):
        raise Forbidden("Only who runs the hub says which home on its machine a space shows.")


def _space_of(actor: Actor, home: str, slug: str, name: str) -> Space:
    """The space that shows this home. One that somebody made for something else is never given it: its members would see it."""
    _require_operator(actor)
    if not _is_storable(home):
        raise Invalid("The name of this home is no UTF-8.", code="invalid_path")
    space = Space.objects.filter(slug=slug).first()
    if space and space.settings[SETTING] != home:
        raise Conflict(
            f"There is a space {slug} that does not show {home}. Name another one with --space.", code="space_taken"
        )
    return space or spaces.create(actor, slug, name or f"Laptop {socket.gethostname()}"[:100])


def _is_storable(path: str) -> bool:
    return path.isprintable() and path == path.encode("utf-8", "replace").decode()


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


SETTING = "home"


@transaction.atomic
def set_home(space: Space, actor: Actor, home: str) -> None:
    """Says whose home on this machine the space shows; empty takes it back. Only who runs the hub may: it reads settings there."""
    if not files.is_hub_operator(actor):
        raise Forbidden("Only who runs the hub says which home on its machine a space shows.")
    spaces.change_settings(space, actor, {SETTING: home})


def home_for(space: Space, actor: Actor) -> str:
    """The home that this person may see agents of; empty for who does not manage the space."""
    return str(space.settings[SETTING]) if may(actor.role, "manage") else ""
