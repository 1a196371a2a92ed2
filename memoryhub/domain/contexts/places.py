"""Where a coding agent is started: a mounted directory and a folder in it, as one person may see it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from memoryhub.dialects import coding
from memoryhub.domain import coding_agents, files
from memoryhub.domain.accounts import may
from memoryhub.domain.contexts.laptop import home_for
from memoryhub.domain.contexts.mount_tree import MountTree, Root, roots_of_space
from memoryhub.domain.contexts.past import PastTree, texts_before
from memoryhub.domain.contexts.space_tree import PublishedTree
from memoryhub.errors import NotFound
from memoryhub.models import Actor, Mount, Space
from memoryhub.stores import paths

NO_HOME = "/nonexistent"
MAX_WALKED, MAX_FOLDERS = 2_000, 200


@dataclass
class Place:
    """A folder of a mounted directory with the tree that agents read there."""

    root: Root
    folder: str  # inside the mount, without slashes around it
    tree: MountTree

    @property
    def directory(self) -> str:
        """The folder as its path is shown, and as agents are told it."""
        return os.path.join(self.root.shown, self.folder) if self.folder else self.root.shown

    @property
    def home(self) -> str:
        return self.tree.home or NO_HOME

    @property
    def mount(self) -> Mount:
        return self.root.mount

    @property
    def is_elsewhere(self) -> bool:
        """Whether the directory belongs to another node, so that revisions stand for its files."""
        return isinstance(self.tree, PublishedTree)

    @cached_property
    def all_files(self) -> list[str]:
        """The memory files of the whole mount that any agent looks for, by shown path."""
        if isinstance(self.tree, PublishedTree):
            return self.tree.instructions()
        found = [self._shown(path) for path in self._walk(self.root.real)]
        if not isinstance(self.tree, PastTree):
            return found
        changes = self.tree.changes
        then = [path for path, text in changes.items() if text is not None and self._is_memory(path)]
        return sorted({path for path in found if changes.get(path, b"") is not None} | set(then))

    @cached_property
    def below(self) -> list[str]:
        """The memory files below the folder."""
        return [path for path in self.all_files if path.startswith(self.directory.rstrip("/") + "/")]

    @property
    def folders(self) -> list[str]:
        """The folders that hold memory, inside the mount: where it is worth to start an agent. The chosen one is among them."""
        found = {os.path.relpath(coding_agents.folder_of(path), self.root.shown) for path in self.all_files}
        listed = sorted({"" if one == "." else one for one in found} | {"", self.folder})
        return listed[:MAX_FOLDERS] if self.folder in listed[:MAX_FOLDERS] else [*listed[:MAX_FOLDERS], self.folder]

    def shorten(self, text: str) -> str:
        """A text with its paths as people say them: from the home where it is known, else by their mount."""
        home = self.tree.home.rstrip("/")
        if home:
            text = text.replace(home + "/", "~/")
        for one in self.tree.roots:
            text = text.replace(one.shown + "/", one.mount.prefix)
        return text

    def brief(self, text: str) -> str:
        """A text with paths relative to the folder, where there is little room."""
        for folder in (self.directory, self.root.shown):
            text = text.replace(folder.rstrip("/") + "/", "")
        return self.shorten(text)

    def _is_memory(self, path: str) -> bool:
        """Whether a file of the mount has a name that any agent looks for."""
        names = coding_agents.names_of_agents(list(coding.agents()))
        is_rule = any(f"/{place}/" in path and path.endswith(end) for place, end in coding_agents.RULE_FOLDERS.items())
        return path.startswith(self.root.shown.rstrip("/") + "/") and (is_rule or os.path.basename(path) in names)

    def _shown(self, real: str) -> str:
        return self.root.shown + real[len(self.root.real) :]

    def _walk(self, top: str) -> list[str]:
        intake, names = self.root.intake, list(coding.agents())

        def enters(folder: str) -> bool:
            return intake.why_folder_out(folder[len(self.root.real) :]) is None

        return list(coding_agents.memory_files(top, names, enters=enters, most=MAX_WALKED))


def mounts_to_look_at(space: Space) -> list[Mount]:
    """The mounts of directories, in which coding agents can be started: projects first."""
    found = [one for one in files.mounts_of_space(space) if one.store == Mount.Store.FILESYSTEM]
    return sorted(found, key=is_agents_folder)


def is_agents_folder(mount: Mount) -> bool:
    """Whether it looks like the folder of an agent in a home, as ~/.claude or ~/.config/opencode, where nobody starts one."""
    above, _, name = mount.directory.rstrip("/").rpartition("/")
    return name.startswith(".") or above.endswith("/.config")


def mounts_of_this_disk(space: Space) -> list[Mount]:
    """Those whose directory this node reads and writes."""
    return [one for one in mounts_to_look_at(space) if files.is_mine(one)]


def place_in_mount(space: Space, actor: Actor, pk: int | None, folder: str, at: datetime | None = None) -> Place:
    """A folder of a mount, as it is or as it was at a moment. Who does not manage the space sees virtual paths, and nothing outside
    of its mounts."""
    manages = may(actor.role, "manage")
    mount = next((one for one in mounts_to_look_at(space) if pk is None or one.pk == pk), None)
    if mount is None:
        raise NotFound("There is no such mounted directory in this space.")
    inside = paths.clean("/" + folder.strip("/"), directory=True).strip("/") if folder.strip("/") else ""
    if files.is_mine(mount):
        place = _place_on_disk(space, actor, mount, inside, at, real_paths=manages)
    else:
        place = _place_of_another_node(space, mount, inside, at, real_paths=manages)
    if inside and place.tree.kind(place.directory) != "folder":
        raise NotFound(f"There is no folder {inside[:200]} in {mount.prefix}.")
    return place


def _place_on_disk(
    space: Space, actor: Actor, mount: Mount, inside: str, at: datetime | None, *, real_paths: bool
) -> Place:
    roots = roots_of_space(space, real_paths=real_paths)
    chosen = next(one for one in roots if one.mount.pk == mount.pk)
    tree = MountTree(space, roots, home_for(space, actor))
    if at is not None:
        shown = {tree.shown_path(path): text for path, text in texts_before(space, at).items()}
        changes = {path: text for path, text in shown.items() if path}
        tree = PastTree(space, roots, tree.home, changes=changes)
    if inside and chosen.intake.leads_out(inside):
        raise NotFound(f"There is no folder {inside[:200]} in {mount.prefix}.")
    return Place(chosen, inside, tree)


def _place_of_another_node(space: Space, mount: Mount, inside: str, at: datetime | None, *, real_paths: bool) -> Place:
    """A folder of a directory that this node does not see: its newest revisions."""
    if at is not None:
        raise NotFound(f"{mount.prefix} belongs to another node, which alone shows its past.")
    shown = mount.directory if real_paths else "/" + mount.prefix.strip("/")
    intake = files.intake_of(mount)
    assert intake is not None
    root = Root(mount, mount.directory, shown, intake)
    return Place(root, inside, PublishedTree(space, [root]))
