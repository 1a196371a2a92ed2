"""Directories that may be mounted, and by whom."""

from __future__ import annotations

import os

from django.conf import settings

from memoryhub.errors import Forbidden, Invalid
from memoryhub.models import Actor, Membership, Mount, Space


def clean_directory(directory: str) -> str:
    """The real path of an existing directory, without links and independent of the working directory; else refused."""
    if not directory.strip() or "\x00" in directory:
        raise Invalid("Name the directory that holds the files.", code="no_directory", field="directory")
    path = os.path.realpath(os.path.expanduser(directory.strip()))
    if not os.path.isdir(path):
        raise Invalid(f"There is no directory {path}. Make it first, or name another.", code="no_directory")
    if path == "/":
        raise Invalid("The whole disk cannot be mounted. Name a directory of its own.", code="no_directory")
    return path


SYSTEM_FOLDERS = ("/proc", "/sys", "/dev", "/etc", "/boot", "/run")
# The hub's own folders in its data directory; beside them there may be the demo's project, or a folder of the user's.
HUB_FOLDERS = ("postgres", "processes", "run", "static")


def is_hub_operator(actor: Actor) -> bool:
    """Whether this actor runs the hub, and so has its disk anyway."""
    return actor.kind == "hub" or bool(actor.person and actor.person.is_hub_owner)


def allowed_roots(actor: Actor) -> list[str]:
    """The directories below which this person's mounts have to lie; empty means anywhere."""
    return [] if is_hub_operator(actor) else settings.MOUNT_ROOTS


def require_allowed_directory(space: Space, actor: Actor, path: str) -> None:
    """Refuse a directory that this person may not mount.

    Mounts are read and written with the hub's rights, so the owner of a space may mount neither the hub's data, nor system
    folders, nor what another space mounts, nor anything outside the roots that the hub allows.
    """
    data = os.path.realpath(settings.DATA_DIR)
    if path == data or any(is_inside(path, f"{data}/{folder}") for folder in HUB_FOLDERS):
        raise Invalid("The hub's own data cannot be mounted. Name another directory.", code="no_directory")
    if is_hub_operator(actor):
        return
    roots = [os.path.realpath(root) for root in allowed_roots(actor)]
    if roots and not any(is_inside(path, root) for root in roots):
        raise Forbidden(
            f"This hub lets owners mount directories below {', '.join(settings.MOUNT_ROOTS)} alone. Name one of those, "
            "or ask who runs the hub."
        )
    own_spaces = Membership.objects.filter(person=actor.person, role="owner").values("space_id")
    others = Mount.objects.exclude(space=space).exclude(space_id__in=own_spaces).exclude(directory="")
    forbidden = [data, *SYSTEM_FOLDERS, *others.values_list("directory", flat=True)]
    if any(is_inside(path, folder) or is_inside(folder, path) for folder in forbidden):
        raise Forbidden("Only the owner of the hub mounts this directory: it is not this space's alone.")


def is_inside(path: str, folder: str) -> bool:
    """Whether a real path is this folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
