"""What `memoryhub up` makes: the space `main`, its mount at /memories/, and the owner who may sign in."""

from __future__ import annotations

import contextlib
from pathlib import Path

from django.conf import settings
from django.db import transaction

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.errors import HubError
from memoryhub.models import HUB, Membership, Mount, OnDisk, Person, Role, Space

SLUG, NAME, PREFIX, SOURCE = "main", "Main", "/memories/", "/memories/AGENTS.md"
AT_ONCE = 1_000  # files; more are taken in by the background process


def prepare(directory: Path | None) -> tuple[str, str]:
    """Makes the space at the first start, moves its mount when another directory is named. Says what the directory shows, and
    what was moved."""
    moved = _make(directory)
    if not settings.DATABASE_URL:  # else other hubs may be running
        files.end_threads_of_run()
    files.leave_out_everywhere()
    if directory is None:
        return "", moved
    mount = Mount.objects.get(space__slug=SLUG, prefix=PREFIX)
    found = files.survey_mount(mount)
    if found and found.files <= AT_ONCE and mount.taken_in_at is None:
        with contextlib.suppress(HubError):  # a directory that cannot be read is told of by its mount
            files.take_in_mount(mount.space, mount)
    return (found.sentence(mount.directory) if found else ""), moved


@transaction.atomic
def _make(directory: Path | None) -> str:
    owner = accounts.hub_owner()
    space = Space.objects.filter(slug=SLUG).first()
    if space is None:
        space = spaces.create(HUB, SLUG, name_of(directory))
        files.add_mount(space, HUB, PREFIX, **_place(directory))
        prompts.add_source(space, HUB, SOURCE)
        moved = ""
    else:
        moved = _move(space, directory) if directory else ""
    join(space, owner)
    return moved


def hold_changes_on_disk() -> None:
    """Changes in the directory at /memories/ wait for a person from now on; what lies there now is taken in before."""
    space = spaces.get_by_slug(SLUG)
    mount = Mount.objects.within(space).get(prefix=PREFIX)
    files.change_on_disk(space, HUB, mount, OnDisk.HOLD, put_back=mount.put_back)
    files.take_in_mount(space, mount)


def join(space: Space, owner: Person) -> None:
    """Somebody has to own the space: the hub's owner, unless others do already."""
    if not Membership.objects.within(space).filter(role=Role.OWNER).exists():
        spaces.add_member(space, HUB, owner, Role.OWNER)


def _place(directory: Path | None) -> dict[str, str]:
    if directory is None:
        return {"store": Mount.Store.DATABASE}
    return {"store": Mount.Store.FILESYSTEM, "directory": str(directory)}


def name_of(directory: Path | str | None) -> str:
    """The name of the space that shows this directory."""
    name = Path(directory).name if directory else ""
    return name.encode("utf-8", "replace").decode().strip()[:100] or NAME


def _move(space: Space, directory: Path) -> str:
    mount = Mount.objects.within(space).filter(prefix=PREFIX).first()
    if mount is None:
        files.add_mount(space, HUB, PREFIX, **_place(directory))
        _rename(space, NAME, directory)
        return f"{PREFIX} is now at {directory}."
    was = mount.directory if mount.store == Mount.Store.FILESYSTEM else "the database"
    if was == str(directory):
        return ""
    named = name_of(mount.directory)
    files.change_mount(space, HUB, mount, **_place(directory))
    _rename(space, named, directory)
    return f"{PREFIX} moved from {was} to {directory}."


def _rename(space: Space, named: str, directory: Path) -> None:
    """Gives the space the name of its new directory, unless a person chose another one than it had from the old."""
    if space.name in (NAME, named) and space.name != name_of(directory):
        spaces.rename(space, HUB, name_of(directory), space.description)
