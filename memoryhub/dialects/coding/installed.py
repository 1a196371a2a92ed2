"""What this machine tells of the programs: which version is installed, and a piece of text that only the program knows."""

from __future__ import annotations

import contextlib
import glob
import mmap
import os
import re
import shutil
from typing import Any

from .claude_code import HEADING
from .settings import read_json
from .tree import DiskTree

TREE = DiskTree()
PACKAGE_LEVELS = 4
MAX_VERSION = 60  # characters
OWN_PROGRAMS = (".local/bin", ".npm-global/bin", ".bun/bin", ".claude/local", "bin")  # where programs of a person lie
HEADING_END = re.compile(rb"[\"`\\\x00-\x1f]")  # a quote in a script, a NUL in a native program
MAX_HEADING = 2_000
VERSION = re.compile(r"\d+\.\d+\.\d+[\w.-]*")


def find_program(program: str, home: str = "") -> str:
    """The path of a program, on PATH or where people install their own; empty where it is not there."""
    own = [os.path.join(home, place) for place in OWN_PROGRAMS] if home else []
    places = os.pathsep.join([os.environ.get("PATH", ""), *own])
    return (shutil.which(program, path=places) or "") if program else ""


def installed_version(program: str, home: str = "") -> str:
    """The version of a program that is installed; empty where the machine does not tell."""
    found = find_program(program, home)
    return version_of(found) if found else ""


def version_of(program: str) -> str:
    """The version of a program, by its own name, its package of npm or Python, or its folder; empty where none tells."""
    real = os.path.realpath(program)
    if VERSION.fullmatch(name := os.path.basename(real)):
        return name
    command = os.path.basename(program)
    return _in_npm_package(real, command) or _in_python_package(real, command) or _in_folder_names(real, command)


def _folders_above(real: str) -> list[str]:
    found = [os.path.dirname(real)]
    while len(found) < PACKAGE_LEVELS and found[-1] != "/":
        found.append(os.path.dirname(found[-1]))
    return found


def _in_npm_package(real: str, command: str) -> str:
    for folder in _folders_above(real):
        package = read_json(TREE, os.path.join(folder, "package.json"))
        if package and _is_of(package, folder, command):
            return _cleaned(package.get("version"))
    return ""


def _is_of(package: dict[str, Any], folder: str, command: str) -> bool:
    """Whether a package is that of the program, and not a project in whose folder the program happens to lie."""
    name, commands = str(package.get("name") or ""), package.get("bin")
    is_named = not name or command in name or (isinstance(commands, dict) and command in commands)
    return is_named or "node_modules" in folder.split("/")


def _in_python_package(real: str, command: str) -> str:
    """The package beside a script of Python that declares a command of this name."""
    with contextlib.suppress(OSError), open(real, "rb") as opened:
        if b"python" not in opened.read(200).partition(b"\n")[0]:
            return ""
    wanted = re.compile(rf"^{re.escape(command)}\s*=".encode(), re.M)
    top = os.path.dirname(os.path.dirname(real))
    for packages in glob.glob(os.path.join(glob.escape(top), "lib", "python3*", "site-packages")):
        for name in (one for one in TREE.names(packages) if one.endswith(".dist-info")):
            if wanted.search(TREE.read(os.path.join(packages, name, "entry_points.txt")) or b""):
                return _cleaned(name.removesuffix(".dist-info").rpartition("-")[2])
    return ""


def _in_folder_names(real: str, command: str) -> str:
    """`Cellar/codex/0.169.0/bin/codex`, as Homebrew and others keep programs."""
    for folder in _folders_above(real):
        above, name = os.path.split(folder)
        if VERSION.fullmatch(name) and command in os.path.basename(above):
            return name
    return ""


def _cleaned(version: object) -> str:
    return version.strip() if isinstance(version, str) and version.isprintable() and len(version) <= MAX_VERSION else ""


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
