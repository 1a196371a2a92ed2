"""The settings of a node whose clock can be set: by the seconds in the file `clock` of its data directory."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.utils import timezone

from memoryhub.settings import *  # noqa: F403

_FILE = Path(os.environ["SOAK_CLOCK"])
_right = time.time


def _ahead() -> float:
    try:
        return float(_FILE.read_text() or 0)
    except OSError:
        return 0.0


time.time = lambda: _right() + _ahead()
timezone.now = lambda: datetime.now(UTC) + timedelta(seconds=_ahead())
