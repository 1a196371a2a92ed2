"""Mounts: which store a virtual path belongs to, whether its directory takes the path in, and which policy agents' writes get there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings

from memoryhub.db import statements
from memoryhub.domain import nodes
from memoryhub.domain.files.mounts.directories import own_folders
from memoryhub.domain.files.mounts.ownership import is_mine
from memoryhub.domain.files.mounts.rules import rule_applies
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.models import Agent, File, Mount, Policy, PolicyRule, Space
from memoryhub.stores import DatabaseStore, ElsewhereStore, FilesystemStore, Store, ThreadStore, ViewStore, paths
from memoryhub.stores.disk import Stat
from memoryhub.stores.selection import FULL, LeftOut, why_entry_out
from memoryhub.stores.survey import Intake, Survey, intake, survey


@dataclass(frozen=True)
class Place:
    """What a virtual path resolves to: mount, store, the path inside the store, the policy and the rule that set it."""

    mount: Mount
    store: Store
    relative: str
    policy: str = Policy.REVIEW
    rule: PolicyRule | None = None

    @property
    def intake(self) -> Intake | None:
        """What the directory of its mount takes in; None where files lie in the hub."""
        return intake_of(self.mount)

    def why_out(self, stat: Stat | None = None) -> LeftOut | None:
        """Why its mount leaves the path out, or None: by its name, `.gitignore` files and, where it is given, what lies there."""
        taking = self.intake
        return taking.why_out(self.relative, stat) if taking else None

    def why_closed(self) -> LeftOut | None:
        """Why nothing can be written there: the path is left out, or something lies there that is."""
        if why := self.why_out():
            return why
        if not isinstance(self.store, FilesystemStore):
            return None
        why = None
        with contextlib.suppress(HubError):  # links and the like are refused with their own words
            stat = self.store.stat(self.relative)
            why = FULL if stat is None and self.mount.is_full else why_entry_out(self.relative, stat)
        return why if why and not self.is_known() else None

    def is_known(self) -> bool:
        """Whether the hub has a file there: one that grew too large shows that as its problem."""
        path = self.mount.prefix + self.relative.lstrip("/")
        return File.objects.within(self.mount.space_id).filter(path=path, is_deleted=False, revision__gt=0).exists()

    @property
    def real_path(self) -> str:
        """The path on disk, for people; empty if there is none."""
        if not self.store.on_disk:
            return ""
        return os.path.join(self.mount.directory, self.relative.lstrip("/"))


def mounts_of_space(space: Space) -> list[Mount]:
    """All mounts of a space."""
    return _mounts_and_rules(space)[0]


def find_mount(mounts: Iterable[Mount], path: str) -> Mount | None:
    """The mount of a path: the one with the longest prefix of whole names; None if there is none."""
    matching = [mount for mount in mounts if paths.under(mount.prefix, path)]
    return max(matching, key=lambda mount: len(mount.prefix), default=None)


# The columns of a mount that `cached_mount` needs.
MOUNT_COLUMNS = ("prefix", "store", "directory", "policy", "takes", "include", "exclude", "is_full", "node")


@lru_cache(maxsize=256)
def cached_mount(space_id: int, *columns: Any) -> Mount:
    """A mount with these MOUNT_COLUMNS and no id. It is shared by all who ask with equal values, so nobody may change it."""
    return Mount(space_id=space_id, **dict(zip(MOUNT_COLUMNS, columns, strict=True)))


def place_in_mount(mount: Mount, path: str) -> Place:
    """The place of a path that belongs to this mount, with the mount's own policy."""
    return Place(mount, open_store(mount), paths.strip(mount.prefix, path), mount.policy)


def open_store(mount: Mount) -> Store:
    """The store of a mount by its kind. Of a directory of another node there is nothing to open."""
    match mount.store:
        case Mount.Store.FILESYSTEM:
            return FilesystemStore(mount.directory, mount.prefix) if is_mine(mount) else ElsewhereStore()
        case Mount.Store.VIEWS:
            return ViewStore()
        case Mount.Store.THREAD:
            return ThreadStore()
    return DatabaseStore()


def resolve_path(space: Space, path: str, *, agent: Agent | None = None) -> Place:
    """The place of a virtual path, with the policy for this agent (or any). A path without a mount is refused."""
    return resolve_paths(space, [path], agent=agent)[0]


def resolve_paths(space: Space, names: Iterable[str], *, agent: Agent | None = None) -> list[Place]:
    """`resolve_path` for several paths, in their order."""
    mounts, has_rules = _mounts_and_rules(space)
    return [_resolve(space, paths.clean(name), agent, mounts, has_rules) for name in names]


def _resolve(space: Space, path: str, agent: Agent | None, mounts: list[Mount], has_rules: bool) -> Place:
    mount = find_mount(mounts, path)
    if mount is None:
        raise no_mount_error(path, mounts)
    policy, rule = _policy_and_rule(space, mount, path, agent) if has_rules else (mount.policy, None)
    place = place_in_mount(mount, path)
    return Place(mount, place.store, place.relative, policy, rule)


MOUNTS_AND_RULES = """
SELECT id, space_id, prefix, store, directory, policy, takes, include, exclude, is_full, node, problem, created_at,
  EXISTS (SELECT 1 FROM memoryhub_policyrule r WHERE r.space_id = %(space)s AND r.is_on)
FROM memoryhub_mount WHERE space_id = %(space)s ORDER BY prefix
"""
READ_COLUMNS = ("id", "space_id", *MOUNT_COLUMNS, "problem", "created_at")


def _mounts_and_rules(space: Space) -> tuple[list[Mount], bool]:
    """The mounts of a space by their prefixes, and whether it has rules that are on."""
    return statements.read_once(space, "mounts", lambda: _read_mounts(space))


def _read_mounts(space: Space) -> tuple[list[Mount], bool]:
    rows = statements.rows(MOUNTS_AND_RULES, {"space": space.pk}, binary=True)
    mounts = [statements.instance(Mount, zip(READ_COLUMNS, row[:-1], strict=True), space=space) for row in rows]
    return mounts, bool(rows) and rows[0][-1]


def view_at(space: Space, path: str) -> str:
    """The name of the file at this path of a mount that shows memory, such as /working.md; empty elsewhere."""
    if not space.has_views:
        return ""
    mount = find_mount(mounts_of_space(space), path)
    return paths.strip(mount.prefix, path) if mount and mount.store == Mount.Store.VIEWS else ""


def no_mount_error(path: str, mounts: Iterable[Mount]) -> HubError:
    """The error for a path without a mount; it names the prefixes of the mounts there are."""
    prefixes = [mount.prefix for mount in mounts]
    if path.startswith("~"):
        return paths.refused(path, "begins with “~”, and no mount of this space has that prefix")
    where = f"Write below {', '.join(prefixes)}." if prefixes else "This space has no mounts yet."
    return Invalid(f"Nothing is mounted at “{path}”. {where}", code="no_mount", path=path, prefixes=prefixes)


def require_shown(space: Space, path: str) -> None:
    """Refuse a path under no mount, or one that its mount leaves out."""
    if why := why_left_out(space, path):
        raise left_out_error(paths.clean(path), why)


def why_left_out(space: Space, path: str) -> LeftOut | None:
    """Why the mount of a path leaves it out, or None. A path without a mount is refused."""
    return resolve_path(space, path).why_closed()


def _policy_and_rule(space: Space, mount: Mount, path: str, agent: Agent | None) -> tuple[str, PolicyRule | None]:
    for rule in PolicyRule.objects.within(space).filter(is_on=True):
        if rule_applies(rule, path, agent):
            return rule.policy, rule
    return mount.policy, None


def mount_at_prefix(space: Space, prefix: str) -> Mount:
    """One mount of a space by its prefix."""
    prefix = paths.clean(prefix if prefix.startswith(("/", *paths.HEADS)) else "/" + prefix, directory=True)
    mount = Mount.objects.within(space).filter(prefix=prefix).first()
    if mount is None:
        raise NotFound(f"There is no mount at {prefix} in this space.")
    return mount


def get_mount(space: Space, pk: int) -> Mount:
    """One mount of a space by its id."""
    mount = Mount.objects.within(space).filter(pk=pk).first()
    if mount is None:
        raise NotFound("There is no such mount in this space.")
    return mount


# ---- what the directory of a mount takes in

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


def left_out_error(path: str, why: LeftOut) -> Invalid:
    """The refusal to write to a path that its mount leaves out."""
    return Invalid(
        f"“{path}” is left out of its mount ({why.why}). Write elsewhere, or ask an owner of the space to change what the mount "
        "takes in.", code="left_out", path=path, why=why.why,
    )  # fmt: skip
