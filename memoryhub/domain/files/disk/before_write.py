"""Writes of agents' own file tools before they land: which held file they go to, and what of their text the hub may store."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memoryhub.domain import spaces
from memoryhub.domain.files.disk import marks
from memoryhub.domain.files.mounts import Place, find_mount, is_inside, is_mine, mounts_of_space, place_in_mount
from memoryhub.errors import HubError, NotFound
from memoryhub.models import File, Mount, OnDisk, Space
from memoryhub.stores import FilesystemStore, paths


@dataclass(frozen=True)
class HeldPlace:
    """A file of a mount that holds changes on disk: its space and virtual path, and where it lies."""

    space: Space
    path: str
    place: Place

    def bytes_on_disk(self) -> bytes | None:
        """What lies on disk now; None for no file."""
        assert isinstance(self.place.store, FilesystemStore)
        try:
            return self.place.store.read(self.place.relative).content
        except NotFound:
            return None


def held_mounts() -> list[Mount]:
    """The directories of this node, of all spaces, in which changes wait for a person."""
    held = Mount.objects.filter(store=Mount.Store.FILESYSTEM, on_disk=OnDisk.HOLD).select_related("space")
    return [mount for mount in held if is_mine(mount)]


def held_places(real_paths: Iterable[str]) -> list[HeldPlace]:
    """The held files that lie at real paths, one for each mount that takes them in."""
    mounts = held_mounts()
    found = {(one.space.pk, one.path): one for path in real_paths for one in _places(mounts, path)}
    return list(found.values())


def _places(mounts: Iterable[Mount], real: str) -> Iterator[HeldPlace]:
    for mount in mounts:
        root = os.path.realpath(mount.directory)
        if real == root or not is_inside(real, root):
            continue
        relative = unicodedata.normalize("NFC", os.path.relpath(real, root))
        try:
            path = paths.clean(mount.prefix + relative)
        except HubError:  # a name that no path has: the mount does not take it in
            continue
        found = find_mount(mounts_of_space(mount.space), path)
        place = place_in_mount(mount, path)
        if found is None or found.pk != mount.pk or place.why_closed() or marks.has_secret_name(place.relative):
            continue
        if not File.objects.within(mount.space).filter(path=path, thread_id="", applies_since__isnull=False).exists():
            yield HeldPlace(mount.space, path, place)


def storable_text(space: Space, before: bytes | None, after: bytes) -> bytes:
    """A text that an agent would write as the hub stores it: with marks where the file on disk holds secrets. Refused with the
    kind and line of a secret that is new."""
    known = {one.digest for one in spaces.mark_secrets(space, before).secrets} if before else set()
    marked = spaces.mark_secrets(space, after)
    for one in marked.secrets:
        if one.digest not in known:
            raise spaces.secret_error(one.kind, one.line)
    return marked.content
