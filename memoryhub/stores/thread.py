"""Short-term files of one thread: kept in the hub, shared by the turns of that thread, gone after a day without use."""

from __future__ import annotations

from datetime import timedelta


class ThreadStore:
    on_disk = False
    keeps_for = timedelta(hours=24)
