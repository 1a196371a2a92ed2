"""Whether the database has room left for what is written."""

from __future__ import annotations

import os
import shutil

from django.conf import settings
from django.db import OperationalError, connection, transaction

from memoryhub.refusals import FULL_NOTE, is_disk_full

MIN_FREE_BYTES = 1 << 20  # on the disk of the embedded database
PROBE_BYTES = 1 << 19


def is_full() -> bool:
    """Whether nothing can be written. The disk of a server of one's own is tried only after a write found it full."""
    if not settings.DATABASE_URL and shutil.disk_usage(settings.DATA_DIR).free < MIN_FREE_BYTES:
        return True
    note = settings.DATA_DIR / FULL_NOTE
    if not note.exists():
        return False
    if has_room():
        note.unlink(missing_ok=True)
        return False
    return True


def has_room() -> bool:
    """Whether the server takes half a megabyte, in a table that is gone at once."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE memoryhub_room (bytes bytea) ON COMMIT DROP")
            cursor.execute("ALTER TABLE memoryhub_room ALTER bytes SET STORAGE EXTERNAL")
            cursor.execute("INSERT INTO memoryhub_room VALUES (%s)", [os.urandom(PROBE_BYTES)])
    except OperationalError as error:
        if is_disk_full(error):
            return False
        raise
    return True
