"""Files that live in the hub itself: the newest revision is the file, there is no second place to keep in step."""

from __future__ import annotations


class DatabaseStore:
    on_disk = False
    keeps_for = None  # for good
