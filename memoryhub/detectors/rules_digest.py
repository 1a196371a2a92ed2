"""One digest of all that decides what the detectors find: with another one, a text that was looked at is looked at again."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

from memoryhub.text import engine

HERE = Path(__file__).parent
FOLDERS = (HERE, HERE.parent / "text")
KINDS = (".py", ".txt")


@cache
def rules_digest() -> str:
    """Of the detectors, with the choice of the pieces of a text that they look at, the functions of texts that they call, and what
    runs their patterns. Read once by each process, in some milliseconds."""
    runs = version("google-re2" if engine.IS_LINEAR else "regex")
    made = hashlib.sha256(f"{sys.version} {engine.NAME} {runs}".encode())
    for file in files():
        content = file.read_bytes()
        made.update(f"\n{file.name} {len(content)}\n".encode() + content)
    return made.hexdigest()


def files() -> Iterator[Path]:
    """The files that hold rules, or that read texts for them."""
    for folder in FOLDERS:
        yield from sorted(file for file in folder.rglob("*") if file.suffix in KINDS)
