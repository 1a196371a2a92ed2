"""Lists of files as pages show them: how many there are, and the first of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Ceil

from memoryhub.dialects import BYTES_PER_TOKEN
from memoryhub.models import File, Space


@dataclass(frozen=True)
class Totals:
    """How many files, and how many tokens they are together."""

    files: int
    tokens: int


def published_files(space: Space) -> QuerySet[File]:
    """The files that agents of a space can read, without those of threads."""
    return File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0)


def file_totals(space: Space) -> Totals:
    """The totals of a space."""
    from_size = Ceil(Sum("size") / float(BYTES_PER_TOKEN))
    found = published_files(space).aggregate(files=Count("pk"), tokens=from_size)
    return Totals(found["files"], int(found["tokens"] or 0))


def files_at(space: Space, paths: Collection[str]) -> dict[str, File]:
    """The published files among these paths."""
    return {file.path: file for file in published_files(space).filter(path__in=list(paths))}


def first_files(space: Space, limit: int) -> list[File]:
    """The first files by path."""
    return list(published_files(space).order_by("path")[:limit])
