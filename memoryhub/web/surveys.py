"""What mounted directories take in and leave out, as pages tell it."""

from __future__ import annotations

import time
from contextlib import suppress

from memoryhub.db.cache import Cache
from memoryhub.domain import files
from memoryhub.errors import HubError
from memoryhub.models import Mount
from memoryhub.stores.survey import Survey

_surveys: Cache[Survey] = Cache(
    "web.surveys", key="mount", invalidated_by="a minute's end, another directory or selection", max_items=64,
    saves="walking a directory with everything that is left out of it for each page that names a number",
)  # fmt: skip


def survey_of(mount: Mount) -> Survey | None:
    """What a mount takes in and leaves out, as it was within the last minute; None for one without a directory, or with one that
    cannot be read just now. Names of what is left out are for those who manage the space."""
    mark = (mount.directory, mount.selection, int(time.time()) // 60)
    found = _surveys.get(mount.pk, mark)
    if found is None:
        with suppress(HubError):
            found = files.survey_mount(mount)
        if found:
            _surveys.put(mount.pk, found, mark)
    return found
