"""Directories of this node, where hubs share a database: which ones, taking one over, and what others left to be written."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db.models import F, Q

from memoryhub.domain import nodes, spaces
from memoryhub.domain.files.disk.sync import sync_file
from memoryhub.domain.files.edit import restore
from memoryhub.domain.files.mounts import (
    claim,
    find_mount,
    is_mine,
    mounts_of_space,
    place_in_mount,
    reclaim,
    reset_written,
)
from memoryhub.errors import HubError
from memoryhub.models import HUB, File, Mount

log = logging.getLogger("memoryhub.files")
AT_ONCE = 500  # waiting files that one look writes


def mounts_of_this_node() -> list[Mount]:
    """The mounted directories that this node reads and writes, after it took those that it is in charge of."""
    mounts = list(Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space"))
    if not settings.SHARES_DATABASE:
        return mounts
    for mount in mounts:
        if mount.next_node == nodes.this_node():
            take_over(mount)
        elif not mount.node:
            claim(mount)
        elif not is_mine(mount) and reclaim(mount):
            mount.node = nodes.this_node()
    return [mount for mount in mounts if is_mine(mount)]


def take_over(mount: Mount) -> None:
    """Brings the directory on this node to what the hub has, then takes charge of it. What lies there and is another text
    becomes a revision before the one that counts."""
    mount.node = nodes.this_node()  # for this round alone: others see it when it is saved
    reset_written(mount.space, mount)
    known = File.objects.within(mount.space).filter(path__startswith=mount.prefix, thread_id="", is_deleted=False)
    mounts = mounts_of_space(mount.space)
    for path, number, sha256 in list(known.values_list("path", "revision", "sha256")):
        found = find_mount(mounts, path)
        if found is None or found.pk != mount.pk:
            continue
        try:
            place = place_in_mount(mount, path)
            now = sync_file(mount.space, path, place)
            if now is not None and now.sha256 != sha256:
                restore(
                    mount.space, HUB, path, number, reason="The node that writes the directory is another", place=place
                )
        except HubError as error:
            log.warning("%s", error.message)
    Mount.objects.filter(pk=mount.pk, next_node=nodes.this_node()).update(node=nodes.this_node(), next_node="")
    mount.next_node = ""
    spaces.mark_setup(mount.space)
    log.info("this node is in charge of %s of %s", mount.prefix, mount.space.slug)


def write_waiting(mounts: list[Mount]) -> int:
    """Writes what other nodes left to be written into the directories of this one; answers how many files it looked at."""
    if not settings.SHARES_DATABASE or not mounts:
        return 0
    below = Q()
    for mount in mounts:
        below |= Q(space=mount.space_id, path__startswith=mount.prefix)
    # The condition of the index `file_unwritten`, which holds few rows.
    unwritten = Q(written_revision__lt=F("revision")) | ~Q(problem="")
    waiting = File.objects.filter(below, unwritten, problem__startswith="Revision ", thread_id="").order_by("pk")
    count = 0
    for space_id, path in list(waiting.values_list("space_id", "path")[:AT_ONCE]):
        of_space = [mount for mount in mounts if mount.space_id == space_id]
        found = find_mount(mounts_of_space(of_space[0].space), path)
        if found is None or not is_mine(found):
            continue
        count += 1
        try:
            sync_file(of_space[0].space, path, place_in_mount(found, path))
        except HubError as error:
            log.warning("%s", error.message)
    return count
