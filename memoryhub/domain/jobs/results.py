"""What jobs made: kept for a while, so that the page that asked for it can fetch it."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from memoryhub.domain.jobs import queue
from memoryhub.models import Made, Space

result_lifetimes: dict[str, timedelta] = {}  # by kind; whoever makes something says how long it is kept


def keep_result(space: Space | int, kind: str, key: str, content: bytes, name: str = "") -> Made:
    """Keeps what a job made, in the place of what it made before under that key."""
    what = {"content": content, "name": name[:255], "made_at": timezone.now()}
    return Made.objects.update_or_create(space_id=getattr(space, "pk", space), kind=kind, key=key, defaults=what)[0]


def find_result(space: Space | int, kind: str, key: str) -> Made | None:
    """What was made under that key, while it is kept."""
    young = timezone.now() - result_lifetimes[kind]
    return Made.objects.within(space).filter(kind=kind, key=key, made_at__gt=young).first()


def newest_result(space: Space | int, kind: str, first: str, last: str) -> Made | None:
    """What was made under the highest key of a range, while it is kept."""
    young = timezone.now() - result_lifetimes[kind]
    kept = Made.objects.within(space).filter(kind=kind, key__range=(first, last), made_at__gt=young)
    return kept.order_by("-key").first()


@queue.periodic("made.forget", every=timedelta(hours=1))
def delete_old_results() -> None:
    """What has been kept long enough goes."""
    for kind, life in result_lifetimes.items():
        Made.objects.filter(kind=kind, made_at__lte=timezone.now() - life).delete()
