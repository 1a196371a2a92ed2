"""The files of mounted directories as a coding agent would read them, and what of them people of the space may see.

Three kinds of file: what a mount takes in is read with its secrets replaced by marks; what an agent would read and no mount takes
in has a sentence in place of its text; and outside of the mounts there is nothing, unless the hub runs on the machine of the person
whose home was named by `memoryhub laptop`.
"""

from __future__ import annotations

import os
import stat as st
from collections.abc import Sequence
from dataclasses import dataclass, field

from memoryhub.detectors.costs import TooCostly
from memoryhub.dialects.coding import DiskTree
from memoryhub.domain import files, spaces
from memoryhub.errors import HubError
from memoryhub.models import Mount, Space
from memoryhub.stores import FilesystemStore
from memoryhub.stores.survey import Intake

DISK = DiskTree()
OUTSIDE = "it lies outside of the folders of this space"
NOWHERE = "/outside"  # stands for where a link out of the mounts leads, which nobody looks up
LINK_OUT = "it is a link out of the folders of this space, which is not followed"


@dataclass(frozen=True)
class Root:
    """A mounted directory: where it lies, under which path it is shown, and what it takes in."""

    mount: Mount
    real: str
    shown: str
    intake: Intake

    def file_path(self, relative: str) -> str:
        """The virtual path of a file in it."""
        return self.mount.prefix + relative

    def store(self) -> FilesystemStore:
        return FilesystemStore(self.real, self.mount.prefix)


@dataclass(frozen=True)
class Spot:
    """What lies at a path: its kind, the mounted directory that it really lies in, and why its text is not shown."""

    kind: str
    root: Root | None = None
    relative: str = ""
    withheld: str = ""


NOTHING = Spot("")


@dataclass
class MountTree:
    """A `Tree` of the dialects of coding agents over mounted directories. One serves one request: what it read once, it keeps."""

    space: Space
    roots: Sequence[Root]
    home: str = ""  # the home whose agents may be looked at; empty where the hub is not on that person's machine
    secrets: dict[str, int] = field(default_factory=dict)  # how many were replaced, by path
    _marked: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    _spots: dict[str, Spot] = field(default_factory=dict)
    _texts: dict[str, bytes | None] = field(default_factory=dict)

    # ---- as a tree

    def kind(self, path: str) -> str:
        return self.spot(path).kind

    def read(self, path: str) -> bytes | None:
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def read_settings(self, path: str) -> bytes | None:
        inside = self._inside(path)
        if inside:
            real = os.path.realpath(os.path.join(inside[0].real, inside[1]))
            return DISK.read(real) if self._root_of_real(real) else None
        return DISK.read(path) if self._may_look(path) else None

    def names(self, path: str) -> list[str]:
        inside = self._inside(path)
        if inside:
            real = os.path.realpath(os.path.join(inside[0].real, inside[1]))
            return DISK.names(real) if self._root_of_real(real) else []
        above = [os.path.relpath(one.shown, path).split("/")[0] for one in self.roots if _is_below(one.shown, path)]
        return DISK.names(path) if self._may_look(path) else list(dict.fromkeys(above))

    def real(self, path: str) -> str:
        inside = self._inside(path)
        if not inside:
            return os.path.realpath(path) if self._may_look(path) else path
        real = os.path.realpath(os.path.join(inside[0].real, inside[1]))
        found = self._root_of_real(real)
        if found:
            return os.path.join(found[0].shown, found[1]) if found[1] else found[0].shown
        if self.home:
            return real
        outside = os.path.join(NOWHERE, os.path.basename(path))
        self._spots[outside] = self.spot(path)  # dialects read what a link leads to by its real path
        return outside

    def is_link(self, path: str) -> bool:
        inside = self._inside(path)
        return os.path.islink(os.path.join(inside[0].real, inside[1]) if inside else path)

    # ---- what may be shown

    def spot(self, path: str) -> Spot:
        """What lies at a path, and whether its text is shown."""
        if path not in self._spots:
            self._spots[path] = self._find_spot(path)
        return self._spots[path]

    def why_withheld(self, path: str) -> str:
        """Why a file's text is not shown; empty for one whose text is."""
        return self.spot(path).withheld

    def size(self, path: str) -> int:
        """The bytes of a file's text as it is shown; of what is not shown, as it lies there."""
        spot = self.spot(path)
        if spot.withheld:
            found = self._stat(spot, path)
            return found.st_size if found else 0
        return len(self.read(path) or b"")

    @property
    def marked_files(self) -> list[str]:
        """The files that were read and hold secrets."""
        return list(self._marked)

    def secrets_in(self, path: str) -> list[tuple[str, int]]:
        """The kind and line of each secret in a file that was read."""
        return self._marked.get(path, [])

    def file_path(self, path: str) -> str:
        """The virtual path of a file that is shown; empty for others."""
        spot = self.spot(path)
        return spot.root.file_path(spot.relative) if spot.root and spot.kind == "file" and not spot.withheld else ""

    def path_for(self, path: str) -> str:
        """The virtual path that a file of this shown path has, or would have once it is made; empty outside of the mounts."""
        inside = self._inside(path)
        return inside[0].file_path(inside[1]) if inside else ""

    def shown_path(self, path: str) -> str:
        """The shown path of a virtual one; empty for one in no mounted directory."""
        found = [one for one in self.roots if path.startswith(one.mount.prefix)]
        root = max(found, key=lambda one: len(one.mount.prefix), default=None)
        return f"{root.shown.rstrip('/')}/{path.removeprefix(root.mount.prefix)}" if root else ""

    # ---- inside

    def _inside(self, path: str) -> tuple[Root, str] | None:
        """The root that a shown path lies in, and the path inside of it; the longest counts."""
        found = [one for one in self.roots if _is_below(path, one.shown)]
        root = max(found, key=lambda one: len(one.shown), default=None)
        return (root, path[len(root.shown) :].strip("/")) if root else None

    def _root_of_real(self, real: str) -> tuple[Root, str] | None:
        found = [one for one in self.roots if _is_below(real, one.real)]
        root = max(found, key=lambda one: len(one.real), default=None)
        return (root, real[len(root.real) :].strip("/")) if root else None

    def _may_look(self, path: str) -> bool:
        """Whether to look outside of the mounts: the hub runs for the person of this home, on their machine."""
        return bool(self.home)

    def _find_spot(self, path: str) -> Spot:
        inside = self._inside(path)
        if not inside:
            kind = DISK.kind(path) if self._may_look(path) else "folder" if self._is_above(path) else ""
            return Spot(kind, withheld=OUTSIDE if kind == "file" else "")
        root, relative = inside
        lies = os.path.join(root.real, relative) if relative else root.real
        real = os.path.realpath(lies)
        found = self._root_of_real(real)
        if not found:
            is_file = os.path.islink(lies) and "." in os.path.basename(path)
            return Spot("file", withheld=LINK_OUT) if is_file else NOTHING
        kind = DISK.kind(real)
        if kind != "file":
            return Spot(kind, *found)
        why = found[0].intake.why_out(found[1])
        return Spot(kind, *found, withheld=f"the mount leaves it out ({why.why})" if why else "")

    def _is_above(self, path: str) -> bool:
        return any(_is_below(one.shown, path) for one in self.roots)

    def _stat(self, spot: Spot, path: str) -> os.stat_result | None:
        where = os.path.join(spot.root.real, spot.relative) if spot.root else path
        if not spot.root and not self._may_look(path):
            return None
        try:
            found = os.stat(where)
        except (OSError, ValueError):
            return None
        return found if st.S_ISREG(found.st_mode) else None

    def _read(self, path: str) -> bytes | None:
        spot = self.spot(path)
        if spot.kind != "file":
            return None
        if spot.withheld or spot.root is None:
            return _not_shown(spot.withheld or OUTSIDE)
        try:
            # Opened name by name without following links: what took the place of the file meanwhile is not read.
            content = spot.root.store().read("/" + spot.relative).content
            marked = spaces.mark_secrets(self.space, content)
        except (HubError, TooCostly) as refusal:
            return _not_shown(refusal.message.rstrip("."))
        if marked.secrets:
            self.secrets[path] = len(marked.secrets)
            self._marked[path] = [(one.kind, one.line) for one in marked.secrets]
        return marked.content


def _not_shown(why: str) -> bytes:
    return f"[The text of this file is not shown: {why}.]\n".encode()


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def roots_of_space(space: Space, *, real_paths: bool) -> list[Root]:
    """The mounted directories of a space that are this node's; without `real_paths` each is shown under its prefix."""
    found = []
    for mount in files.mounts_of_space(space):
        taking = files.intake_of(mount)
        if taking is not None and files.is_mine(mount):
            real = os.path.realpath(mount.directory)
            shown = real if real_paths else "/" + mount.prefix.strip("/")
            found.append(Root(mount, real, shown, taking))
    return found
