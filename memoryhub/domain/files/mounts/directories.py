"""Directories that may be mounted, and by whom; and those of the hub itself."""

from __future__ import annotations

import os
import pwd
import sys
from functools import lru_cache

from django.conf import settings

from memoryhub.errors import Forbidden, Invalid
from memoryhub.models import Actor, Membership, Mount, Space
from memoryhub.stores.disk import closed_at
from memoryhub.stores.known_names import SECRET_FOLDERS, VERSION_CONTROL, is_hidden_memory, plain, words

PROGRAM = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

# Nothing at or below these is anybody's memory.
SYSTEM_FOLDERS = (
    "/proc", "/sys", "/dev", "/etc", "/boot", "/run", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/snap",
    "/lost+found", "/var/log", "/var/run", "/var/spool", "/var/cache", "/var/lib/dpkg", "/var/lib/apt", "/var/lib/docker",
    "/var/lib/containerd", "/var/lib/postgresql", "/var/lib/systemd", "/System", "/Library", "/private/etc", "/private/var/db",
    "/private/var/log", "/private/var/root", "/cores", "/nix", "/gnu",
)  # fmt: skip
BELOW_SYSTEM = ("/run/media", "/usr/local/share", "/usr/share/memories")  # disks of people, and shared files
# These hold what belongs to many: a folder in them may be mounted, not the whole.
WIDE_FOLDERS = words(
    "/ /home /Users /var /var/lib /var/tmp /tmp /opt /srv /mnt /media /Volumes /private /private/var /private/tmp /data /export"
)
# What lies in a home and is keys, or is read when something starts.
OF_HOMES = words("""
    .ansible .bash_completion.d .bashrc.d .bin .cargo .cert .config .docker .emacs.d .fonts .gem .git .gnupg .gradle .ivy2
    .jupyter .kde .keychain .local .m2 .mozilla .npm .nvm .oh-my-zsh .pki .pyenv .rbenv .rustup .ssh .subversion .terraform.d
    .thunderbird .vim .vscode .vscode-server .zsh .zsh.d bin library
""")
# The hub's own folders in its data directory; beside them there may be the demo's project, or a folder of the user's.
HUB_FOLDERS = ("postgres", "processes", "run", "static")


def real_directory(given: str) -> str:
    """The real path that a person means, without links; it may not exist. What cannot be resolved is refused."""
    if not given.strip() or "\x00" in given:
        raise Invalid("Name the directory that holds the files.", code="no_directory", field="directory")
    path = os.path.abspath(os.path.expanduser(given.strip()))
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        raise Invalid(
            f"{_shown(path)} cannot be read. Name another directory.", code="no_directory", field="directory"
        ) from None


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()[:200]


def checked_directory(space: Space, actor: Actor, given: str) -> str:
    """The real path of a directory that this person may mount; refused otherwise.

    Mounts are read and written with the hub's rights. So nobody mounts the hub itself, folders of the system, or a whole home;
    and the owner of a space mounts only below the roots that the hub names, and nothing that another space mounts.
    """
    for path in dict.fromkeys([os.path.abspath(os.path.expanduser(given.strip() or ".")), real_directory(given)]):
        _refuse_for_everybody(path)
    if not is_hub_operator(actor):
        _refuse_for_owners(space, actor, path)
    if not os.path.isdir(path):
        raise Invalid(
            f"There is no directory {_shown(path)}. Make it first, or name another.",
            code="no_directory",
            field="directory",
        )
    if closed := closed_at(path, ""):
        raise Invalid(
            f"The hub may not read {_shown(path)}: it belongs to {closed.owner}, and the hub runs as {closed.user}. "
            f"Let it in by `{closed.command}`, or name another.",
            code="no_directory",
            field="directory",
        )
    return path


def _refuse_for_everybody(path: str) -> None:
    if why := why_nobodys(path):
        raise Invalid(
            f"{_shown(path)} cannot be mounted: {why}. Name a directory of its own.",
            code="no_directory",
            field="directory",
        )


def why_nobodys(path: str) -> str:
    """Why nobody may mount this directory; empty for one that may be."""
    data = os.path.realpath(settings.DATA_DIR)
    if path == data or any(is_inside(path, f"{data}/{folder}") for folder in HUB_FOLDERS):
        return "it is the hub's own data"
    if path in WIDE_FOLDERS:
        return "it holds what belongs to many"
    inside_data = is_inside(path, data)
    if any(is_inside(path, folder) for folder in SYSTEM_FOLDERS) and not any(is_inside(path, f) for f in BELOW_SYSTEM):
        return "" if inside_data else "it belongs to the system"
    if not inside_data and (path == os.path.dirname(PROGRAM) or any(is_inside(path, own) for own in _own_folders())):
        return "it is the hub's own program"
    return _why_home(path) or _why_name(path)


def _own_folders() -> list[str]:
    """Where the program, its pages and its Python are."""
    prefixes = {os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)} - {"/"}
    return [PROGRAM, *hub_pages(), *prefixes]


def homes() -> set[str]:
    """The home directories of the people of this machine, and of whoever runs the hub."""
    people = [user.pw_dir for user in pwd.getpwall() if user.pw_uid == 0 or user.pw_uid >= 500]
    named = {os.path.realpath(home) for home in (*people, os.path.expanduser("~")) if os.path.isabs(home)}
    return {home for home in named if home not in ("/", "/nonexistent", "/dev/null")}


def _why_home(path: str) -> str:
    """A home itself, or a folder in it that holds keys or what is read at a start; memory of agents in one may be mounted."""
    for home in homes():
        if path == home:
            return "it is a whole home directory"
        if not is_inside(path, home):
            continue
        parts = tuple(path[len(home) :].strip("/").split("/"))
        if plain(parts[0]) in OF_HOMES and not is_hidden_memory((*parts, "AGENTS.md")):
            return "it holds keys, or files that are read when something starts"
    return ""


def _why_name(path: str) -> str:
    parts = [plain(part) for part in path.split("/")]
    if not VERSION_CONTROL.isdisjoint(parts):
        return "it is version control data"
    return "it holds keys" if not SECRET_FOLDERS.isdisjoint(parts) else ""


def _refuse_for_owners(space: Space, actor: Actor, path: str) -> None:
    roots = [os.path.realpath(root) for root in allowed_roots(actor)]
    if not roots:
        raise Forbidden(
            "Directories are mounted by who runs the hub, unless the setting MEMORYHUB_MOUNT_ROOTS names where owners of "
            "spaces may. Ask them, or keep the files in the hub.", field="directory",
        )  # fmt: skip
    if not any(is_inside(path, root) for root in roots):
        raise Forbidden(
            f"This hub lets owners mount directories below {', '.join(settings.MOUNT_ROOTS)} alone. Name one of those, "
            "or ask who runs the hub.", field="directory",
        )  # fmt: skip
    own_spaces = Membership.objects.filter(person=actor.person, role="owner").values("space_id")
    others = Mount.objects.exclude(space=space).exclude(space_id__in=own_spaces).exclude(directory="")
    forbidden = [os.path.realpath(settings.DATA_DIR), *others.values_list("directory", flat=True)]
    if any(is_inside(path, folder) or is_inside(folder, path) for folder in forbidden):
        raise Forbidden(
            "Only the owner of the hub mounts this directory: it is not this space's alone.", field="directory"
        )


def is_hub_operator(actor: Actor) -> bool:
    """Whether this actor runs the hub, and so has its disk anyway."""
    return actor.kind == "hub" or bool(actor.person and actor.person.is_hub_owner)


def may_mount_directories(actor: Actor) -> bool:
    """Whether this person can mount any directory at all."""
    return is_hub_operator(actor) or bool(settings.MOUNT_ROOTS)


def allowed_roots(actor: Actor) -> list[str]:
    """The directories below which this person's mounts have to lie; for who runs the hub none are named, and any will do."""
    return [] if is_hub_operator(actor) else settings.MOUNT_ROOTS


def is_inside(path: str, folder: str) -> bool:
    """Whether a real path is this folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# ---- the directories of the hub itself


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
