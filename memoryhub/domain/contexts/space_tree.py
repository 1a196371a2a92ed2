"""A mount of a space as a folder that a coding agent is started in: its published files, and nothing of this machine.

`PublishedTree` is what pages look at where the directory belongs to another node.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property

from memoryhub.db import statements
from memoryhub.dialects import coding
from memoryhub.domain import files
from memoryhub.domain.coding_agents import RULE_FOLDERS, names_of_agents
from memoryhub.domain.contexts.mount_tree import NOTHING, MountTree, Root, Spot
from memoryhub.domain.files import Published
from memoryhub.models import Mount, Space

ROOT = "/project"
HOME = "/home-of-nobody"  # nothing lies there: what a person's own home adds is not the space's
MAX_FILES = 5_000  # of a mount with more, those that agents look for by name, and single ones that another file names
MAX_READ = 200  # texts that are read at once
MAX_LOOKED_UP = 50  # single files beyond those

# The name of a file is what stands behind its last slash. Those that agents look for come first, then those nearest to the root.
FILES = """
SELECT path, size FROM (
  SELECT path, size, (lower(right(path, strpos(reverse(path), '/') - 1)) = ANY(%(names)s) OR path LIKE '%%/.%%') AS is_known
    FROM memoryhub_file
   WHERE space_id = %(space)s AND thread_id = '' AND NOT is_deleted AND revision > 0
     AND path ~>=~ %(prefix)s AND path ~<~ %(end)s) f
 ORDER BY is_known DESC, length(path) - length(replace(path, '/', '')), path LIMIT %(limit)s
"""


def known_names() -> set[str]:
    """The names, in small letters, that coding agents look for."""
    return {name.rpartition("/")[2].lower() for name in names_of_agents(list(coding.agents()))}


@dataclass
class SpaceTree:
    """The files of a mount below `ROOT`, which is taken for the root of a repository. What the mount leaves out is not there."""

    space: Space
    mount: Mount
    bytes_read: int = 0  # over all reads, also of one text again: what its readers had to go through
    _texts: dict[str, bytes | None] = field(default_factory=dict)
    _looked_up: int = 0

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The size of each file by its place in this tree."""
        prefix = self.mount.prefix
        values = {"space": self.space.pk, "prefix": prefix, "end": prefix[:-1] + "0", "limit": MAX_FILES}
        found = statements.rows(FILES, {**values, "names": sorted(self._names)})
        mounts = files.mounts_of_space(self.space)
        return {self.inside(path): size for path, size in found if files.find_mount(mounts, path) == self.mount}

    @cached_property
    def _names(self) -> set[str]:
        return known_names()

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        """The names in each folder."""
        found: dict[str, dict[str, None]] = {ROOT: {}}
        for path in [*self.sizes, f"{ROOT}/.git/HEAD"]:
            while path != ROOT:
                folder, _, name = path.rpartition("/")
                found.setdefault(folder, {})[name] = None
                path = folder
        return {folder: list(names) for folder, names in found.items()}

    def inside(self, path: str) -> str:
        """Where a virtual path lies in this tree."""
        return f"{ROOT}/{path[len(self.mount.prefix) :]}".rstrip("/")

    def virtual(self, inside: str) -> str:
        """The virtual path of a place in this tree."""
        return self.mount.prefix + inside[len(ROOT) + 1 :]

    def words(self, why: str) -> str:
        """A reason that an agent's dialect gives, with virtual paths in it."""
        return why.replace(f"{ROOT}/", self.mount.prefix)

    def instructions(self) -> list[str]:
        """The files that agents look for by name, nearest to the root first."""
        return [path for path in self.sizes if self._is_instruction(path)]

    def _is_instruction(self, path: str) -> bool:
        in_rules = any(f"/{place}/" in path and path.endswith(end) for place, end in RULE_FOLDERS.items())
        return in_rules or path.rpartition("/")[2].lower() in self._names

    def read_instructions(self) -> None:
        """Reads what agents are likely to ask for by one statement."""
        wanted = self.instructions()[:MAX_READ]
        found = files.read_many(self.space, [self.virtual(path) for path in wanted])
        for path in wanted:
            self._texts[path] = _content(found[self.virtual(path)])

    # ---- the protocol of `coding.Tree`

    def kind(self, path: str) -> str:
        if path in self.sizes:
            return "file"
        if path in self._folders:
            return "folder"
        return "file" if self.read(path) is not None else ""

    def read(self, path: str) -> bytes | None:
        if path not in self._texts:
            self._texts[path] = self._read(path)
        self.bytes_read += len(self._texts[path] or b"")
        return self._texts[path]

    def _read(self, path: str) -> bytes | None:
        if path not in self.sizes and not self._may_lie_there(path):
            return None
        self._looked_up += path not in self.sizes
        where = self.virtual(path)
        return _content(files.read_many(self.space, [where])[where])

    def _may_lie_there(self, path: str) -> bool:
        """Whether a path may be a file that is not listed: in a large mount, under a name that no agent looks for."""
        is_below = path.startswith(ROOT + "/") and path not in self._folders
        is_known = path.rpartition("/")[2].lower() in self._names or "/." in path
        return is_below and len(self.sizes) == MAX_FILES and not is_known and self._looked_up < MAX_LOOKED_UP

    def read_settings(self, path: str) -> bytes | None:
        return self.read(path)

    def names(self, path: str) -> list[str]:
        return self._folders.get(path.rstrip("/"), [])

    def real(self, path: str) -> str:
        return os.path.normpath(path)

    def is_link(self, path: str) -> bool:
        return False


def _content(found: object) -> bytes | None:
    return found.content if isinstance(found, Published) else None


@dataclass
class PublishedTree(MountTree):
    """The one mount of `roots`, whose directory belongs to another node, as its newest revisions have it. Links are no links here, and
    settings of agents are not known, as no mount takes them in."""

    @cached_property
    def published(self) -> SpaceTree:
        return SpaceTree(self.space, self.root.mount)

    @property
    def root(self) -> Root:
        return self.roots[0]

    def instructions(self) -> list[str]:
        """The files that agents look for by name, by shown path."""
        head = self.root.shown.rstrip("/")
        return sorted(head + path.removeprefix(ROOT) for path in self.published.instructions())

    def read_settings(self, path: str) -> bytes | None:
        return self.read(path) if self._inside(path) else None

    def names(self, path: str) -> list[str]:
        inside = self._inside(path)
        return self.published.names(f"{ROOT}/{inside[1]}") if inside else []

    def real(self, path: str) -> str:
        return os.path.normpath(path)

    def is_link(self, path: str) -> bool:
        return False

    def _find_spot(self, path: str) -> Spot:
        inside = self._inside(path)
        if not inside:
            return Spot("folder") if self._is_above(path) else NOTHING
        return Spot(self.published.kind(f"{ROOT}/{inside[1]}".rstrip("/")), *inside)

    def _read(self, path: str) -> bytes | None:
        spot = self.spot(path)
        if spot.kind != "file":
            return None
        where = self.file_path(path)
        found = files.read_many(self.space, [where])[where]
        if isinstance(found, Published) and found.disk_secrets:
            self.secrets[path] = len(found.disk_secrets)
            self._marked[path] = [(str(one["kind"]), int(one["line"])) for one in found.disk_secrets]
        return _content(found)
