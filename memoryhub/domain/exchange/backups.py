"""What a backup needs besides the database: the disk is read before, and given back after."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path

from django.db import transaction

from memoryhub.domain import activity, erasure, files, nodes, spaces
from memoryhub.errors import HubError
from memoryhub.models import HUB, File, Mount, Space


def take_in_the_disk() -> None:
    """What was changed on disk since the last look becomes revisions, so that the backup has it."""
    files.scan_all()


@transaction.atomic
def note_backup(file: str) -> None:
    """The hub's activity names each backup, so that a receipt of an erasure can say which still have what was erased."""
    activity.record(None, HUB, erasure.BACKUP, "wrote the backup", file)


def mounted_directories() -> set[str]:
    """The directories that this hub mounts."""
    return set(Mount.objects.filter(store=Mount.Store.FILESYSTEM).values_list("directory", flat=True))


def move_mounts(beside: Path, own: set[str]) -> None:
    """Every mounted directory but those that were this hub's own becomes an empty folder below this one: another hub may use it,
    and stays as it is."""
    for mount in Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space"):
        if mount.directory in own:
            continue
        name = mount.prefix.strip("/").replace("/", "_") or "root"
        names = chain([name], (f"{name}-{at}" for at in count(2)))  # /a/b/ and /a_b/ are two
        folder = next(one for each in names if not (one := beside / mount.space.slug / each).exists())
        folder.mkdir(parents=True)
        Mount.objects.filter(pk=mount.pk).update(
            directory=str(folder.resolve()), node=nodes.this_node(), next_node="", problem="", is_full=False
        )


def give_back_the_disk(made_at: str) -> list[str]:
    """After a restore, files on disk say again what the backup says; what they said meanwhile becomes a revision before.

    Says which files could not be given back, each with the reason.
    """
    problems = []
    for mount in Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space"):
        if not files.is_mine(mount):
            files.leave_to_its_node(mount)
            continue
        files.reset_written(mount.space, mount)
        known = File.objects.within(mount.space).filter(path__startswith=mount.prefix, is_deleted=False)
        for path, number, sha256 in list(known.values_list("path", "revision", "sha256")):
            try:
                _give_back(mount.space, path, number, sha256, made_at)
            except HubError as error:
                problems.append(f"{path} of {mount.space.slug}: {error.message}")
    return problems


def _give_back(space: Space, path: str, number: int, sha256: str, made_at: str) -> None:
    now = files.sync_path(space, path)
    if now is not None and now.sha256 != sha256:
        files.restore(space, HUB, path, number, reason=f"restored from the backup of {made_at}")


@transaction.atomic
def note_restore(made_at: str) -> None:
    """Every prompt is assembled anew, and the hub's activity says why."""
    for space in Space.objects.all():
        spaces.mark_longterm(space)
        spaces.mark_setup(space)
    activity.record(None, HUB, "hub.restore", "restored the backup of", made_at)
