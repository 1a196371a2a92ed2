"""Files in a directory of another node: read from the hub, and written by that node when it comes to it."""

from __future__ import annotations


class ElsewhereStore:
    on_disk = True
    keeps_for = None
