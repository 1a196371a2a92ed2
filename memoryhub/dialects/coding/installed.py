"""What this machine tells of the programs: which version is installed, and a piece of text that only the program knows."""

from __future__ import annotations

import json
import mmap
import os
import re
import shutil

from .claude_code import HEADING

PACKAGE_LEVELS = 4
HEADING_END = re.compile(rb"[\"`\\\x00-\x1f]")  # a quote in a script, a NUL in a native program
MAX_HEADING = 2_000
VERSION = re.compile(r"\d+\.\d+\.\d+[\w.-]*")


def installed_version(program: str) -> str:
    """The version in the package of a program on PATH; empty where the machine does not tell."""
    found = shutil.which(program) if program else None
    return version_of(found) if found else ""


def version_of(program: str) -> str:
    """The version in the package that a program of this path belongs to, or in its own name; empty where neither tells."""
    if VERSION.fullmatch(name := os.path.basename(os.path.realpath(program))):
        return name
    folder = os.path.dirname(os.path.realpath(program))
    for _ in range(PACKAGE_LEVELS):
        try:
            with open(os.path.join(folder, "package.json"), encoding="utf-8") as opened:
                return str(json.load(opened).get("version") or "")
        except (OSError, ValueError, AttributeError):
            folder = os.path.dirname(folder)
    return ""


def claude_heading(program: str = "claude") -> str:
    """The paragraph that Claude Code puts above its files, read from the installed program without running it.

    Only its first sentence is known without the program.
    """
    found = shutil.which(program)
    if not found:
        return HEADING
    try:
        with (
            open(os.path.realpath(found), "rb") as opened,
            mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text,
        ):
            at = text.find(HEADING.encode())
            piece = text[at : at + MAX_HEADING] if at >= 0 else b""
    except (OSError, ValueError):
        return HEADING
    end = HEADING_END.search(piece)
    return piece[: end.start()].decode("utf-8", "replace").rstrip() if end else HEADING


def is_newer(version: str, compared: str) -> bool:
    """Whether an installed version is above the one that was compared."""
    return bool(version) and _numbers(version) > _numbers(compared)


def _numbers(version: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", version.split("-")[0])]
