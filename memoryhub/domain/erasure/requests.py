"""Asking for an erasure: a dry run first, then a confirmation by typing; what nobody confirms is forgotten."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memoryhub.domain import activity, jobs
from memoryhub.domain.erasure import run
from memoryhub.domain.erasure.receipts import sees_all
from memoryhub.domain.erasure.targets import KINDS, Target, checked, require_right
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Erasure, Job, Space

FORGOTTEN_AFTER = timedelta(hours=2)
EVERYWHERE = "all spaces"  # what is typed to confirm an erasure in all of them


@transaction.atomic
def plan(space: Space | None, actor: Actor, target: Target) -> Erasure:
    """Asks for a dry run, which a job makes; nothing is erased. Without a space it is about all of them."""
    erasure = _new(space, actor, target)
    job = jobs.enqueue(
        run.COUNT_JOB, {"erasure": erasure.pk}, asked_by=actor.name, **({"space": space} if space else {})
    )
    erasure.job_id = job.pk
    erasure.save(update_fields=["job_id"])
    return erasure


def _new(space: Space | None, actor: Actor, target: Target) -> Erasure:
    require_right(space, actor)
    target = checked(target)
    return Erasure.objects.create(
        space_id=space.pk if space else 0, kind=target.kind, digest=target.digest, on_disk=target.on_disk,
        work=run.pack(target), **actor.as_fields(),
    )  # fmt: skip


@transaction.atomic
def erase(space: Space, actor: Actor, number: int, *, confirm: str) -> Erasure:
    """Starts what a dry run counted, as a job; this cannot be undone."""
    erasure = get(space, actor, number, lock=True)
    if erasure.state != Erasure.COUNTED:
        raise Conflict("This was confirmed already, or it is still being counted.", code="already_decided")
    word = confirmation(erasure)
    if confirm.strip() != word:
        raise Invalid(f"Type {word} to confirm; this cannot be undone.", code="not_confirmed", field="confirm")
    if not erasure.plan:
        raise NotFound("Nothing of it stands here.")
    _confirm(erasure, actor)
    options = {"space": space} if erasure.space_id else {}
    erasure.job_id = jobs.enqueue(run.ERASE_JOB, {"erasure": erasure.pk}, asked_by=actor.name, **options).pk
    erasure.save(update_fields=["job_id"])
    return erasure


def _confirm(erasure: Erasure, actor: Actor) -> None:
    erasure.state, erasure.confirmed_at = Erasure.ERASING, timezone.now()
    for name, value in actor.as_fields().items():
        setattr(erasure, name, value)
    erasure.save()


def confirmation(erasure: Erasure) -> str:
    """What is typed to confirm: the space's address."""
    slug = Space.objects.filter(pk=erasure.space_id).values_list("slug", flat=True).first()
    return slug or EVERYWHERE


def erase_now(space: Space | None, actor: Actor, target: Target) -> Erasure:
    """Counts and erases in this process; for commands, whose user has confirmed already. The receipt."""
    erasure = run.count(_new(space, actor, target))
    if not erasure.plan:
        erasure.delete()
        raise NotFound("Nothing of it stands here.")
    _confirm(erasure, actor)
    return run.run(erasure)


def dry_run(space: Space | None, actor: Actor, target: Target) -> Erasure:
    """The dry run of this moment, which is not stored."""
    erasure = run.count(_new(space, actor, target))
    Erasure.objects.filter(pk=erasure.pk).delete()
    return erasure


@transaction.atomic
def cancel(space: Space, actor: Actor, number: int) -> None:
    """Forgets a dry run with what it looked for."""
    erasure = get(space, actor, number, lock=True)
    if erasure.state not in (Erasure.COUNTING, Erasure.COUNTED):
        raise Conflict("This was confirmed already: it cannot be stopped.", code="already_decided")
    erasure.delete()


@transaction.atomic
def retry(space: Space, actor: Actor, number: int) -> Erasure:
    """Lets a job that failed for good go on where it stopped."""
    erasure = get(space, actor, number, lock=True)
    if job := job_of(erasure):
        jobs.retry(job)
    activity.record(
        space, actor, "erasure.retry", "went on to erase", KINDS[erasure.kind], url=f"erasure/{erasure.pk}/"
    )
    return erasure


def job_of(erasure: Erasure) -> Job | None:
    return Job.objects.filter(pk=erasure.job_id).first()


def erasures_of(space: Space, actor: Actor) -> QuerySet[Erasure]:
    """Those of a space, newest first; the owner of the hub sees those of all spaces as well."""
    mine = Q(space_id=space.pk) | Q(space_id=0) if sees_all(actor) else Q(space_id=space.pk)
    return Erasure.objects.filter(mine).order_by("-pk")


def get(space: Space, actor: Actor, number: int, *, lock: bool = False) -> Erasure:
    """One erasure that this person may see."""
    require_right(space, actor)
    found = erasures_of(space, actor)
    erasure = (found.select_for_update() if lock else found).filter(pk=number).first()
    if erasure is None:
        raise NotFound("There is no such erasure here; one that nobody confirms is forgotten after two hours.")
    return erasure


@jobs.periodic("erasure.forget", every=timedelta(minutes=30))
def forget_unconfirmed() -> int:
    """Deletes dry runs that nobody confirmed: they hold what was looked for."""
    old = Erasure.objects.filter(state__in=[Erasure.COUNTING, Erasure.COUNTED])
    return old.filter(created_at__lt=timezone.now() - FORGOTTEN_AFTER).delete()[0]
