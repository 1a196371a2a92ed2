"""One file of a disk under several virtual paths, where the directories of mounts are the same or lie in each other."""

from __future__ import annotations

import os

from memoryhub.domain.files.mounts.directories import is_inside
from memoryhub.domain.files.mounts.resolve import Place, find_mount, mounts_of_space, place_in_mount, resolve_path
from memoryhub.models import Agent, Mount, Policy, Space
from memoryhub.stores import paths


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


def other_paths(space: Space, path: str) -> list[str]:
    """The other virtual paths of this space that the same file on disk has."""
    places = shared_places(space, resolve_path(space, paths.clean(path)))
    return sorted(one.mount.prefix + one.relative.lstrip("/") for one in places if one.mount.space_id == space.pk)
