"""Results of jobs as bytes, kept for a while, so that the page that asked for one can fetch it."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from memoryhub.domain.jobs import queue
from memoryhub.models import Made, Space

result_lifetimes: dict[str, timedelta] = {}  # how long results of each kind are kept


def keep_result(space: Space | int, kind: str, key: str, content: bytes, name: str = "") -> Made:
    """Stores a result under a key of its kind, in the place of an earlier one."""
    fields = {"content": content, "name": name[:255], "made_at": timezone.now()}
    return Made.objects.update_or_create(space_id=getattr(space, "pk", space), kind=kind, key=key, defaults=fields)[0]


def find_result(space: Space | int, kind: str, key: str) -> Made | None:
    """The result under a key; None once its time is over."""
    oldest = timezone.now() - result_lifetimes[kind]
    return Made.objects.within(space).filter(kind=kind, key=key, made_at__gt=oldest).first()


def newest_result(space: Space | int, kind: str, first: str, last: str) -> Made | None:
    """The result under the highest key of a range; None where there is none, or its time is over."""
    oldest = timezone.now() - result_lifetimes[kind]
    found = Made.objects.within(space).filter(kind=kind, key__range=(first, last), made_at__gt=oldest)
    return found.order_by("-key").first()


@queue.periodic("made.forget", every=timedelta(hours=1))
def delete_old_results() -> None:
    """Deletes results whose time is over."""
    for kind, lifetime in result_lifetimes.items():
        Made.objects.filter(kind=kind, made_at__lte=timezone.now() - lifetime).delete()
