"""Sources: the ordered list of virtual paths that are injected into prompts, for a space or for one agent instead of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F

from memoryhub.domain import activity, files, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.files import Published
from memoryhub.domain.prompts import agents
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.models import Actor, Agent, Mount, Source, SourceChange, Space, move_row
from memoryhub.stores import paths
from memoryhub.text.input_checks import check_text

MAX_SOURCES = 200


def is_source(space: Space, path: str) -> bool:
    """Whether a path is a source of the space or of any of its agents."""
    return Source.objects.within(space).filter(path=path).exists()


@dataclass(frozen=True)
class SourceStatus:
    """A source with the status of its file."""

    source: Source
    status: str  # included, empty, missing, error
    size: int
    is_repeated: bool
    mount: Mount | None
    problem: str = ""


def sources_of(space: Space, agent: Agent | None = None) -> list[Source]:
    """The sources of the space, or the agent's own; in their order."""
    return list(Source.objects.within(space).filter(agent=agent))


def check_sources(space: Space, listed: Sequence[Source]) -> list[SourceStatus]:
    """Each source with the status of its file. A missing file is no error: prompts leave it out."""
    mounted = files.mounts_of_space(space)
    found = files.read_many(space, [source.path for source in listed])
    seen: set[str] = set()
    rows = []
    for source in listed:
        what = found[source.path]
        mount = files.find_mount(mounted, source.path)
        rows.append(SourceStatus(source, *_status(what), source.path in seen, mount, _problem(what)))
        seen.add(source.path)
    return rows


def _status(what: Published | HubError) -> tuple[str, int]:
    if isinstance(what, Published):
        whole = "included" if is_text(what.content) else "error"
        return (whole if what.content else "empty"), len(what.content)
    return ("missing" if isinstance(what, NotFound) else "error"), 0


def _problem(what: Published | HubError) -> str:
    if isinstance(what, Published):
        return "" if is_text(what.content) else "It is not valid UTF-8: prompts leave it out."
    return "" if isinstance(what, NotFound) else what.message


def is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def checked_path(path: str) -> dict[str, str]:
    """The columns for a path: prompts print it as it was written, mounts resolve it as it is clean."""
    path = path.strip()
    if len(path.encode("utf-8", "replace")) > paths.MAX_PATH:
        raise Invalid(f"A path has {paths.MAX_PATH} bytes at most.", code="invalid_path")
    leads_to = paths.clean(path if path.startswith(("/", *paths.HEADS)) else "/" + path)
    return {"path": leads_to, "printed": "" if path == leads_to else path}


@transaction.atomic
def add_source(
    space: Space, actor: Actor, path: str, *, agent: Agent | None = None, must_be_mounted: bool = False
) -> Source:
    """Appends a path to the list. The file may be missing, and the path may be listed already. With `must_be_mounted` a path
    that no mount shows is refused: prompts could not get it."""
    require(actor, "manage")
    where = checked_path(path)
    if must_be_mounted:
        files.require_shown(space, where["path"])
    listed = _locked(space, agent)
    if len(listed) >= MAX_SOURCES:
        raise Invalid(f"A list of sources has {MAX_SOURCES} paths at most.", code="too_many_sources")
    position = max((source.position for source in listed), default=0) + 1
    source = Source.objects.create(space=space, agent=agent, **where, position=position)
    _changed(space, actor, agent, "sources.add", "added the source", source.path)
    return source


@transaction.atomic
def remove_source(space: Space, actor: Actor, pk: int) -> None:
    """Removes a path from the list; the file stays."""
    require(actor, "manage")
    source = get_source(space, pk)
    _locked(space, source.agent)
    source.delete()
    _changed(space, actor, source.agent, "sources.remove", "removed the source", source.path)


@transaction.atomic
def switch_source(space: Space, actor: Actor, pk: int, is_on: bool) -> Source:
    """Switches a source on or off; it keeps its position."""
    require(actor, "manage")
    source = get_source(space, pk)
    _locked(space, source.agent)
    if source.is_on != is_on:
        source.is_on = is_on
        source.save(update_fields=["is_on"])
        _changed(space, actor, source.agent, "sources.switch", f"switched {'on' if is_on else 'off'}", source.path)
    return source


@transaction.atomic
def choose_sources(space: Space, actor: Actor, shown: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """Puts those of the shown paths that are chosen into every prompt and takes the others out; answers which changed.

    Paths that were not shown stay as they are. One that comes back has its old position, a new one is last.
    """
    require(actor, "manage")
    changed = []
    for path in dict.fromkeys(checked_path(one)["path"] for one in shown):
        listed = [source for source in _locked(space, None) if source.path == path]
        if path in chosen and not listed:
            add_source(space, actor, path, must_be_mounted=True)
        elif (path in chosen) != any(source.is_on for source in listed):
            for source in listed:
                switch_source(space, actor, source.pk, path in chosen)
        else:
            continue
        changed.append(path)
    return changed


@transaction.atomic
def reorder_source(space: Space, actor: Actor, pk: int, to: int) -> Source:
    """Moves a source to another position of its list, counted from 1."""
    require(actor, "manage")
    source = get_source(space, pk)
    listed = _locked(space, source.agent)
    source = next(one for one in listed if one.pk == pk)
    if not move_row(listed, source, to):
        return source
    adds = f"to place {source.position}"
    _changed(space, actor, source.agent, "sources.reorder", "moved the source", source.path, adds)
    return source


@dataclass(frozen=True)
class Configuration:
    """What a project's configuration file says about memory."""

    memory_files: list[str] | None = None
    react_prompt: str | None = None
    other: tuple[str, ...] = ()  # names of settings that the hub has no place for


def read_configuration(text: str) -> Configuration:
    """The configuration in a JSON text; refused where it has neither sources nor a base prompt."""
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"The configuration is not valid JSON: {error}.", code="invalid_json") from None
    if not isinstance(document, dict) or not {"memory_files", "react_prompt"} & document.keys():
        raise Invalid('The configuration needs {"memory_files": ["/memories/AGENTS.md", …]}.', code="invalid_config")
    listed, base = document.pop("memory_files", None), document.pop("react_prompt", None)
    if listed is not None and not (isinstance(listed, list) and all(isinstance(one, str) and one for one in listed)):
        raise Invalid('memory_files is a list of paths such as "/memories/AGENTS.md".', code="invalid_config")
    if base is not None:
        check_text(base, "react_prompt")
    for path in listed or ():
        checked_path(path)
    if len(listed or ()) > MAX_SOURCES:
        raise Invalid(f"A list of sources has {MAX_SOURCES} paths at most.", code="too_many_sources")
    return Configuration(listed, base, tuple(document))


@transaction.atomic
def take_over_configuration(
    space: Space, actor: Actor, config: Configuration, *, agent: Agent | None = None, prompt_of: Agent | None = None
) -> list[Source]:
    """Replaces the list of sources, the agent's own where one is given, and the base prompt of `prompt_of`."""
    require(actor, "manage")
    if config.react_prompt is not None and prompt_of:
        agents.change_agent(prompt_of, actor, system_prompt=config.react_prompt)
    if config.memory_files is None:
        return sources_of(space, agent)
    wanted = [checked_path(path) for path in config.memory_files]
    listed = _locked(space, agent)
    for source in listed:
        source.delete()
    made = [Source.objects.create(space=space, agent=agent, **p, position=n) for n, p in enumerate(wanted, 1)]
    says = "imported the sources of a configuration"
    _changed(space, actor, agent, "sources.take_over", says, adds=f"{len(made)} paths")
    return made


def get_source(space: Space, pk: int) -> Source:
    source = Source.objects.within(space).filter(pk=pk).select_related("agent").first()
    if source is None:
        raise NotFound("There is no such source in this space.")
    return source


def _locked(space: Space, agent: Agent | None) -> list[Source]:
    """The list, locked by the space's row until the transaction ends."""
    Space.objects.select_for_update().get(pk=space.pk)
    return sources_of(space, agent)


def _changed(
    space: Space, actor: Actor, agent: Agent | None, verb: str, says: str, path: str = "", adds: str = ""
) -> None:
    """Records a change of a list: the whole list for past moments, the change mark, activity."""
    listed = [{"path": source.shown, "is_on": source.is_on} for source in sources_of(space, agent)]
    SourceChange.objects.create(space=space, agent_key=agent.pk if agent else 0, sources=listed, **actor.as_fields())
    spaces.mark_setup(space)
    whose = f"for {agent.slug}" if agent else "for every agent"
    url = "sources/" + (f"?agent={agent.slug}" if agent else "")
    activity.record(space, actor, verb, says, path, url=url, adds=f"{adds} {whose}".strip(), path=path)


@dataclass(frozen=True)
class SourceRow:
    path: str
    is_on: bool
    whose: str
    status: str  # as in `SourceStatus`
    problem: str
    number: int  # its position in prompts


MAX_LISTED = 50


def listed_sources(space: Space, agent: Agent | None = None) -> tuple[list[SourceRow], int]:
    """The first sources in the order of the prompt, of the whole space and of each agent, or those that one agent uses; and
    how many more there are."""
    every = Source.objects.within(space)
    found = every
    if agent:
        found = every.filter(agent=agent) if every.filter(agent=agent).exists() else every.filter(agent=None)
    ordered = found.select_related("agent").order_by(F("agent__slug").asc(nulls_first=True), "position", "pk")
    first = list(ordered[: MAX_LISTED + 1])  # the space's own stand before those of agents
    more = found.count() - MAX_LISTED if len(first) > MAX_LISTED else 0
    has_own = any(one.agent_id for one in first) or bool(more and found.exclude(agent=None).exists())
    everyone = "every other agent" if has_own else "every agent"
    place: dict[int | None, int] = {}
    rows = []
    for one in check_sources(space, first[:MAX_LISTED]):
        source = one.source
        place[source.agent_id] = number = place.get(source.agent_id, 0) + 1
        whose = source.agent.name if source.agent else everyone
        rows.append(SourceRow(source.shown, source.is_on, whose, one.status, one.problem, number))
    return rows, more
