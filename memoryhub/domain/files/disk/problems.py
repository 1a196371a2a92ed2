"""What is said of a file that cannot be read on disk, or whose newest revision cannot be written: `File.problem`.

`sync` sets it and tries again at the next read or save, `watch` from time to time; pages and `memoryhub doctor` show it.
"""

from __future__ import annotations

from memoryhub.domain.files.mounts import Place, find_mount, is_mine, mounts_of_space
from memoryhub.errors import HubError, Unavailable
from memoryhub.models import File, Space
from memoryhub.stores import FilesystemStore, disk, paths


def set_problem(file: File, sentence: str) -> None:
    if file.problem != sentence[:300]:
        file.problem, file.stat = sentence[:300], None
        file.save(update_fields=["problem", "stat"])


def clear_problem(file: File) -> None:
    if file.problem:
        file.problem = ""
        file.save(update_fields=["problem"])


def note_unwritten(file: File, why: str) -> None:
    """What happens when the newest revision cannot be written to the disk: it counts all the same, the file says why it is not
    there, and the next read or save tries again."""
    set_problem(file, f"Revision {file.revision} is not on disk yet. {why}")


def disk_error(file: File, place: Place) -> HubError:
    """The error that reading the file on disk gives: it can neither be recorded nor overwritten."""
    assert isinstance(place.store, FilesystemStore)
    try:
        place.store.read(place.relative)
    except HubError as error:
        return error
    return Unavailable(file.problem, code="disk_error", path=file.path)


def closed_at(space: Space, path: str) -> disk.Closed | None:
    """What keeps the hub out of a path on its disk; None where nothing does."""
    mount = find_mount(mounts_of_space(space), path)
    if mount is None or not mount.directory or not is_mine(mount):
        return None
    return disk.closed_at(mount.directory, paths.strip(mount.prefix, path))


def is_unreadable(file: File) -> bool:
    """Whether the disk cannot be read. A problem of writing a revision is none: that revision is published all the same."""
    return bool(file.problem) and not file.problem.startswith("Revision ")
