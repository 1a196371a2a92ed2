"""The files of mounted directories as they were at a past moment, from their revisions. What the hub keeps no history of (settings,
files that no mount takes in) is as it is now."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memoryhub.db import statements
from memoryhub.dialects import coding
from memoryhub.dialects.coding import ChangedTree
from memoryhub.domain import coding_agents
from memoryhub.domain.contexts.mount_tree import NOTHING, MountTree, Spot
from memoryhub.models import Revision, Space

MAX_CHANGED, MAX_LISTED, MAX_MOMENTS = 5_000, 400, 30

NEWEST_UNTIL = """
SELECT DISTINCT ON (file_id) path, is_deleted, content FROM memoryhub_revision
 WHERE space_id = %(space)s AND file_id = ANY(%(files)s) AND created_at <= %(at)s ORDER BY file_id, number DESC
"""


@dataclass(frozen=True)
class Moment:
    """A change of a memory file, and the moment just before it."""

    at: datetime
    path: str
    by: str


def texts_before(space: Space, at: datetime) -> dict[str, bytes | None]:
    """The files that changed after a moment, by virtual path: the text that each had then, None where it was not there."""
    changed = Revision.objects.within(space).filter(created_at__gt=at, file__thread_id="")
    ids = list(changed.order_by().values_list("file_id", flat=True).distinct()[:MAX_CHANGED])
    now = dict.fromkeys(changed.filter(file_id__in=ids).values_list("file__path", flat=True))
    found: dict[str, bytes | None] = dict.fromkeys(now)
    rows = statements.rows(NEWEST_UNTIL, {"space": space.pk, "at": at, "files": ids}, binary=True)
    found |= {path: content for path, is_deleted, content in rows if not is_deleted}
    return found


def moments_of(space: Space) -> list[Moment]:
    """The newest changes of memory files that agents may read, each with the moment just before it."""
    names = coding_agents.names_of_agents(list(coding.agents()))
    newest = Revision.objects.within(space).filter(file__thread_id="").defer("content").order_by("-created_at", "-pk")
    found = [
        Moment(one.created_at - timedelta(microseconds=1), one.path, one.actor_name)
        for one in newest[:MAX_LISTED]
        if one.number > 1 and (os.path.basename(one.path) in names or "/memory/" in one.path)
    ]
    return found[:MAX_MOMENTS]


@dataclass
class PastTree(MountTree):
    """The files as they were: `changes` by shown path over what is there now."""

    changes: Mapping[str, bytes | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._over = ChangedTree(_Now(self), self.changes)

    def kind(self, path: str) -> str:
        return self._over.kind(path)

    def read(self, path: str) -> bytes | None:
        return self._over.read(path)

    def names(self, path: str) -> list[str]:
        return self._over.names(path)

    def real(self, path: str) -> str:
        return self._over.real(path)

    def is_link(self, path: str) -> bool:
        return self._over.is_link(path)

    def spot(self, path: str) -> Spot:
        if path not in self.changes:
            return super().spot(path)
        inside = self._inside(path)
        return Spot("file", *inside) if self.changes[path] is not None and inside else NOTHING


@dataclass(frozen=True)
class _Now:
    """The present below a past tree."""

    tree: MountTree

    def kind(self, path: str) -> str:
        return MountTree.kind(self.tree, path)

    def read(self, path: str) -> bytes | None:
        return MountTree.read(self.tree, path)

    def read_settings(self, path: str) -> bytes | None:
        return MountTree.read_settings(self.tree, path)

    def names(self, path: str) -> list[str]:
        return MountTree.names(self.tree, path)

    def real(self, path: str) -> str:
        return MountTree.real(self.tree, path)

    def is_link(self, path: str) -> bool:
        return MountTree.is_link(self.tree, path)
