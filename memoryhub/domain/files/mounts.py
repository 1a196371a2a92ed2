"""Mounts: which store a virtual path belongs to, and which policy agents' writes get there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from memoryhub.db import statements
from memoryhub.domain import activity, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.files.rules import rule_applies
from memoryhub.errors import Conflict, Forbidden, HubError, Invalid, NotFound
from memoryhub.models import Actor, Agent, File, Membership, Mount, Policy, PolicyRule, Space, instance_from_columns
from memoryhub.stores import Store, open_store, paths


@dataclass(frozen=True)
class Place:
    """What a virtual path resolves to: mount, store, the path inside the store, the policy and the rule that set it."""

    mount: Mount
    store: Store
    relative: str
    policy: str = Policy.REVIEW
    rule: PolicyRule | None = None

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
MOUNT_COLUMNS = ("prefix", "store", "directory", "policy")


@lru_cache(maxsize=256)
def cached_mount(space_id: int, prefix: str, store: str, directory: str, policy: str) -> Mount:
    """A mount with these columns and no id. It is shared by all who ask with equal values, so nobody may change it."""
    return Mount(space_id=space_id, prefix=prefix, store=store, directory=directory, policy=policy)


def place_in_mount(mount: Mount, path: str) -> Place:
    """The place of a path that belongs to this mount, with the mount's own policy."""
    return Place(
        mount, open_store(mount.store, mount.directory, mount.prefix), paths.strip(mount.prefix, path), mount.policy
    )


def resolve_path(space: Space, path: str, *, agent: Agent | None = None) -> Place:
    """The place of a virtual path, with the policy for this agent (or any). A path without a mount is refused."""
    path = paths.clean(path)
    mounts, has_rules = _mounts_and_rules(space)
    mount = find_mount(mounts, path)
    if mount is None:
        raise no_mount_error(path, mounts)
    policy, rule = _policy_and_rule(space, mount, path, agent) if has_rules else (mount.policy, None)
    place = place_in_mount(mount, path)
    return Place(mount, place.store, place.relative, policy, rule)


MOUNTS_AND_RULES = """
SELECT id, space_id, prefix, store, directory, policy, problem, created_at,
  EXISTS (SELECT 1 FROM memoryhub_policyrule r WHERE r.space_id = %(space)s AND r.is_on)
FROM memoryhub_mount WHERE space_id = %(space)s ORDER BY prefix
"""
READ_COLUMNS = ("id", "space_id", "prefix", "store", "directory", "policy", "problem", "created_at")


def _mounts_and_rules(space: Space) -> tuple[list[Mount], bool]:
    """The mounts of a space by their prefixes, and whether it has rules that are on."""
    rows = statements.rows(MOUNTS_AND_RULES, {"space": space.pk}, binary=True)
    mounts = [instance_from_columns(Mount, zip(READ_COLUMNS, row[:-1], strict=True), space=space) for row in rows]
    return mounts, bool(rows) and rows[0][-1]


def no_mount_error(path: str, mounts: Iterable[Mount]) -> HubError:
    """The error for a path without a mount; it names the prefixes of the mounts there are."""
    prefixes = [mount.prefix for mount in mounts]
    if path.startswith("~"):
        return paths.refused(path, "begins with “~”, and no mount of this space has that prefix")
    where = f"Write below {', '.join(prefixes)}." if prefixes else "This space has no mounts yet."
    return Invalid(f"Nothing is mounted at “{path}”. {where}", code="no_mount", path=path, prefixes=prefixes)


def policy_for(space: Space, path: str, agent: Agent | None = None) -> tuple[str, PolicyRule | None]:
    """The policy for a write by this agent at this path, and the rule that sets it, if one does."""
    place = resolve_path(space, path, agent=agent)
    return place.policy, place.rule


def _policy_and_rule(space: Space, mount: Mount, path: str, agent: Agent | None) -> tuple[str, PolicyRule | None]:
    for rule in PolicyRule.objects.within(space).filter(is_on=True):
        if rule_applies(rule, path, agent):
            return rule.policy, rule
    return mount.policy, None


def get_mount(space: Space, pk: int) -> Mount:
    """One mount of a space by its id."""
    mount = Mount.objects.within(space).filter(pk=pk).first()
    if mount is None:
        raise NotFound("There is no such mount in this space.")
    return mount


# ---- changing


def clean_prefix(prefix: str) -> str:
    prefix = prefix.strip()
    return paths.clean(prefix if prefix.startswith(("/", *paths.HEADS)) else "/" + prefix, directory=True)


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


def _checked_choices(store: str, policy: str, directory: str) -> tuple[str, str, str]:
    if store not in Mount.Store.values:
        raise Invalid(f"A store is one of: {', '.join(Mount.Store.values)}.", field="store")
    if policy not in Policy.values:
        raise Invalid(f"A policy is one of: {', '.join(Policy.values)}.", field="policy")
    return store, policy, clean_directory(directory) if store == Mount.Store.FILESYSTEM else ""


@transaction.atomic
def add_mount(
    space: Space, actor: Actor, prefix: str, *, store: str = "database", directory: str = "", policy: str = "review"
) -> Mount:
    """Adds a mount: a store for the virtual paths with this prefix."""
    require(actor, "manage")
    prefix = clean_prefix(prefix)
    store, policy, directory = _checked_choices(store, policy, directory)
    if directory:
        require_allowed_directory(space, actor, directory)
    try:
        with transaction.atomic():
            mount = Mount.objects.create(space=space, prefix=prefix, store=store, directory=directory, policy=policy)
    except IntegrityError:
        raise Conflict(f"There is a mount at {prefix} already. Change that one.", field="prefix") from None
    reset_written(space, mount)
    spaces.mark_setup(space)
    where = directory or {"thread": "per thread"}.get(store, "in the hub")
    activity.record(space, actor, "mounts.add", "mounted", prefix, url="mounts/", adds=f"{where}, policy {policy}")
    return mount


@transaction.atomic
def change_mount(
    space: Space,
    actor: Actor,
    mount: Mount,
    *,
    policy: str | None = None,
    store: str | None = None,
    directory: str | None = None,
) -> Mount:
    """Changes the policy, store or directory of a mount; what is None stays. Files move into the new store."""
    require(actor, "manage")
    mount = Mount.objects.select_for_update().get(pk=mount.pk, space_id=space.pk)
    before = (mount.store, mount.policy, mount.directory)
    after = _checked_choices(
        store or mount.store,
        policy or mount.policy,
        mount.directory if directory is None else directory,
    )
    if after == before:
        return mount
    if after[2] and after[2] != before[2]:
        require_allowed_directory(space, actor, after[2])
    mount.store, mount.policy, mount.directory = after
    mount.problem = ""
    mount.save()
    if (before[0], before[2]) != (after[0], after[2]):
        reset_written(space, mount, was_on_disk=before[0] == Mount.Store.FILESYSTEM)
    spaces.mark_setup(space)
    labels = zip(_labels(after), _labels(before), strict=True)
    adds = ", ".join(new for new, old in labels if new and new != old)
    activity.record(space, actor, "mounts.change", "changed the mount", mount.prefix, url="mounts/", adds=adds)
    return mount


def _labels(choices: tuple[str, str, str]) -> tuple[str, str, str]:
    store, policy, directory = choices
    return store, f"policy {policy}", directory


@transaction.atomic
def remove_mount(space: Space, actor: Actor, mount: Mount) -> None:
    """Removes a mount. No text is deleted: files on disk stay there, revisions stay in the hub."""
    require(actor, "manage")
    prefix = mount.prefix
    mount.delete()
    spaces.mark_setup(space)
    activity.record(space, actor, "mounts.remove", "took away the mount", prefix, url="mounts/")


def reset_written(space: Space, mount: Mount, *, was_on_disk: bool = False) -> None:
    """Reset what the hub knows about the disk of a mount's files, after the mount got another store or directory.

    From one directory to another, the files of the new one count. From the hub to a directory, the hub's files are written
    unless the directory has a file at that path already.
    """
    files = File.objects.within(space).filter(path__startswith=mount.prefix)
    if mount.store != Mount.Store.FILESYSTEM:
        files.update(written_revision=F("revision"), stat=None, problem="")
    elif was_on_disk:
        files.update(stat=None, problem="")
    else:
        files.update(written_revision=None, written_sha256="", stat=None, problem="")


# ---- explaining


@dataclass(frozen=True)
class Explanation:
    """How a path is resolved: every mount with its verdict, every rule and whether it applies, the place or the problem."""

    path: str
    place: Place | None
    looked_at: list[tuple[Mount, str]]
    rules: list[tuple[PolicyRule, bool]]
    problem: str = ""


def explain_path(space: Space, path: str, *, agent: Agent | None = None) -> Explanation:
    """Explains which mount, store, real path and policy a virtual path gets, and why."""
    mounts = sorted(mounts_of_space(space), key=lambda mount: -len(mount.prefix))
    try:
        path = paths.clean(path.strip())
        place = resolve_path(space, path, agent=agent)
    except HubError as error:
        return Explanation(path, None, [(m, _mount_verdict(m, path, None)) for m in mounts], [], error.message)
    rules = [(rule, rule_applies(rule, path, agent)) for rule in PolicyRule.objects.within(space).filter(is_on=True)]
    return Explanation(path, place, [(m, _mount_verdict(m, path, place.mount)) for m in mounts], rules)


def _mount_verdict(mount: Mount, path: str, chosen: Mount | None) -> str:
    if mount == chosen:
        return "answers: the longest prefix that fits"
    if paths.under(mount.prefix, path):
        return "fits too, but is shorter"
    if path.startswith(mount.prefix.rstrip("/")):
        return "begins alike, but only whole names count"
    return "does not fit"
