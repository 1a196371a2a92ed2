"""What the directories of mounts take in: the intake of a mount, and refusals of what is left out."""

from __future__ import annotations

import os
import sys
from functools import lru_cache

from django.conf import settings

from memoryhub.domain import nodes
from memoryhub.errors import Invalid
from memoryhub.models import Mount
from memoryhub.stores.selection import LeftOut
from memoryhub.stores.survey import Intake, Survey, intake, survey

PROGRAM = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))


# In place of a directory of another node: names alone decide there, as far as this node can tell.
NOWHERE = "/dev/null/elsewhere"


def intake_of(mount: Mount) -> Intake | None:
    """What the directory of a mount takes in; None for other stores."""
    if mount.store != Mount.Store.FILESYSTEM:
        return None
    return intake_at(mount.directory if nodes.is_here(mount.node) else NOWHERE, mount.selection)


def intake_at(directory: str, selection: str) -> Intake:
    """What a directory takes in by a selection in one text."""
    return intake(directory, selection, own_folders(directory, str(settings.DATA_DIR)))


def is_left_out(directory: str, selection: str, relative: str, node: str = "") -> bool:
    """Whether a directory of a node leaves out a path inside of it, by its name or a `.gitignore` file."""
    return intake_at(directory if nodes.is_here(node) else NOWHERE, selection).why_out(relative) is not None


def survey_mount(mount: Mount) -> Survey | None:
    """How many files a mount of a directory takes in, and what it leaves out and why; None for other stores,
    and for a directory of another node."""
    taking = intake_of(mount)
    if taking is None or taking.root == NOWHERE:
        return None
    taking.ignored.forget()
    return survey(taking)


def hub_pages() -> list[str]:
    """The directories of the hub's templates and static files, where they lie beside the program."""
    outside = os.path.dirname(PROGRAM)
    has_pages = os.path.exists(os.path.join(outside, "manage.py"))
    return [os.path.join(outside, name) for name in ("templates", "static")] if has_pages else []


def hub_folders() -> list[str]:
    """The directories of the hub's program, pages, environment and data."""
    return [os.path.realpath(path) for path in (PROGRAM, *hub_pages(), sys.prefix, settings.DATA_DIR)]


@lru_cache(maxsize=256)
def own_folders(directory: str, data_dir: str) -> tuple[str, ...]:
    """The hub's own folders that lie inside a directory, relative to it."""
    root = directory.rstrip("/") + "/"
    return tuple(folder.removeprefix(root) for folder in hub_folders() if folder.startswith(root))


def left_out_error(path: str, why: LeftOut) -> Invalid:
    """The refusal to write to a path that its mount leaves out."""
    return Invalid(
        f"“{path}” is left out of its mount ({why.why}). Write elsewhere, or ask an owner of the space to change what the mount "
        "takes in.", code="left_out", path=path, why=why.why,
    )  # fmt: skip
