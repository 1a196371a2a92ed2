"""What pages show around a file: the tree, a folder with authors and policies, whose prompts it is in, who is editing it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.db.prepared import any_of, prepared
from memoryhub.domain.files import find, mounts
from memoryhub.errors import HubError
from memoryhub.models import Agent, Editing, File, Mount, Person, Proposal, Revision, Source, Space
from memoryhub.stores import paths

EDITING_TIMEOUT = timedelta(seconds=60)
FOLDER_PAGE_SIZE = 200
GUIDELINES_PATH = "/memories/hub-guidelines.md"
POSITIONING_PATH = "/memories/hub-positioning.md"
# Files that stand in every prompt of the dialect `hub`, by the kind of their part.
PROMPT_FILES = {"positioning": POSITIONING_PATH, "guidelines": GUIDELINES_PATH}


@dataclass
class FolderEntry:
    """A name in a folder as a page shows it."""

    path: str
    name: str
    is_dir: bool
    size: int = 0
    modified_at: datetime | None = None
    author_kind: str = ""
    author_name: str = ""
    policy: str = ""
    store: str = ""  # of a mount: where its files are, in a word or two
    readers: list[str] = field(default_factory=list)
    is_in_every_prompt: bool = False
    waiting: int = 0
    tokens: int = 0
    files: int = 0  # below a folder
    revision: Revision | None = None  # the newest, of a folder the newest below it
    listed: str = ""  # the path of a folder that is joined with its only child, as it is listed
    note: str = ""
    is_current: bool = False
    children: list[FolderEntry] | None = None


def folder_entries(space: Space, prefix: str, start: int = 0) -> tuple[list[FolderEntry], int]:
    """A page of the entries of a folder, behind the last of them the sources that are missing in it; and how many there are."""
    found, total = find.page_of_entries(space, prefix, start, FOLDER_PAGE_SIZE, with_odd=True)
    rows = [FolderEntry(e.path, e.name, e.is_dir, e.size, e.modified_at, note=e.note) for e in found]
    if start + FOLDER_PAGE_SIZE >= total:
        rows += _missing_sources(space, source_readers(space), prefix, {row.path for row in rows})
    return rows, total


PENDING_BY_PATH = prepared(
    lambda space, wanted: (
        Proposal.objects.within(space)
        .filter(any_of("path", wanted), state="pending")
        .order_by()
        .values_list("path")
        .annotate(n=Count("pk"))
    )
)


def pending_by_path(space: Space, wanted: Iterable[str]) -> dict[str, int]:
    """How many proposals are pending on each of these paths."""
    return dict(PENDING_BY_PATH(space.pk, list(wanted)))


@dataclass(frozen=True)
class _TreeContext:
    """What every branch of a tree is made from."""

    space: Space
    path: str  # the folders above it are open
    mounts: dict[str, Mount]
    sources: Iterable[str]


PENDING_AT = prepared(
    lambda space, path: Proposal.objects.within(space).filter(state="pending", path=path).order_by("number")[:50]
)


def pending_proposals(space: Space, path: str) -> list[Proposal]:
    """The pending proposals of a path, oldest first, at most 50."""
    return PENDING_AT(space.pk, path)


def tree(space: Space, path: str) -> list[FolderEntry]:
    """The tree with the folders above a path open; pages fetch the others when a person opens them."""
    all_mounts = {mount.prefix: mount for mount in mounts.mounts_of_space(space)}
    return _branch(_TreeContext(space, path, all_mounts, source_readers(space)), "/", 0)


def _branch(context: _TreeContext, prefix: str, depth: int) -> list[FolderEntry]:
    try:
        entries, total = find.page_of_entries(context.space, prefix, 0, FOLDER_PAGE_SIZE)
    except HubError:
        entries, total = [], 0
    rows = [FolderEntry(e.path, e.name, e.is_dir, e.size, note=e.note) for e in entries]
    if depth == 0:
        heads = {prefix for prefix in context.mounts if not prefix.startswith("/")}
        rows += [FolderEntry(head, head.rstrip("/"), True) for head in sorted(heads)]
    if total > FOLDER_PAGE_SIZE:
        rows.append(FolderEntry(prefix, f"{total - FOLDER_PAGE_SIZE:,} more", True, note="more"))
    else:
        rows += _missing_sources(context.space, context.sources, prefix, {entry.path for entry in entries})
    pending = pending_by_path(context.space, [row.path for row in rows if not row.is_dir])
    for row in rows:
        row.is_current, row.waiting = row.path == context.path, pending.get(row.path, 0)
        if mount := context.mounts.get(row.path):
            row.policy, row.store = mount.policy, STORE_LABELS.get(mount.store, "")
        if row.is_dir and context.path.startswith(row.path) and row.path != prefix and depth < 24:
            row.children = _branch(context, row.path, depth + 1)
    return rows


STORE_LABELS = {
    Mount.Store.FILESYSTEM: "disk",
    Mount.Store.THREAD: "per thread",
    Mount.Store.VIEWS: "of memory",
}


THERE = prepared(
    lambda space, wanted: (
        File.objects.within(space)
        .filter(any_of("path", wanted), is_deleted=False, thread_id="", revision__gt=0)
        .values_list("path", flat=True)
    )
)


def _missing_sources(space: Space, sources: Iterable[str], prefix: str, listed: set[str]) -> list[FolderEntry]:
    """Entries for the sources that should be in a folder and are not; PROMPT_FILES need not be there."""
    absent = {path for path in set(sources) - {*PROMPT_FILES.values()} if paths.parent(path) == prefix} - listed
    if absent:
        absent -= set(THERE(space.pk, list(absent)))
    return [FolderEntry(path, path.rpartition("/")[2], False, note="missing") for path in sorted(absent)]


def deleted_files(space: Space, prefix: str) -> list[File]:
    """The files of a folder that were deleted last and can be restored, at most 20."""
    deleted = File.objects.within(space).filter(is_deleted=True, thread_id="", path__startswith=prefix)
    return list(deleted.order_by("-modified_at")[:20])


def mount_at(space: Space, path: str) -> Mount | None:
    """The mount of a path, None if there is none."""
    return mounts.find_mount(mounts.mounts_of_space(space), path)


# ---- whose prompts a file is in


SOURCES = prepared(lambda space: Source.objects.within(space))
WITH_MEMORY = prepared(lambda space: Agent.objects.within(space).filter(memory_is_on=True).order_by("name", "pk"))


def _sources(space: Space) -> list[Source]:
    return statements.read_once(space, "sources", lambda: SOURCES(space.pk))


def _agents_with_memory(space: Space) -> list[Agent]:
    return statements.read_once(space, "agents with memory", lambda: WITH_MEMORY(space.pk))


def source_readers(space: Space) -> dict[str, list[str]]:
    """For each path that prompts show, the names of the agents that have it: for lists of many files."""
    everything = _sources(space)
    listed = [source for source in everything if source.is_on]
    have_own = {source.agent_id for source in everything} - {None}
    found: dict[str, list[str]] = {}
    for agent in _agents_with_memory(space):
        of = agent.pk if agent.pk in have_own else None
        shown = [source.path for source in listed if source.agent_id == of]
        if agent.fetched_dialect.family == "hub":  # which takes these in without a source
            shown += PROMPT_FILES.values()
        for path in dict.fromkeys(shown):
            found.setdefault(path, []).append(agent.name)
    return found


def in_every_prompt(space: Space) -> set[str]:
    """The paths that stand in the prompt of every agent with memory, and of the next one that somebody makes."""
    listed = _sources(space)
    shared = {source.path for source in listed if source.agent_id is None and source.is_on}
    own: dict[int, set[str]] = {}
    for source in listed:
        if source.agent_id is not None:
            own.setdefault(source.agent_id, set()).update([source.path] if source.is_on else [])
    with_memory = _agents_with_memory(space)
    for agent in with_memory:
        shared &= own.get(agent.pk, shared)
    is_hub = all(agent.fetched_dialect.family == "hub" for agent in with_memory)
    return shared | set(PROMPT_FILES.values()) if is_hub else shared


def agents_reading(space: Space, path: str) -> list[Agent]:
    """The agents whose prompt has this path: by their own list of sources, or by the space's if they have none."""
    listed = _sources(space)
    have_own = {source.agent_id for source in listed} - {None}
    showing = {source.agent_id for source in listed if source.path == path and source.is_on}
    everyone = _agents_with_memory(space)
    if path in PROMPT_FILES.values():
        return [agent for agent in everyone if agent.fetched_dialect.family == "hub"]
    shown_to_others = None in showing
    return [agent for agent in everyone if agent.pk in showing or (shown_to_others and agent.pk not in have_own)]


# ---- who else has the file open


def note_editing(space: Space, person: Person, path: str) -> list[Editing]:
    """Notes that this person has the file open in the editor, and answers who else has."""
    now = timezone.now()
    Editing.objects.update_or_create(space=space, path=path, person=person, defaults={"seen_at": now})
    others = Editing.objects.within(space).filter(path=path, seen_at__gte=now - EDITING_TIMEOUT).exclude(person=person)
    return list(others.select_related("person").order_by("seen_at"))


def stop_editing(space: Space, person: Person, path: str) -> None:
    """Notes that this person has closed the file."""
    Editing.objects.within(space).filter(path=path, person=person).delete()
