"""What people do about changes on disk: say what a mount does with them, say that one was seen, take one back, put the
approved text on disk."""

from __future__ import annotations

import os
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery

from memoryhub.db.prepared import prepared
from memoryhub.domain import activity, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.files import revisions
from memoryhub.domain.files.disk import arrivals, marks, sync
from memoryhub.domain.files.disk.put_backs import LOCKS, note_put_back
from memoryhub.domain.files.disk.watch import scan, sync_path
from memoryhub.domain.files.edit import delete, restore
from memoryhub.domain.files.mounts import find_mount, mounts_of_space, place_in_mount
from memoryhub.domain.files.mounts.resolve import Place
from memoryhub.errors import Conflict, Invalid, NotFound, Stale
from memoryhub.models import Actor, File, Mount, OnDisk, Revision, Space

WORDS = {
    (OnDisk.APPLY, False): "changes on disk count at once",
    (OnDisk.HOLD, False): "changes on disk wait for a person",
    (OnDisk.HOLD, True): "changes on disk wait for a person, and are put back",
}


@transaction.atomic
def change_on_disk(space: Space, actor: Actor, mount: Mount, on_disk: str, *, put_back: bool = False) -> Mount:
    """Choose what a change on disk does. What was found there before stays as it was decided, or waits on."""
    require(actor, "manage")
    if on_disk not in OnDisk.values:
        raise Invalid(f"A change on disk does one of: {', '.join(OnDisk.values)}.", field="on_disk")
    mount = Mount.objects.select_for_update().get(pk=mount.pk, space_id=space.pk)
    if put_back and on_disk != OnDisk.HOLD:
        raise Invalid("Only what is held is put back: choose hold as well.", field="put_back")
    if on_disk == OnDisk.HOLD and mount.store != Mount.Store.FILESYSTEM:
        raise Invalid("Only a directory has changes on disk that could wait.", field="on_disk")
    after = (OnDisk(on_disk), put_back and on_disk == OnDisk.HOLD)
    if (mount.on_disk, mount.put_back) != after:
        mount.on_disk, mount.put_back = after
        mount.save(update_fields=["on_disk", "put_back"])
        is_elsewhere = mount.put_back and not LOCKS.is_free(os.path.realpath(mount.directory))
        note_put_back(mount, is_elsewhere=is_elsewhere)
        fought = File.objects.within(space).filter(path__startswith=mount.prefix, applies_since__isnull=False)
        fought.update(applies_since=None, put_backs=0, put_back_at=None)
        spaces.mark_setup(space)
        spaces.send_event("mounts_changed")
        activity.record(
            space, actor, "mounts.change", "changed the mount", mount.prefix, url="mounts/", adds=WORDS[after]
        )
    return mount


def take_in_mount(space: Space, mount: Mount) -> int:
    """Take in what lies in the directory now, so that whatever differs later is a change."""
    return scan(space, mount)


# ---- changes that count and that nobody looked at


def _unreviewed(space: Any) -> QuerySet[File]:
    found = File.objects.within(space).filter(unreviewed_from__isnull=False, thread_id="")
    revisions = Revision.objects.within(space)
    first = revisions.filter(file=OuterRef("pk"), number=OuterRef("unreviewed_from") + 1).values("created_at")
    return found.annotate(counts_since=Subquery(first[:1])).order_by("-modified_at")[:200]


UNREVIEWED = prepared(_unreviewed)


def unreviewed(space: Space, limit: int = 200) -> list[File]:
    """The files with changes on disk that count and that nobody looked at, newest first; `counts_since` is when the first of
    them began to count."""
    return UNREVIEWED(space.pk)[:limit]


@transaction.atomic
def mark_seen(space: Space, actor: Actor, path: str, revision: int) -> File:
    """Say that the file was looked at, as it was at this revision."""
    require(actor, "decide")
    file = _unreviewed_file(space, path, revision)
    file.unreviewed_from = None
    file.save(update_fields=["unreviewed_from"])
    spaces.mark_setup(space)
    url = f"files/{path.lstrip('/')}?view=diff&to={revision}"
    activity.record(
        space, actor, "files.see", "looked at the change on disk of", path, url=url, aside=f"r{revision}", path=path
    )
    return file


def _unreviewed_file(space: Space, path: str, revision: int) -> File:
    file = File.objects.within(space).select_for_update().filter(path=path, thread_id="").first()
    if file is None or file.unreviewed_from is None:
        raise Conflict(f"“{path}” has no change on disk that waits to be looked at.", code="nothing_to_see", path=path)
    if file.revision != revision:
        raise Stale(f"“{path}” changed again since you looked (revision {file.revision}). Look at it once more.")
    return file


@transaction.atomic
def take_back(space: Space, actor: Actor, path: str, revision: int) -> File:
    """Make the text before the change on disk the newest again, on disk as well; a file that is new there is deleted."""
    require(actor, "decide")
    file = _unreviewed_file(space, path, revision)
    if file.author_kind != "disk":
        raise Conflict(
            f"“{path}” was changed by {file.author_name} since: edit the file instead.", code="built_upon", path=path
        )
    before = revisions.get_revision(file, file.unreviewed_from) if file.unreviewed_from else None
    reason = f"Took back the change on disk (revision {file.unreviewed_from + 1 if before else 1})"
    if before is not None and not before.is_deleted:
        restore(space, actor, path, before.number, reason=reason)
    elif arrivals.exists(file):
        delete(space, actor, path, reason=reason)
    File.objects.filter(pk=file.pk).update(unreviewed_from=None, applies_since=None, put_backs=0, put_back_at=None)
    return file


@transaction.atomic
def hold_again(space: Space, actor: Actor, path: str) -> File:
    """Hold changes on disk of a file again, after the hub stopped because a program changed it each time it was put back."""
    require(actor, "decide")
    file = File.objects.within(space).select_for_update().filter(path=path, thread_id="").first()
    if file is None or file.applies_since is None:
        raise Conflict(
            f"Changes of “{path}” on disk are handled as its mount says already.", code="not_fought", path=path
        )
    file.applies_since, file.put_backs, file.put_back_at = None, 0, None
    file.save(update_fields=["applies_since", "put_backs", "put_back_at"])
    activity.record(
        space, actor, "files.hold_again", "holds changes on disk again of", path, url=f"files{path}", path=path
    )
    return file


# ---- what is held


def held_file(space: Space, path: str) -> File | None:
    """The file at this path if what lies on disk waits for a person, or was rejected; also one that is only there."""
    return File.objects.within(space).filter(path=path, thread_id="").exclude(held="").first()


def look_again(space: Space, path: str) -> list[int]:
    """Look at a file on disk again, and answer the lines in which a secret still stands there."""
    sync_path(space, path)
    secrets = File.objects.within(space).filter(path=path, thread_id="").values_list("disk_secrets", flat=True).first()
    return sorted({one["line"] for one in secrets or []})


def keep_approved(space: Space, path: str) -> None:
    """A person rejected what lies on disk: where the mount puts back, the approved text is written there, if nothing would be
    lost; else the disk stays as it is. In the transaction of the decision."""
    file = File.objects.within(space).select_for_update().filter(path=path, thread_id="").first()
    mount = find_mount(mounts_of_space(space), path)
    if file is None or mount is None:
        return
    arrivals.forget_put_backs(file)
    if file.held and not file.disk_secrets and arrivals.handling_of(space, mount, file).puts_back:
        _write_later(space, file, place_in_mount(mount, path))


@transaction.atomic
def put_back(space: Space, actor: Actor, path: str) -> File:
    """Write the approved text over what lies on disk, which its proposal keeps."""
    require(actor, "decide")
    file = File.objects.within(space).select_for_update().filter(path=path, thread_id="").exclude(held="").first()
    mount = find_mount(mounts_of_space(space), path)
    if file is None or mount is None:
        raise NotFound(f"“{path}” on disk is as the hub has it.", code="nothing_held")
    if file.disk_secrets:
        raise marks.would_be_lost(path, file.disk_secrets)
    _write_later(space, file, place_in_mount(mount, path))
    activity.record(
        space, actor, "files.put_back", "put the approved text back on disk for", path, url=f"files{path}", path=path
    )
    return file


def _write_later(space: Space, file: File, place: Place) -> None:
    file.written_revision = None
    file.save(update_fields=["written_revision"])
    transaction.on_commit(lambda: _write(space, file.path, place))


def _write(space: Space, path: str, place: Place) -> None:
    sync.sync_file(space, path, place)
