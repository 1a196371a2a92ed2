"""What an actor sent and what it was answered: one line of JSON for each call, read again by the checker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Entry = dict[str, Any]
UNKNOWN = 0  # no answer: it may have happened or not


class Ledger:
    def __init__(self, path: Path) -> None:
        self.file = path.open("a", buffering=1)

    def note(self, **entry: Any) -> None:
        self.file.write(json.dumps(entry) + "\n")


def read_all(folder: Path) -> Iterator[Entry]:
    """The entries of all actors, each actor's in its order."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            yield {"actor": path.stem, **json.loads(line)}


def is_acknowledged(entry: Entry) -> bool:
    return 200 <= entry["status"] < 300


def is_unknown(entry: Entry) -> bool:
    """No answer, or one that leaves open what happened."""
    return entry["status"] == UNKNOWN or entry["status"] >= 500


def sha_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
