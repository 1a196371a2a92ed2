"""Files larger than the hub keeps in one piece (1 MiB), as a note at their path and parts in a folder beside it.

The parts pass the same gate. Where the note would wait for a person, nothing is stored: nobody reviews megabytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .errors import Invalid
from .hub import MemoryHub
from .records import Outcome, Record, file_bytes, sha256_of

PART_SIZE = 1024 * 1024
MAX_PARTS = 64
NOTE = re.compile(
    rb"Kept in (\d+) parts in (/[^\n]+/): (\d+) bytes, sha256 ([0-9a-f]{64}), as it is too large for one file\.\n"
)
MAX_NOTE = 4096


def folder_of(path: str) -> str:
    return f"{path}.parts/"


def former_folder_of(path: str) -> str:
    """The hidden folder in which earlier clients put the parts; a hub takes no new files there."""
    parent, _, name = path.rpartition("/")
    return f"{parent}/.{name}.parts/"


def part_paths(folder: str, count: int) -> list[str]:
    ending = "" if folder.rstrip("/").rpartition("/")[2].startswith(".") else ".txt"
    return [f"{folder}{number:02}{ending}" for number in range(count)]


def write(hub: MemoryHub, path: str, data: bytes, **notes: str | None) -> Outcome:
    """Writes a file of any size up to 64 MiB; larger ones and those that would wait for a person are refused."""
    if len(data) <= PART_SIZE:
        return hub.write(path, data, **notes)
    pieces = cut(data)
    if len(pieces) > MAX_PARTS:
        raise Invalid(f"The file is larger than {MAX_PARTS} MiB, which is more than the hub keeps.", code="too_large")
    folder, sha = folder_of(path), sha256_of(data)
    note = (
        f"Kept in {len(pieces)} parts in {folder}: {len(data)} bytes, sha256 {sha}, as it is too large for one file.\n"
    )
    outcome = hub.write(path, note, **notes)
    if outcome.pending:
        hub.withdraw(outcome["proposal"]["number"])
        raise Invalid(
            "The file is larger than 1 MiB, which is more than a person can review. Keep less.", code="too_large"
        )
    for where, piece in zip(part_paths(folder, len(pieces)), pieces, strict=True):
        hub.write(where, piece, **notes)
    return outcome


def cut(data: bytes) -> list[bytes]:
    """Pieces of at most 1 MiB that do not end inside a UTF-8 character."""
    pieces, start = [], 0
    while start < len(data):
        end = min(start + PART_SIZE, len(data))
        back = end
        while back < len(data) and back > end - 4 and data[back] & 0xC0 == 0x80:
            back -= 1
        pieces.append(data[start:back])
        start = back
    return pieces


def whole(data: bytes, batch: Callable[[list[str]], list[Record]]) -> bytes:
    """The file that a note stands for; anything else as it is."""
    found = NOTE.fullmatch(data) if len(data) <= MAX_NOTE else None
    if not found or not 0 < int(found[1]) <= MAX_PARTS:
        return data
    paths = part_paths(found[2].decode(), int(found[1]))
    pieces = [file for start in range(0, len(paths), 16) for file in batch(paths[start : start + 16])]
    if any(piece.get("error") for piece in pieces):
        return data
    joined = b"".join(map(file_bytes, pieces))
    return joined if sha256_of(joined) == found[4].decode() else data
