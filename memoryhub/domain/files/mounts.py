"""Mounts: which store answers a virtual path, and what happens to an agent's write there."""

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
from memoryhub.errors import Conflict, Forbidden, HubError, Invalid, NotFound
from memoryhub.models import Actor, Agent, File, Membership, Mount, Policy, PolicyRule, Space
from memoryhub.stores import Store, open_store, paths
from memoryhub.text.path_patterns import matches


@dataclass(frozen=True)
class Place:
    """Where a virtual path leads: its mount and store, the path inside the store, the policy and the rule that set it."""

    mount: Mount
    store: Store
    relative: str
    policy: str = Policy.REVIEW
    rule: PolicyRule | None = None

    @property
    def real_path(self) -> str:
        """The place on disk, for people; empty if there is none."""
        if not self.store.on_disk:
            return ""
        return os.path.join(self.mount.directory, self.relative.lstrip("/"))


def mounts_of_space(space: Space) -> list[Mount]:
    return list(Mount.objects.within(space))


def find_mount(mounts: Iterable[Mount], path: str) -> Mount | None:
    """The mount with the longest prefix, whole segments only."""
    fitting = [mount for mount in mounts if paths.under(mount.prefix, path)]
    return max(fitting, key=lambda mount: len(mount.prefix), default=None)


# Of a mount only what leads to a text.
MOUNT_COLUMNS = ("prefix", "store", "directory", "policy")


@lru_cache(maxsize=256)
def cached_mount(space_id: int, prefix: str, store: str, directory: str, policy: str) -> Mount:
    """A mount that says this; nobody changes it, so it serves all who find the same."""
    return Mount(space_id=space_id, prefix=prefix, store=store, directory=directory, policy=policy)


def place_in_mount(mount: Mount, path: str) -> Place:
    return Place(
        mount, open_store(mount.store, mount.directory, mount.prefix), paths.strip(mount.prefix, path), mount.policy
    )


def resolve_path(space: Space, path: str, *, agent: Agent | None = None) -> Place:
    """The place of a virtual path, with the policy that holds there; refused with the prefixes there are."""
    path = paths.clean(path)
    mounts, has_rules = _mounts_and_rules(space)
    mount = find_mount(mounts, path)
    if mount is None:
        raise no_mount_error(path, mounts)
    policy, rule = _policy_and_rule(space, mount, path, agent) if has_rules else (mount.policy, None)
    place = place_in_mount(mount, path)
    return Place(mount, place.store, place.relative, policy, rule)


MOUNTS_AND_RULES = """
SELECT id, prefix, store, directory, policy, problem, created_at,
  EXISTS (SELECT 1 FROM memoryhub_policyrule r WHERE r.space_id = %(space)s AND r.is_on)
FROM memoryhub_mount WHERE space_id = %(space)s ORDER BY prefix
"""
READ_COLUMNS = ("id", "prefix", "store", "directory", "policy", "problem", "created_at")


def _mounts_and_rules(space: Space) -> tuple[list[Mount], bool]:
    """The mounts of a space, and whether there are exceptions to look at."""
    rows = statements.rows(MOUNTS_AND_RULES, {"space": space.pk})
    mounts = [Mount(space_id=space.pk, **dict(zip(READ_COLUMNS, row[:-1], strict=True))) for row in rows]
    return mounts, bool(rows) and rows[0][-1]


def no_mount_error(path: str, mounts: Iterable[Mount]) -> HubError:
    prefixes = [mount.prefix for mount in mounts]
    if path.startswith("~"):
        return paths.refused(path, "begins with “~”, and no mount of this space has that prefix")
    where = f"Write below {', '.join(prefixes)}." if prefixes else "This space has no mounts yet."
    return Invalid(f"Nothing is mounted at “{path}”. {where}", code="no_mount", path=path, prefixes=prefixes)


def policy_for(space: Space, path: str, agent: Agent | None = None) -> tuple[str, PolicyRule | None]:
    """What happens to a write by this agent at this path, and the exception that says so, if one does."""
    place = resolve_path(space, path, agent=agent)
    return place.policy, place.rule


def _policy_and_rule(space: Space, mount: Mount, path: str, agent: Agent | None) -> tuple[str, PolicyRule | None]:
    for rule in PolicyRule.objects.within(space).filter(is_on=True):
        if rule_applies(rule, path, agent):
            return rule.policy, rule
    return mount.policy, None


def rule_applies(rule: PolicyRule, path: str, agent: Agent | None) -> bool:
    return (rule.agent_id is None or (agent is not None and rule.agent_id == agent.pk)) and matches(rule.pattern, path)


def get_mount(space: Space, pk: int) -> Mount:
    mount = Mount.objects.within(space).filter(pk=pk).first()
    if mount is None:
        raise NotFound("There is no such mount in this space.")
    return mount


# ---- changing


def clean_prefix(prefix: str) -> str:
    prefix = prefix.strip()
    return paths.clean(prefix if prefix.startswith(("/", *paths.HEADS)) else "/" + prefix, directory=True)


def clean_directory(directory: str) -> str:
    """A real directory, by its true place, so that a later change of the working directory changes nothing."""
    if not directory.strip() or "\x00" in directory:
        raise Invalid("Name the directory that holds the files.", code="no_directory", field="directory")
    path = os.path.realpath(os.path.expanduser(directory.strip()))
    if not os.path.isdir(path):
        raise Invalid(f"There is no directory {path}. Make it first, or name another.", code="no_directory")
    if path == "/":
        raise Invalid("The whole disk cannot be mounted. Name a directory of its own.", code="no_directory")
    return path


SYSTEM_FOLDERS = (
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/boot",
    "/run",
)  # what machines say of themselves is nobody's memory


# What the hub itself keeps in its data directory; beside it there may be the demo's project, or a folder of the user's.
HUB_FOLDERS = ("postgres", "processes", "run", "static")


def is_hub_operator(actor: Actor) -> bool:
    """Who runs the hub has its disk anyway."""
    return actor.kind == "hub" or bool(actor.person and actor.person.is_hub_owner)


def allowed_roots(actor: Actor) -> list[str]:
    """The directories below which this person's mounts have to lie; nothing if that is not said."""
    return [] if is_hub_operator(actor) else settings.MOUNT_ROOTS


def require_allowed_directory(space: Space, actor: Actor, path: str) -> None:
    """A directory is read and written with the hub's own rights, so a space's owner may not reach past the space with
    it: not to the keys of the hub, not to what another space mounts, nor out of the roots that the hub allows."""
    data = os.path.realpath(settings.DATA_DIR)
    if path == data or any(is_inside(path, f"{data}/{own}") for own in HUB_FOLDERS):
        raise Invalid("The hub's own data cannot be mounted. Name another directory.", code="no_directory")
    if is_hub_operator(actor):
        return
    roots = [os.path.realpath(root) for root in allowed_roots(actor)]
    if roots and not any(is_inside(path, root) for root in roots):
        raise Forbidden(
            f"This hub lets owners mount directories below {', '.join(settings.MOUNT_ROOTS)} alone. Name one of those, "
            "or ask who runs the hub."
        )
    theirs = Membership.objects.filter(person=actor.person, role="owner").values("space_id")
    others = Mount.objects.exclude(space=space).exclude(space_id__in=theirs).exclude(directory="")
    walled = [data, *SYSTEM_FOLDERS, *others.values_list("directory", flat=True)]
    if any(is_inside(path, one) or is_inside(one, path) for one in walled):
        raise Forbidden("Only the owner of the hub mounts this directory: it is not this space's alone.")


def is_inside(path: str, folder: str) -> bool:
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
    """Puts a store at a prefix of virtual paths."""
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
    """Gives a mount another policy, store or directory; its files come along."""
    require(actor, "manage")
    mount = Mount.objects.select_for_update().get(pk=mount.pk, space_id=space.pk)
    was = (mount.store, mount.policy, mount.directory)
    now = _checked_choices(
        store or mount.store,
        policy or mount.policy,
        mount.directory if directory is None else directory,
    )
    if now == was:
        return mount
    if now[2] and now[2] != was[2]:
        require_allowed_directory(space, actor, now[2])
    mount.store, mount.policy, mount.directory = now
    mount.problem = ""
    mount.save()
    if (was[0], was[2]) != (now[0], now[2]):
        reset_written(space, mount, was_on_disk=was[0] == Mount.Store.FILESYSTEM)
    spaces.mark_setup(space)
    labels = zip((now[0], f"policy {now[1]}", now[2]), (was[0], f"policy {was[1]}", was[2]), strict=True)
    adds = ", ".join(new for new, old in labels if new and new != old)
    activity.record(space, actor, "mounts.change", "changed the mount", mount.prefix, url="mounts/", adds=adds)
    return mount


@transaction.atomic
def remove_mount(space: Space, actor: Actor, mount: Mount) -> None:
    """Takes a mount away. Nothing is deleted: what lies on disk stays there, revisions stay in the hub."""
    require(actor, "manage")
    prefix = mount.prefix
    mount.delete()
    spaces.mark_setup(space)
    activity.record(space, actor, "mounts.remove", "took away the mount", prefix, url="mounts/")


def reset_written(space: Space, mount: Mount, *, was_on_disk: bool = False) -> None:
    """Files that the hub knows below this prefix meet another place. From directory to directory, what lies there
    counts; coming from the hub, they are written there unless something lies there already."""
    files = File.objects.within(space).filter(path__startswith=mount.prefix)
    if mount.store != Mount.Store.FILESYSTEM:
        files.update(written_revision=F("revision"), stat=None, problem="")
    elif was_on_disk:
        files.update(stat=None, problem="")
    else:
        files.update(written_revision=None, written_sha256="", stat=None, problem="")


# ---- exceptions by path pattern


@transaction.atomic
def add_rule(
    space: Space, actor: Actor, pattern: str, policy: str, *, agent: Agent | None = None, max_added: int | None = None,
    unless_findings: bool = False, reviewers: int = 1,
) -> PolicyRule:  # fmt: skip
    """An exception: writes to paths of this pattern, by this agent or by any, get another policy."""
    require(actor, "manage")
    pattern = pattern.strip()
    if not pattern or len(pattern) > 1024 or "\x00" in pattern:
        raise Invalid("Write a pattern such as /memories/drafts/** or *.log.md.", field="pattern")
    if policy not in Policy.values:
        raise Invalid(f"A policy is one of: {', '.join(Policy.values)}.", field="policy")
    last = PolicyRule.objects.within(space).order_by("-position").values_list("position", flat=True).first()
    rule = PolicyRule.objects.create(
        space=space, position=(last or 0) + 1, pattern=pattern, agent=agent, policy=policy, max_added=max_added,
        unless_findings=unless_findings, reviewers=reviewers,
    )  # fmt: skip
    who = f"for {agent.slug}" if agent else "for every agent"
    activity.record(space, actor, "policies.add", "made an exception for", pattern, url="mounts/", adds=f"{policy} {who}")  # fmt: skip
    return rule


@transaction.atomic
def remove_rule(space: Space, actor: Actor, pk: int) -> None:
    """Takes an exception away: the mount's own policy counts again."""
    require(actor, "manage")
    rule = PolicyRule.objects.within(space).filter(pk=pk).first()
    if rule is None:
        raise NotFound("There is no such exception in this space.")
    activity.record(space, actor, "policies.remove", "took away the exception for", rule.pattern, url="mounts/")
    rule.delete()


# ---- explaining


@dataclass(frozen=True)
class Explanation:
    """Why a path gets what it gets: every mount and exception that was looked at, and the answer."""

    path: str
    place: Place | None
    looked_at: list[tuple[Mount, str]]
    rules: list[tuple[PolicyRule, bool]]
    problem: str = ""


def explain_path(space: Space, path: str, *, agent: Agent | None = None) -> Explanation:
    """Tells which mount, store, real place and policy a virtual path gets, and why."""
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
