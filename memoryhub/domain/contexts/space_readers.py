"""What coding agents load of the files of a space, by the rules of each: started at the root of a mount, or beside a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memoryhub.db.cache import Cache
from memoryhub.dialects import coding, tokens_of_bytes
from memoryhub.dialects.coding import CodingAgent, Start
from memoryhub.domain import files
from memoryhub.domain.contexts.space_tree import HOME, ROOT, SpaceTree
from memoryhub.domain.files import FolderEntry
from memoryhub.models import Mount, Space

MAX_FOLDERS = 40  # in which agents are started, those nearest to the root
MAX_BYTES = 16 << 20  # after so many bytes of texts no agent is started in a further folder


@dataclass(frozen=True)
class Loaded:
    """What one coding agent has in its context when it is started in a folder, by virtual paths."""

    agent: CodingAgent
    tokens: int  # of the whole context
    why: dict[str, str]  # why each file is in it, in the order of the context
    cut: dict[str, int]  # the first line that is lost of a file
    ignored: dict[str, str]  # why a file is not in it
    later: dict[str, str]  # on what a file is loaded that is not in it yet


@dataclass(frozen=True)
class Reader:
    """A coding agent and what it does with one file."""

    agent: CodingAgent
    state: str  # in, cut, later, ignored
    why: str


@dataclass
class MountReaders:
    """What every coding agent does with the files of one mount."""

    known: dict[str, int] = field(default_factory=dict)  # virtual path and size of the files that some agent looks for
    loaded: dict[str, list[Loaded]] = field(default_factory=dict)  # by virtual folder

    @property
    def at_root(self) -> list[Loaded]:
        """What each agent loads when it is started at the root of the mount; those that load something first."""
        return next(iter(self.loaded.values()), [])

    def readers(self, path: str) -> list[Reader]:
        """What each agent does with a file: started in its folder, else at the root. Those that ignore it come last."""
        places = [self.loaded.get(path[: path.rfind("/") + 1], []), self.at_root]
        found: dict[str, Reader] = {}
        for loaded in places:
            for one in loaded:
                reader = _reader(one, path)
                before = found.get(one.agent.name)
                if reader and (before is None or _ORDER[reader.state] < _ORDER[before.state]):
                    found[one.agent.name] = reader
        return sorted(found.values(), key=lambda one: _ORDER[one.state])

    def names_below(self, prefix: str) -> tuple[str, ...]:
        """The agents that load some file below a folder."""
        every = [one for loaded in self.loaded.values() for one in loaded]
        titles = (one.agent.title for one in every if any(path.startswith(prefix) for path in (*one.why, *one.later)))
        return tuple(dict.fromkeys(titles))

    def names(self, path: str) -> tuple[str, ...]:
        """The agents that load a file, at once or when they come near it."""
        return tuple(one.agent.title for one in self.readers(path) if one.state != "ignored")


_ORDER = {"in": 0, "cut": 1, "later": 2, "ignored": 3}


def _reader(loaded: Loaded, path: str) -> Reader | None:
    if path in loaded.why:
        cut = loaded.cut.get(path)
        if cut:
            return Reader(loaded.agent, "cut", f"Lost from line {cut} on")
        return Reader(loaded.agent, "in", loaded.why[path])
    if path in loaded.later:
        return Reader(loaded.agent, "later", loaded.later[path])
    if path in loaded.ignored:
        return Reader(loaded.agent, "ignored", loaded.ignored[path])
    return None


@dataclass(frozen=True)
class SourceReaders:
    """Whose prompts show which file, by the sources of a space."""

    names: dict[str, list[str]]  # of agents, by path
    in_every: set[str]


def source_readers(space: Space) -> SourceReaders:
    return SourceReaders(files.source_readers(space), files.in_every_prompt(space))


def add_readers(space: Space, rows: Sequence[FolderEntry], by_source: SourceReaders) -> None:
    """Adds to the entries of a page who reads them: agents of the space by their sources, coding agents by their own rules.
    A folder has the readers of all that lies below it."""
    mounts = files.mounts_of_space(space)
    for row in rows:
        mount = files.find_mount(mounts, row.path)
        loaded = mount_readers(space, mount) if mount else MountReaders()
        if row.is_dir:
            mine = [name for path, names in by_source.names.items() if path.startswith(row.path) for name in names]
            others = loaded.names_below(row.path)
        else:
            mine, others = by_source.names.get(row.path, []), loaded.names(row.path)
        row.readers = list(dict.fromkeys([*mine, *others]))
        row.is_in_every_prompt = row.path in by_source.in_every


def read_paths(space: Space, mount: Mount, prefix: str, by_source: SourceReaders) -> list[str]:
    """The paths below a folder that some agent reads: sources, and what coding agents load, at once or later."""
    every = [one for loaded in mount_readers(space, mount).loaded.values() for one in loaded]
    paths = {*by_source.names, *by_source.in_every}
    paths.update(path for one in every for path in (*one.why, *one.later))
    return sorted(path for path in paths if path.startswith(prefix))


_cache: Cache[MountReaders] = Cache(
    "contexts.readers", key="mount", invalidated_by="the space's revision", max_items=64,
    saves="starting every coding agent in every folder with instructions for each list of files: 2 ms for one folder, 10 ms for 11",
)  # fmt: skip


def mount_readers(space: Space, mount: Mount) -> MountReaders:
    """What every coding agent loads of a mount; `space` must have been read for this request."""
    found = _cache.get(mount.pk, space.revision)
    if found is None:
        found = read_mount(space, mount)
        _cache.put(mount.pk, found, space.revision)
    return found


def read_mount(space: Space, mount: Mount) -> MountReaders:
    """`mount_readers` without its cache."""
    tree = SpaceTree(space, mount)
    tree.read_instructions()
    instructions = tree.instructions()
    folders = dict.fromkeys([ROOT, *(path.rpartition("/")[0] for path in instructions)])
    found = MountReaders({tree.virtual(path): tree.sizes[path] for path in instructions})
    for folder in [folder for folder in folders if "/." not in folder][:MAX_FOLDERS]:
        if tree.bytes_read < MAX_BYTES:
            found.loaded[tree.virtual(folder + "/")] = _started_in(tree, folder)
    return found


def _started_in(tree: SpaceTree, folder: str) -> list[Loaded]:
    found = [_load(tree, agent, folder) for agent in coding.agents().values()]
    return sorted(found, key=lambda one: not one.why)


def _load(tree: SpaceTree, agent: CodingAgent, folder: str) -> Loaded:
    context = agent.read(Start(tree, folder, HOME))
    return Loaded(
        agent,
        tokens_of_bytes(len(context.text)),
        {tree.virtual(one.path): tree.words(one.why) for one in context.blocks},
        {tree.virtual(one.path): one.cut_at for one in context.blocks if one.cut_at},
        {tree.virtual(one.path): tree.words(one.why) for one in context.ignored},
        {tree.virtual(one.path): tree.words(one.trigger) for one in context.later},
    )
