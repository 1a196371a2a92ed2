"""The hook in settings files of the home that a space shows, and of its projects: what would change, and changing it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.conf import settings
from django.db import transaction

from memoryhub.detectors import secrets
from memoryhub.domain import activity, coding_agents, contexts, files
from memoryhub.domain.accounts import require
from memoryhub.domain.coding_agents import AgentHook, SettingsChange
from memoryhub.errors import Conflict, Forbidden, HubError, NotFound
from memoryhub.models import Actor, Mount, Proposal, Space

HOME = "home"
MEASURED = 50


@dataclass(frozen=True)
class HookPlace:
    """A settings file in which the hook can stand: that of the home, or of a mounted project. `problem` says why it cannot."""

    hook: AgentHook
    key: str
    path: str
    installed: bool = False
    change: SettingsChange | None = None
    problem: str = ""

    @property
    def seen(self) -> str:
        """What a click carries, so that nothing else is written than was looked at."""
        if self.change is None:
            return ""
        sides = (self.change.before or b"no file", self.change.after or b"no file")
        return hashlib.sha256(b"\0".join(sides)).hexdigest()

    @property
    def texts(self) -> tuple[str, str]:
        """The settings before and after, as they are shown: they hold keys now and then."""
        sides = (self.change.before, self.change.after) if self.change else (b"", b"")
        before, after = (secrets.redact((one or b"").decode("utf-8", "replace"))[0] for one in sides)
        return before, after


def places(space: Space, actor: Actor) -> list[HookPlace]:
    """The settings of the agents of the home that the space shows, and those of its projects that have some; nothing for who
    does not run the hub."""
    home = contexts.home_for(space, actor)
    if not home or not files.is_hub_operator(actor):
        return []
    found = []
    for hook in coding_agents.HOOKS.values():
        own = coding_agents.agent_home(hook.agent, home, {})
        if own is None:
            continue
        found.append(_place(hook, HOME, os.path.join(own, hook.file)))
        for mount in contexts.mounts_of_this_disk(space):
            path = os.path.join(mount.directory, hook.project_folder or hook.folder, hook.file)
            if not _is_in_home(mount, home) and os.path.exists(path):
                found.append(_place(hook, str(mount.pk), path))
    return found


def _is_in_home(mount: Mount, home: str) -> bool:
    return contexts.is_agents_folder(mount) or mount.directory == os.path.realpath(home)


def _place(hook: AgentHook, key: str, path: str) -> HookPlace:
    try:
        removal = coding_agents.plan_uninstall(hook, path)
        if not removal.is_none:
            return HookPlace(hook, key, path, True, removal)
        command = coding_agents.own_command(hook.program, str(settings.DATA_DIR))
        return HookPlace(hook, key, path, False, coding_agents.plan_install(hook, path, command))
    except HubError as refusal:
        return HookPlace(hook, key, path, problem=refusal.message)


def install(space: Space, actor: Actor, program: str, key: str, seen: str) -> HookPlace:
    """Puts the hook into the settings that the person looked at."""
    return _change(space, actor, program, key, seen, installed=False)


def uninstall(space: Space, actor: Actor, program: str, key: str, seen: str) -> HookPlace:
    """Takes the hook out of the settings: they are as they were before, or without its entry where other things changed since."""
    return _change(space, actor, program, key, seen, installed=True)


def _change(space: Space, actor: Actor, program: str, key: str, seen: str, *, installed: bool) -> HookPlace:
    require(actor, "manage")
    if not files.is_hub_operator(actor):
        raise Forbidden("Only who runs the hub changes settings of agents on its machine.")
    found = next((one for one in places(space, actor) if (one.hook.program, one.key) == (program, key)), None)
    if found is None:
        raise NotFound("This space shows no such settings.")
    if found.problem:
        raise Conflict(found.problem, code="no_json")
    if found.installed != installed or found.change is None or found.seen != seen:
        raise Conflict(f"{found.path} has changed. Review it again.", code="changed_since_seen")
    verb, says = ("hooks.uninstall", "took the hook out of") if installed else ("hooks.install", "put the hook into")
    with transaction.atomic():  # without the change there is no line about it
        activity.record(space, actor, verb, says, found.path, url="contexts/hooks/")
        coding_agents.make_change(found.change)
    return found


def seconds_until_found(space: Space) -> float | None:
    """How long after they were written changes on disk were found, in the middle; None where there were none."""
    newest = Proposal.objects.within(space).filter(from_disk=True, change__has_key="since").order_by("-number")
    lags = [
        (datetime.fromisoformat(change["found_at"]) - datetime.fromisoformat(change["since"])).total_seconds()
        for change in newest.values_list("change", flat=True)[:MEASURED]
    ]
    return median(lags) if lags else None
