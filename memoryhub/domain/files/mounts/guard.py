"""Where agents may write at all: not to what a mount leaves out, never to programs, hooks and start files, and only as far as
every mount lets them whose directory holds the file.

An owner may name such a path in a rule: then a change of it can be proposed, whatever the policy, and is shown as one to look at
closely.
"""

from __future__ import annotations

import os
import stat

from memoryhub.domain.files.mounts.directories import is_inside
from memoryhub.domain.files.mounts.resolve import (
    Place,
    find_mount,
    left_out_error,
    mounts_of_space,
    place_in_mount,
    resolve_path,
)
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Mount, Policy, PolicyRule, Space
from memoryhub.stores import FilesystemStore, programs
from memoryhub.stores.known_names import is_hidden_memory

NO_REASONS: frozenset[str] = frozenset()


def why_not_memory(place: Place, path: str, content: bytes | None = None) -> frozenset[str]:
    """Why a path, or a text for it, is no memory: empty for memory and plain data."""
    return _name_reasons(place) | programs.text_reasons(path, content) | _mode_reasons(place)


def _name_reasons(place: Place) -> frozenset[str]:
    """The reasons of the path inside the mount, and of where that lies: `/claude/` may be the folder `.claude`."""
    found = programs.reasons(place.relative)
    for above in (place.mount.prefix, place.mount.directory):
        if "/." in f"/{above}" and (tail := _hidden_tail(above)):
            is_memory = is_hidden_memory(tuple(tail.split("/")), is_folder=True)
            found |= programs.reasons(f"/{tail}{place.relative}") - ({programs.HIDDEN} if not is_memory else set())
    return found


def _hidden_tail(above: str) -> str:
    """A path from its first hidden name on, without slashes around it."""
    parts = [part for part in above.removeprefix("~").split("/") if part and part != "."]
    first = next((at for at, part in enumerate(parts) if part.startswith(".")), len(parts))
    return "/".join(parts[first:])


def _mode_reasons(place: Place) -> frozenset[str]:
    """An executable file on disk is a program, unless its ending says prose: some disks mark every file as executable."""
    if not isinstance(place.store, FilesystemStore) or programs.is_prose(place.relative):
        return NO_REASONS
    try:
        mode = os.lstat(place.real_path).st_mode
    except (OSError, ValueError):
        return NO_REASONS
    return frozenset({programs.CONTENT}) if stat.S_ISREG(mode) and mode & 0o111 else NO_REASONS


def check_agents_path(space: Space, agent: Agent | None, place: Place, path: str, content: bytes | None = None) -> bool:
    """Refuse a path that its mount leaves out, or that is no memory. Answers whether it is no memory, but named in a rule."""
    why_out = place.why_closed()
    reasons = why_not_memory(place, path, content)
    says_less = why_out is not None and why_out.code in SAID_BETTER and bool(reasons - {programs.HIDDEN})
    if why_out and not says_less and programs.HOOK not in reasons:
        raise left_out_error(path, why_out)
    if not reasons:
        return False
    if why_out or not is_named(space, agent.pk if agent else None, path, reasons):
        raise not_memory_error(path, reasons)
    return True


# Reasons to leave a path out that say less than that it is a program.
SAID_BETTER = ("hidden", "no_document", "not_included")


def not_memory_error(path: str, reasons: frozenset[str]) -> Invalid:
    why = first_reason(reasons)
    return Invalid(
        f"Agents do not write “{path}”: {why}. Do not retry. If it has to change, an owner of the space can name this path in a "
        "rule; then the change is proposed to a person.", code="not_memory", path=path, why=why,
    )  # fmt: skip


def first_reason(reasons: frozenset[str]) -> str:
    """The reason that says most."""
    return next(says for reason, says in programs.SAYS.items() if reason in reasons)


def is_named(space: Space, agent_id: int | None, path: str, reasons: frozenset[str]) -> bool:
    """Whether a rule of the space that is on, and about this agent, names a path that is no memory."""
    rules = PolicyRule.objects.within(space).filter(is_on=True).exclude(policy=Policy.READ_ONLY)
    return any(programs.is_named_by(rule.pattern, path, reasons) for rule in rules if rule.agent_id in (None, agent_id))


def why_program(space: Space, agent_id: int | None, place: Place, path: str, content: bytes | None = None) -> str:
    """Why the path or text of a proposal is no memory, as a sentence; empty for memory. Refused where no rule names it."""
    reasons = why_not_memory(place, path, content)
    if reasons and not is_named(space, agent_id, path, reasons):
        raise not_memory_error(path, reasons)
    return first_reason(reasons) if reasons else ""


# ---- one file under several virtual paths, where the directories of mounts are the same or lie in each other


def shared_places(space: Space, place: Place, agent: Agent | None = None) -> list[Place]:
    """Every other place of the same file on disk, each with its own policy and rule: what is written here is read there.

    Of mounts of other spaces it says no more than whether they trust agents: they get no path here.
    """
    if not place.store.on_disk:
        return []
    real = os.path.realpath(place.real_path)
    others = Mount.objects.filter(store=Mount.Store.FILESYSTEM).exclude(space=space, prefix=place.mount.prefix)
    found = [(mount, inside) for mount in others if (inside := _path_inside(mount, real))]
    mounts = mounts_of_space(space) if found else []
    places = [_place_of(space, mount, inside, mounts, agent) for mount, inside in found]
    return [one for one in places if one is not None and one.why_out() is None]


def _path_inside(mount: Mount, real: str) -> str:
    """The path inside a mount of what lies at a real path; empty where that lies outside."""
    root = os.path.realpath(mount.directory)
    return real[len(root.rstrip("/")) :].lstrip("/") if is_inside(real, root) and real != root else ""


def _place_of(space: Space, mount: Mount, inside: str, mounts: list[Mount], agent: Agent | None) -> Place | None:
    path = mount.prefix + inside
    if mount.space_id == space.pk:
        # A mount with a longer prefix may answer for that path instead.
        found = find_mount(mounts, path)
        return resolve_path(space, path, agent=agent) if found and found.prefix == mount.prefix else None
    place = place_in_mount(mount, path)
    trusts = mount.policy == Policy.TRUSTED
    return Place(mount, place.store, place.relative, Policy.TRUSTED if trusts else Policy.REVIEW)


def other_paths(space: Space, place: Place) -> list[str]:
    """The other virtual paths of this space that the file at a place has."""
    places = shared_places(space, place)
    return sorted(one.mount.prefix + one.relative.lstrip("/") for one in places if one.mount.space_id == space.pk)
