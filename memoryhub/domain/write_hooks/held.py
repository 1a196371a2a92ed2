"""The list of held directories, which hooks of agents read before they ask: kept in the data directory as mounts change."""

from __future__ import annotations

import logging
import os

from django.conf import settings
from django.db import transaction

from memoryhub.domain import files, spaces
from memoryhub.stores import held_list
from memoryhub.stores.held_list import HeldDirectory

log = logging.getLogger("memoryhub.hooks")


def keep_held_list() -> None:
    """Writes the list of held directories that hooks read. A directory of several mounts is put back if one of them is."""
    found: dict[str, bool] = {}
    for mount in files.held_mounts():
        directory = os.path.realpath(mount.directory)
        found[directory] = found.get(directory, False) or mount.put_back
    held = [HeldDirectory(directory, puts_back) for directory, puts_back in found.items()]
    try:
        held_list.write_held(str(settings.DATA_DIR), held)
    except OSError as error:  # hooks then ask about every write, or about none
        log.warning("The list of held directories is not written: %s", error)


@spaces.on_event("mounts_changed")
def keep_after_commit() -> None:
    """Writes the list anew once the change of a mount has committed."""
    transaction.on_commit(keep_held_list)
