"""What people corrected in working memory."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from memoryhub.db.prepared import any_of, prepared
from memoryhub.models import Space, WorkingEntry, WorkingRevision


def history(space: Space, entry_id: int) -> QuerySet[WorkingRevision]:
    """What an entry said before each of its corrections, newest first; it outlives the entry."""
    return WorkingRevision.objects.within(space).filter(entry_id=entry_id).order_by("-id")


CORRECTIONS = prepared(
    lambda space, entries: (
        WorkingRevision.objects.within(space).filter(any_of("entry_id", entries)).order_by("id").defer("content")
    )
)


def corrections(space: Space, entries: Iterable[WorkingEntry]) -> dict[int, WorkingRevision]:
    """The last correction of those entries that have one."""
    return {one.entry_id: one for one in CORRECTIONS(space.pk, [one.pk for one in entries])}
