"""“It is no secret”: what a person says of a value that looks like one, and takes back. The value itself is kept nowhere."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from memoryhub.domain import activity, jobs, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.files import revisions
from memoryhub.domain.files.disk import conflicts, marks, sync
from memoryhub.domain.files.mounts import Place, find_mount, is_mine, mounts_of_space, place_in_mount
from memoryhub.errors import Conflict, HubError, NotFound
from memoryhub.models import Actor, AllowedValue, File, Job, Mount, Space
from memoryhub.stores import FilesystemStore

AGAIN_JOB = "files.take_in_again"


def allowed_in_space(space: Space) -> list[AllowedValue]:
    """The values of which a person said that they are no secrets, newest first."""
    return list(AllowedValue.objects.within(space).order_by("-pk"))


@transaction.atomic
def allow_on_disk(space: Space, actor: Actor, path: str, digest: str) -> AllowedValue:
    """Say that a marked value of a file on disk is no secret: the file is taken in again, and the value stands in it."""
    require(actor, "edit")
    file = File.objects.within(space).select_for_update().filter(path=path, thread_id="").first()
    found = next((one for one in file.disk_secrets if one["digest"] == digest), None) if file else None
    if found is None:
        raise Conflict(f"“{path}” on disk has no such value any more. Look at the file again.", code="nothing_marked")
    allowed = _allow(space, actor, path, digest, found["kind"], found["line"])
    take_in_again(space, path, f"“It is no secret” (line {found['line']}), said {actor.name}")
    jobs.enqueue(AGAIN_JOB, space=space)
    return allowed


@transaction.atomic
def allow_in_text(space: Space, actor: Actor, path: str, content: bytes, digests: Iterable[str]) -> None:
    """Say of values in a text that a person is about to save that they are no secrets."""
    require(actor, "edit")
    wanted = set(digests)
    for one in spaces.mark_secrets(space, content).secrets if wanted else ():
        if one.digest in wanted:
            _allow(space, actor, path, one.digest, one.kind, one.line)


def _allow(space: Space, actor: Actor, path: str, digest: str, kind: str, line: int) -> AllowedValue:
    fields = {"kind": kind, "path": path, **actor.as_fields()}
    allowed, is_new = AllowedValue.objects.get_or_create(space=space, digest=digest, defaults=fields)
    if is_new:
        spaces.mark_setup(space)
        activity.record(
            space, actor, "secrets.allow", "said that it is no secret:", f"{kind} in {path}", url=f"files{path}",
            adds=f"line {line}", path=path,
        )  # fmt: skip
    return allowed


@transaction.atomic
def forbid(space: Space, actor: Actor, pk: int) -> AllowedValue:
    """Take back that a value is no secret: from now on it is refused or marked. Revisions keep what was saved meanwhile."""
    require(actor, "edit")
    allowed = AllowedValue.objects.within(space).select_for_update().filter(pk=pk).first()
    if allowed is None:
        raise NotFound("There is no such value in this space; somebody may have taken it back already.")
    path, kind = allowed.path, allowed.kind
    AllowedValue.objects.filter(pk=pk).delete()
    spaces.mark_setup(space)
    activity.record(
        space,
        actor,
        "secrets.forbid",
        "took back that it is no secret:",
        f"{kind} in {path}",
        url=f"files{path}",
        path=path,
    )
    take_in_again(space, path, f"It is a secret again, said {actor.name}")
    jobs.enqueue(AGAIN_JOB, space=space)
    return allowed


@transaction.atomic
def take_in_again(space: Space, path: str, reason: str) -> bool:
    """Look at a file on disk anew, after what counts as a secret changed; answers whether its text is another now.

    Where disk and hub were in step, the new text counts: nothing changed on disk. What was held is judged anew.
    """
    mount = find_mount(mounts_of_space(space), path)
    if mount is None or mount.store != Mount.Store.FILESYSTEM or not is_mine(mount):
        return False
    file, place = revisions.lock_file(space, path), place_in_mount(mount, path)
    if not file.revision and not file.held:
        file.delete()
        return False
    if not file.held and _retake(space, file, place, reason):
        return True
    if file.held:
        file.written_sha256, file.stat = marks.UNKNOWN, None
        file.save(update_fields=["written_sha256", "stat"])
    sync.sync_file(space, path, place)
    return bool(file.held)


def _retake(space: Space, file: File, place: Place, reason: str) -> bool:
    """Record what the bytes that the hub knows say by the rules of now; not where other bytes stand there."""
    assert isinstance(place.store, FilesystemStore)
    try:
        found = place.store.read(place.relative)
    except HubError:
        return False
    if not sync.is_written(file) or not marks.is_known(file.written_sha256, found.content):
        return False
    seen = marks.take_in(space, found.content)
    if seen.sha256 == file.sha256:
        return False
    conflicts.record_disk_text(space, file, seen, reason=reason)
    sync.mark_written(file, found, seen)
    return True


@jobs.job(AGAIN_JOB)
def run_take_in_again(job: Job, progress: jobs.Progress) -> dict[str, int]:
    """Looks at every file on disk anew: the same value may stand in others."""
    space = Space.objects.get(pk=job.space_id)
    paths = list(File.objects.within(space).filter(thread_id="", is_deleted=False).values_list("path", flat=True))
    changed = 0
    for done, path in enumerate(paths, 1):
        try:
            changed += take_in_again(space, path, "What counts as a secret changed")
        except HubError:
            continue  # its disk cannot be read now; the next scan takes it in
        progress(done, len(paths))
    return {"changed": changed}
