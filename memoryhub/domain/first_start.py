"""What `memoryhub up` makes: the space `main`, its mount at /memories/, and the owner who may sign in."""

from __future__ import annotations

from pathlib import Path

from django.db import transaction

from memoryhub.domain import people, spaces
from memoryhub.domain.access import HUB
from memoryhub.models import Membership, Mount, Person, Role, Source, Space

try:
    from memoryhub.domain import mounts, sources
except ImportError:
    mounts = sources = None  # type: ignore[assignment]

SLUG, PREFIX, SOURCE = "main", "/memories/", "/memories/AGENTS.md"


@transaction.atomic
def prepare(directory: Path | None) -> str:
    """Makes the space at the first start, moves its mount when another directory is named; says what it moved."""
    owner = people.hub_owner()
    space = Space.objects.filter(slug=SLUG).first()
    if space is None:
        space = spaces.create(HUB, SLUG, "Main")
        _add(space, directory)
        moved = ""
    else:
        moved = _move(space, directory) if directory else ""
    join(space, owner)
    return moved


def join(space: Space, owner: Person) -> None:
    """The hub's owner owns this space too; whoever took them out of a space meant it, so only if they never were."""
    if not Membership.objects.within(space).filter(role=Role.OWNER).exists():
        spaces.add_member(space, HUB, owner, Role.OWNER)


def _place(directory: Path | None) -> dict[str, str]:
    if directory is None:
        return {"store": Mount.Store.DATABASE}
    return {"store": Mount.Store.FILESYSTEM, "directory": str(directory)}


def _move(space: Space, directory: Path) -> str:
    mount = Mount.objects.within(space).filter(prefix=PREFIX).first()
    if mount is None:
        _add(space, directory)
        return f"{PREFIX} is now at {directory}."
    was = mount.directory if mount.store == Mount.Store.FILESYSTEM else "the database"
    if was == str(directory):
        return ""
    if mounts:
        mounts.change(space, HUB, mount, **_place(directory))
    else:
        Mount.objects.filter(pk=mount.pk).update(**_place(directory))
    return f"{PREFIX} moved from {was} to {directory}."


def _add(space: Space, directory: Path | None) -> None:
    if mounts and sources:
        mounts.add(space, HUB, PREFIX, **_place(directory))
        sources.add(space, HUB, SOURCE)
    else:
        Mount.objects.create(space=space, prefix=PREFIX, **_place(directory))
        Source.objects.create(space=space, path=SOURCE)
