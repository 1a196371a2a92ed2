"""What pages show around a file: the tree, a folder with authors and policies, whose prompts it is in, who is editing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.utils import timezone

from memoryhub.domain.files import find, mounts
from memoryhub.domain.files.read import Published
from memoryhub.domain.files.write import read_many
from memoryhub.errors import HubError
from memoryhub.models import Agent, Editing, File, Mount, Person, PolicyRule, Proposal, Source, Space
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
    readers: list[str] = field(default_factory=list)
    waiting: int = 0
    note: str = ""
    is_current: bool = False
    children: list[FolderEntry] | None = None


FolderCache = dict[str, list[find.Entry]]  # entries by folder, for one page that shows folders twice


def folder_entries(space: Space, prefix: str, cache: FolderCache) -> list[FolderEntry]:
    """The entries of a folder, and sources that are missing in it; what was read is put into the cache."""
    found = cache[prefix] = find.list_entries(space, prefix, with_odd=True)
    listed = {entry.path for entry in found}
    missing = [path for path in source_readers(space) if paths.parent(path) == prefix and path not in listed]
    rows = [FolderEntry(e.path, e.name, e.is_dir, e.size, e.modified_at, note=e.note) for e in found]
    rows += [FolderEntry(path, path.rpartition("/")[2], False, note="missing") for path in missing]
    return rows


def add_details(space: Space, rows: Sequence[FolderEntry]) -> Sequence[FolderEntry]:
    """Adds to the entries of one page their last author, policy, prompts and pending proposals."""
    wanted = [row.path for row in rows if not row.is_dir]
    files = {file.path: file for file in File.objects.within(space).filter(path__in=wanted, thread_id="")}
    readers = source_readers(space)
    pending = pending_by_path(space, wanted)
    all_mounts, all_rules = mounts.mounts_of_space(space), list(PolicyRule.objects.within(space).filter(is_on=True))
    for row in rows:
        mount = mounts.find_mount(all_mounts, row.path)
        rule = next((rule for rule in all_rules if mounts.rule_applies(rule, row.path, None)), None)
        row.policy = (rule.policy if rule else mount.policy) if mount else ""
        row.readers, row.waiting = readers.get(row.path, []), pending.get(row.path, 0)
        if file := files.get(row.path):
            row.author_kind, row.author_name = file.author_kind, file.author_name
            row.note = row.note or file.problem
    return rows


def pending_by_path(space: Space, wanted: Iterable[str]) -> dict[str, int]:
    """How many proposals are pending on each of these paths."""
    pending = Proposal.objects.within(space).filter(state="pending", path__in=list(wanted)).order_by()
    return dict(pending.values_list("path").annotate(n=Count("pk")))


@dataclass(frozen=True)
class _TreeContext:
    """What every branch of a tree is made from."""

    space: Space
    path: str  # the folders above it are open
    mounts: dict[str, Mount]
    sources: Iterable[str]
    cache: FolderCache


def pending_proposals(space: Space, path: str) -> list[Proposal]:
    """The pending proposals of a path, oldest first, at most 50."""
    return list(Proposal.objects.within(space).filter(state="pending", path=path).order_by("number")[:50])


def tree(space: Space, path: str, cache: FolderCache | None = None) -> list[FolderEntry]:
    """The tree with the folders above a path open; pages fetch the others when a person opens them."""
    all_mounts = {mount.prefix: mount for mount in mounts.mounts_of_space(space)}
    return _branch(_TreeContext(space, path, all_mounts, source_readers(space), {} if cache is None else cache), "/", 0)


def _branch(context: _TreeContext, prefix: str, depth: int) -> list[FolderEntry]:
    try:
        entries = context.cache[prefix] if prefix in context.cache else find.list_entries(context.space, prefix)
    except HubError:
        entries = []
    rows = [FolderEntry(e.path, e.name, e.is_dir, e.size, note=e.note) for e in entries[:FOLDER_PAGE_SIZE]]
    if depth == 0:
        heads = {prefix for prefix in context.mounts if not prefix.startswith("/")}
        rows += [FolderEntry(head, head.rstrip("/"), True) for head in sorted(heads)]
    if len(entries) > FOLDER_PAGE_SIZE:
        rows.append(FolderEntry(prefix, f"{len(entries) - FOLDER_PAGE_SIZE:,} more", True, note="more"))
    else:
        rows += _missing_sources(context, prefix, {entry.path for entry in entries})
    pending = pending_by_path(context.space, [row.path for row in rows if not row.is_dir])
    for row in rows:
        row.is_current, row.waiting = row.path == context.path, pending.get(row.path, 0)
        if mount := context.mounts.get(row.path):
            row.policy = mount.policy + STORE_LABELS.get(mount.store, "")
        if row.is_dir and context.path.startswith(row.path) and row.path != prefix and depth < 24:
            row.children = _branch(context, row.path, depth + 1)
    return rows


STORE_LABELS = {Mount.Store.FILESYSTEM: " · disk", Mount.Store.THREAD: " · per thread"}


def _missing_sources(context: _TreeContext, prefix: str, listed: set[str]) -> list[FolderEntry]:
    """Entries for the sources that should be in a folder and are not."""
    absent = [path for path in context.sources if paths.parent(path) == prefix and path not in listed]
    return [FolderEntry(path, path.rpartition("/")[2], False, note="missing") for path in absent]


def search_paths(space: Space, words: str) -> list[FolderEntry]:
    """Files whose path has every word, for the filter above the tree."""
    found = File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0)
    for word in words.split()[:6]:
        found = found.filter(path__icontains=word)
    return [
        FolderEntry(f.path, f.path.rpartition("/")[2], False, f.size, f.modified_at)
        for f in found.order_by("path")[:FOLDER_PAGE_SIZE]
    ]


def deleted_files(space: Space, prefix: str) -> list[File]:
    """The files of a folder that were deleted last and can be restored, at most 20."""
    deleted = File.objects.within(space).filter(is_deleted=True, thread_id="", path__startswith=prefix)
    return list(deleted.order_by("-modified_at")[:20])


def agents_md_files(space: Space, prefix: str) -> list[FolderEntry]:
    """The AGENTS.md files that apply in a folder: its own and those of the folders above, outermost first."""
    head, rest = paths.split_head(prefix)
    parts = [part for part in rest.split("/") if part]
    folders = [head, *(head + "/".join(parts[: n + 1]) + "/" for n in range(len(parts)))]
    found = read_many(space, [folder + "AGENTS.md" for folder in folders])
    return [
        FolderEntry(path, "AGENTS.md", False, len(what.content), what.modified_at, what.author_kind, what.author_name)
        for path, what in found.items()
        if isinstance(what, Published)
    ]


def mount_at(space: Space, path: str) -> Mount | None:
    """The mount of a path, None if there is none."""
    return mounts.find_mount(mounts.mounts_of_space(space), path)


# ---- whose prompts a file is in


def source_readers(space: Space) -> dict[str, list[str]]:
    """For each path that is a source, the names of the agents whose prompt it is in: for lists of many files."""
    listed = [source for source in Source.objects.within(space) if source.is_on]
    have_own = {source.agent_id for source in Source.objects.within(space).exclude(agent=None)}
    found: dict[str, list[str]] = {}
    for agent in Agent.objects.within(space).filter(memory_is_on=True).order_by("name", "pk"):
        for source in listed:
            if source.agent_id == (agent.pk if agent.pk in have_own else None):
                names = found.setdefault(source.path, [])
                if agent.name not in names:
                    names.append(agent.name)
    return found


def agents_reading(space: Space, path: str) -> list[Agent]:
    """The agents whose prompt has this path: by their own list of sources, or by the space's if they have none."""
    listed = Source.objects.within(space)
    have_own = set(listed.exclude(agent=None).values_list("agent_id", flat=True))
    showing = set(listed.filter(path=path, is_on=True).values_list("agent_id", flat=True))
    everyone = Agent.objects.within(space).filter(memory_is_on=True).order_by("name", "pk")
    if path in PROMPT_FILES.values():
        return [agent for agent in everyone if agent.fetched_dialect.family == "hub"]
    shown = Q(pk__in=showing - {None})
    if None in showing:
        shown |= ~Q(pk__in=have_own)
    return list(everyone.filter(shown))


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
