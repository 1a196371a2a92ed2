"""The hub's list of held directories, in its data directory: hooks of agents read it without a database.

A hook asks the hub about writes below these directories alone, over a socket beside the list; of all others it knows at once that
nobody holds them.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

LIST, SOCKET = "held.json", "hook.sock"
LONGEST_ADDRESS = 100  # bytes of a socket's path that every system takes


@dataclass(frozen=True)
class HeldDirectory:
    """A directory whose changes wait for a person; with `puts_back` a change there is undone."""

    directory: str
    puts_back: bool


def read_held(data_dir: str) -> list[HeldDirectory] | None:
    """The held directories; None where no hub has written a list that can be read."""
    try:
        with open(os.path.join(data_dir, LIST), encoding="utf-8") as file:
            return [HeldDirectory(str(one["directory"]), bool(one["puts_back"])) for one in json.load(file)["held"]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def write_held(data_dir: str, held: Iterable[HeldDirectory]) -> None:
    """Writes the list, readable by the hub's user alone, in one step and only where it changed."""
    listed = sorted(held, key=lambda one: (one.directory, one.puts_back))
    if read_held(data_dir) == listed:
        return
    beside = os.path.join(data_dir, f".{LIST}-{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(beside)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"held": [asdict(one) for one in listed]}, file)
    os.replace(beside, os.path.join(data_dir, LIST))


def real_paths(path: str, folder: str) -> list[str]:
    """Where a write to a path really goes: through links, and to the name itself, which a program may replace."""
    whole = os.path.join(folder or os.sep, os.path.expanduser(path))
    parent, name = os.path.split(os.path.normpath(whole))
    return list(dict.fromkeys([os.path.realpath(whole), os.path.join(os.path.realpath(parent), name)]))


def is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip(os.sep) + os.sep)


def held_above(held: Sequence[HeldDirectory], paths: Iterable[str]) -> list[HeldDirectory]:
    """The held directories that one of these real paths lies in."""
    listed = list(paths)
    return [one for one in held if any(is_below(path, one.directory) for path in listed)]


@contextlib.contextmanager
def socket_address(data_dir: str, name: str = SOCKET) -> Iterator[str]:
    """The address of a socket in the data directory, also where its path is longer than the system takes."""
    path = os.path.join(data_dir, name)
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        yield path
        return
    folder = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{name}"
    finally:
        os.close(folder)
