"""Adding, changing and removing mounts."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from memoryhub.domain import activity, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.files.mounts.directories import checked_directory, real_directory
from memoryhub.domain.files.mounts.ownership import first_node
from memoryhub.errors import Conflict, Invalid
from memoryhub.models import Actor, File, Mount, Policy, Space
from memoryhub.stores import paths
from memoryhub.stores.selection import ALL, checked_patterns
from memoryhub.stores.survey import kind_of


def clean_prefix(prefix: str) -> str:
    prefix = prefix.strip()
    return paths.clean(prefix if prefix.startswith(("/", *paths.HEADS)) else "/" + prefix, directory=True)


def _checked_choices(store: str, policy: str) -> tuple[str, str]:
    if store not in Mount.Store.values:
        raise Invalid(f"A store is one of: {', '.join(Mount.Store.values)}.", field="store")
    if policy not in Policy.values:
        raise Invalid(f"A policy is one of: {', '.join(Policy.values)}.", field="policy")
    return store, policy


Patterns = str | list[str]  # one a line, or one each


@transaction.atomic
def add_mount(
    space: Space, actor: Actor, prefix: str, *, store: str = "database", directory: str = "", policy: str = "review",
    takes: str = "", include: Patterns = "", exclude: Patterns = "", ends_with_run: bool = False,
) -> Mount:  # fmt: skip
    """Adds a mount: a store for the virtual paths with this prefix.

    Of a directory it takes in what `takes` says (all files, or memory and documents; by default what suits the directory) and
    what patterns include, without what they exclude. Of files per thread, `ends_with_run` deletes them when the hub starts again.
    """
    require(actor, "manage")
    prefix = clean_prefix(prefix)
    store, policy = _checked_choices(store, policy)
    directory = checked_directory(space, actor, directory) if store == Mount.Store.FILESYSTEM else ""
    chosen: dict[str, Any] = _checked_selection(directory, takes, include, exclude)
    policy = Policy.READ_ONLY if store == Mount.Store.VIEWS else policy
    chosen["ends_with_run"] = _checked_end(store, ends_with_run)
    try:
        with transaction.atomic():
            mount = Mount.objects.create(
                space=space,
                prefix=prefix,
                store=store,
                directory=directory,
                policy=policy,
                node=first_node() if directory else "",
                **chosen,
            )
    except IntegrityError:
        raise Conflict(f"There is a mount at {prefix} already. Change that one.", field="prefix") from None
    reset_written(space, mount)
    _note_views(space)
    spaces.mark_setup(space)
    spaces.send_event("mounts_changed")
    where = directory or {"thread": "per thread", "views": "of memory"}.get(store, "in the hub")
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
    takes: str | None = None,
    include: Patterns | None = None,
    exclude: Patterns | None = None,
    ends_with_run: bool | None = None,
) -> Mount:
    """Changes the policy, store, directory, selection or end of a mount; what is None stays. Files move into the new store."""
    require(actor, "manage")
    mount = Mount.objects.select_for_update().get(pk=mount.pk, space_id=space.pk)
    before = (mount.store, mount.policy, mount.directory)
    new_store, new_policy = _store_and_policy_after(mount, store, policy)
    kept = directory is None or (directory.strip() != "" and real_directory(directory) == mount.directory)
    after = (new_store, new_policy, _directory_after(space, actor, mount, new_store, None if kept else directory))
    chosen = _selection_after(mount, after[2], takes, include, exclude)
    ends = _end_after(mount, new_store, ends_with_run)
    selected = {name: value for name, value in chosen.items() if value != getattr(mount, name)}
    if after == before and not selected and ends == mount.ends_with_run:
        return mount
    labels = zip(_labels(after), _labels(before), strict=True)
    adds = [_END[ends]] if ends != mount.ends_with_run else []
    adds += [new for new, old in labels if new and new != old] + [_says(*one) for one in selected.items()]
    _assign_values(mount, after, selected, ends)
    _save_change(space, mount, before, bool(selected))
    activity.record(
        space, actor, "mounts.change", "changed the mount", mount.prefix, url="mounts/", adds=", ".join(adds)
    )
    return mount


def _assign_values(mount: Mount, after: tuple[str, str, str], selected: dict[str, Any], ends: bool) -> None:
    """Gives a mount its store, policy and directory, its selection and end; what was found out before is forgotten."""
    if after[2] != mount.directory:  # this node has just seen that it is there
        mount.node, mount.next_node = first_node() if after[2] else "", ""
    mount.store, mount.policy, mount.directory = after
    for name, value in selected.items():
        setattr(mount, name, value)
    mount.problem, mount.is_full, mount.ends_with_run = "", False, ends


def _save_change(space: Space, mount: Mount, before: tuple[str, str, str], selects_otherwise: bool) -> None:
    """Saves a mount, and what follows where it takes in other files than before, or those of another place."""
    is_elsewhere = (before[0], before[2]) != (mount.store, mount.directory)
    if selects_otherwise or is_elsewhere:
        mount.taken_in_at = None  # what lies there is no change
    mount.save()
    if is_elsewhere:
        reset_written(space, mount, was_on_disk=before[0] == Mount.Store.FILESYSTEM)
    spaces.mark_setup(space)
    spaces.send_event("mounts_changed")
    if selects_otherwise:
        spaces.send_event("mount_changed", mount)


def _store_and_policy_after(mount: Mount, store: str | None, policy: str | None) -> tuple[str, str]:
    """Store and policy after a change. What shows memory stays what it is, and is read alone."""
    new_store, new_policy = _checked_choices(store or mount.store, policy or mount.policy)
    if (new_store == Mount.Store.VIEWS) != (mount.store == Mount.Store.VIEWS):
        raise Invalid("What shows memory has no files to move: remove the mount and add another.", field="store")
    return new_store, Policy.READ_ONLY if new_store == Mount.Store.VIEWS else new_policy


def _end_after(mount: Mount, store: str, ends_with_run: bool | None) -> bool:
    if ends_with_run is None:
        return mount.ends_with_run and store == Mount.Store.THREAD
    return _checked_end(store, ends_with_run)


def take_in_name(space: Space, actor: Actor, mount: Mount, name: str) -> Mount:
    """Includes what is left out under a name. A folder made for memory, which takes in all else, goes on doing so."""
    patterns = mount.include.splitlines() or (["**"] if mount.takes == ALL else [])
    return change_mount(space, actor, mount, include=[*patterns, name])


def stop_excluding(space: Space, actor: Actor, mount: Mount, pattern: str) -> Mount:
    """Removes an exclude pattern of a mount."""
    return change_mount(space, actor, mount, exclude=[one for one in mount.exclude.splitlines() if one != pattern])


def _directory_after(space: Space, actor: Actor, mount: Mount, store: str, directory: str | None) -> str:
    """The directory after a change: the one that is there, or another that this person may mount."""
    if store != Mount.Store.FILESYSTEM:
        return ""
    if directory is None and mount.store == Mount.Store.FILESYSTEM:
        return mount.directory
    return checked_directory(space, actor, directory or "")


def _patterns(field: str, given: Patterns) -> str:
    try:
        return checked_patterns(given)
    except Invalid as refusal:
        raise Invalid(refusal.message, code=refusal.code, field=field) from None


def _checked_selection(directory: str, takes: str, include: Patterns, exclude: Patterns) -> dict[str, str]:
    """The columns for what a mount takes in; patterns are for directories alone."""
    chosen = {"include": _patterns("include", include), "exclude": _patterns("exclude", exclude)}
    if takes and takes not in Mount.Takes.values:
        raise Invalid(f"What a mount takes in is one of: {', '.join(Mount.Takes.values)}.", field="takes")
    if not directory and any(chosen.values()):
        raise Invalid("Only a mount of a directory has patterns.", code="no_directory", field="include")
    return {"takes": takes or (kind_of(directory) if directory else ALL), **chosen}


def _selection_after(
    mount: Mount, directory: str, takes: str | None, include: Patterns | None, exclude: Patterns | None
) -> dict[str, str]:
    """The columns after a change. Another directory is looked at anew, unless the change says what to take in."""
    if not directory:
        return {}
    kept = mount.takes if directory == mount.directory else ""
    return _checked_selection(
        directory, kept if takes is None else takes, mount.include if include is None else include,
        mount.exclude if exclude is None else exclude,
    )  # fmt: skip


_END = {True: "files end with the hub's run", False: "files end after a day without use"}


def _checked_end(store: str, ends_with_run: bool) -> bool:
    if ends_with_run and store != Mount.Store.THREAD:
        raise Invalid("Only files per thread end with the hub's run.", field="ends_with_run")
    return ends_with_run


def _says(name: str, value: str) -> str:
    """A change of the selection as the activity says it."""
    if name == "takes":
        return f"takes in {Mount.Takes(value).label.lower()}"
    return f"{name}s {', '.join(value.splitlines()[:5])}" if value else f"{name}s nothing"


def _labels(choices: tuple[str, str, str]) -> tuple[str, str, str]:
    store, policy, directory = choices
    return store, f"policy {policy}", directory


@transaction.atomic
def remove_mount(space: Space, actor: Actor, mount: Mount) -> None:
    """Removes a mount. No text is deleted: files on disk stay there, revisions stay in the hub."""
    require(actor, "manage")
    prefix = mount.prefix
    mount.delete()
    _note_views(space)
    spaces.mark_setup(space)
    spaces.send_event("mounts_changed")
    activity.record(space, actor, "mounts.remove", "removed the mount", prefix, url="mounts/")


def _note_views(space: Space) -> None:
    """Notes on the space whether it has a mount that shows memory: prompts of others need not look."""
    has_views = Mount.objects.within(space).filter(store=Mount.Store.VIEWS).exists()
    Space.objects.filter(pk=space.pk).exclude(has_views=has_views).update(has_views=has_views)


def reset_written(space: Space, mount: Mount, *, was_on_disk: bool = False) -> None:
    """Reset what the hub knows about the disk of a mount's files, after the mount got another store or directory.

    From one directory to another, the files of the new one count. From the hub to a directory, the hub's files are written
    unless the directory has a file at that path already.
    """
    files = File.objects.within(space).filter(path__startswith=mount.prefix)
    files.update(disk_secrets=[], held="", held_proposal=None, put_backs=0, put_back_at=None, applies_since=None)
    if mount.store != Mount.Store.FILESYSTEM:
        files.update(written_revision=F("revision"), stat=None, problem="")
    elif was_on_disk:
        files.update(written_revision=None, stat=None, problem="")
    else:
        files.update(written_revision=None, written_sha256="", stat=None, problem="")
