"""Whether files on disk are as they were when something was made of their texts: a cached prompt, a cached answer."""

from __future__ import annotations

import os
from typing import NamedTuple


class DiskFile(NamedTuple):
    """Where a text lies on disk, and the mark that it was taken at; None: it was not there."""

    directory: str
    relative: str
    mark: tuple[int, ...] | None

    def is_unchanged(self) -> bool:
        """Whether the file is as it was when its text was taken.

        A plain look is enough here: what has the same times, size and inode is the same file, whichever way led to it. The
        way that follows no links is taken when a text is read.
        """
        try:
            found = os.lstat(self.directory + self.relative)
        except (OSError, ValueError):
            return self.mark is None
        return self.mark == (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
