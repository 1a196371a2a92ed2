"""Which of several hubs puts changes on disk back: the one that holds the lock of the folder, so that none undoes another's work."""

from __future__ import annotations

import os
from collections.abc import Sequence

from django.db import transaction

from memoryhub.domain import activity, spaces
from memoryhub.models import HUB, Mount
from memoryhub.stores.folder_locks import FolderLocks

LOCKS = FolderLocks()  # of the process that watches; it holds them as long as it runs


def agree_on_put_backs(mounts: Sequence[Mount]) -> None:
    """Holds the folders in which these mounts put changes back. A mount whose folder another hub holds, or another space's mount,
    only holds changes from now on, until the other one stops."""
    first: dict[str, int] = {}
    for mount in sorted((one for one in mounts if one.put_back), key=lambda one: one.pk):
        first.setdefault(os.path.realpath(mount.directory), mount.pk)
    left = LOCKS.hold_only(first)
    for mount in mounts:
        path = os.path.realpath(mount.directory) if mount.put_back else ""
        note_put_back(mount, is_elsewhere=mount.put_back and (path in left or first[path] != mount.pk))


@transaction.atomic
def note_put_back(mount: Mount, *, is_elsewhere: bool) -> None:
    """Notes on a mount whether somebody else puts changes back in its folder."""
    if mount.put_back_elsewhere == is_elsewhere:
        return
    mount.put_back_elsewhere = is_elsewhere
    mount.save(update_fields=["put_back_elsewhere"])
    if mount.put_back:
        spaces.mark_setup(mount.space)
        does = "left putting back to another hub in" if is_elsewhere else "puts changes back in"
        activity.record(mount.space, HUB, "mounts.put_back", does, mount.prefix, url="mounts/")
