"""What pages show around a file: the tree, a folder with its authors and policies, who else is editing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count
from django.utils import timezone

from memoryhub.domain.files import find, mounts, prompt_readers
from memoryhub.domain.files.read import Published
from memoryhub.domain.files.write import read_many
from memoryhub.errors import HubError
from memoryhub.models import Editing, File, Mount, Person, PolicyRule, Proposal, Space
from memoryhub.stores import paths

EDITING_TIMEOUT = timedelta(seconds=60)
FOLDER_PAGE_SIZE = 200


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


FolderCache = dict[str, list[find.Entry]]  # what folders held, for one page that shows them twice


def folder_entries(space: Space, prefix: str, seen: FolderCache) -> list[FolderEntry]:
    """What a folder holds; sources that are missing there stand in it too."""
    found = seen[prefix] = find.list_entries(space, prefix, with_odd=True)
    listed = {entry.path for entry in found}
    missing = [
        path for path in prompt_readers.source_readers(space) if paths.parent(path) == prefix and path not in listed
    ]
    rows = [FolderEntry(e.path, e.name, e.is_dir, e.size, e.modified_at, note=e.note) for e in found]
    rows += [FolderEntry(path, path.rpartition("/")[2], False, note="missing") for path in missing]
    return rows


def add_details(space: Space, rows: Sequence[FolderEntry]) -> Sequence[FolderEntry]:
    """Names with their last author, policy, the prompts they are in and what waits for a decision: for one page of them."""
    wanted = [row.path for row in rows if not row.is_dir]
    known = {file.path: file for file in File.objects.within(space).filter(path__in=wanted, thread_id="")}
    readers = prompt_readers.source_readers(space)
    waiting = pending_by_path(space, wanted)
    mounted, rules = mounts.mounts_of_space(space), list(PolicyRule.objects.within(space).filter(is_on=True))
    for row in rows:
        mount = mounts.find_mount(mounted, row.path)
        rule = next((rule for rule in rules if mounts.rule_applies(rule, row.path, None)), None)
        row.policy = (rule.policy if rule else mount.policy) if mount else ""
        row.readers, row.waiting = readers.get(row.path, []), waiting.get(row.path, 0)
        if file := known.get(row.path):
            row.author_kind, row.author_name = file.author_kind, file.author_name
            row.note = row.note or file.problem
    return rows


def pending_by_path(space: Space, wanted: Iterable[str]) -> dict[str, int]:
    """How many proposals wait for a decision on each path."""
    pending = Proposal.objects.within(space).filter(state="pending", path__in=list(wanted)).order_by()
    return dict(pending.values_list("path").annotate(n=Count("pk")))


@dataclass(frozen=True)
class _TreeContext:
    """What every branch of a tree is drawn on."""

    space: Space
    path: str  # the way to it is opened
    mounts: dict[str, Mount]
    sources: Iterable[str]
    seen: FolderCache


def pending_proposals(space: Space, path: str) -> list[Proposal]:
    """The proposals that wait for a decision on a path, oldest first."""
    return list(Proposal.objects.within(space).filter(state="pending", path=path).order_by("number")[:50])


def tree(space: Space, path: str, seen: FolderCache | None = None) -> list[FolderEntry]:
    """The tree with the folders on the way to a path opened; the others open when they are asked for."""
    mounted = {mount.prefix: mount for mount in mounts.mounts_of_space(space)}
    return _branch(
        _TreeContext(space, path, mounted, prompt_readers.source_readers(space), {} if seen is None else seen), "/", 0
    )


def _branch(ground: _TreeContext, prefix: str, depth: int) -> list[FolderEntry]:
    try:
        entries = ground.seen[prefix] if prefix in ground.seen else find.list_entries(ground.space, prefix)
    except HubError:
        entries = []
    rows = [FolderEntry(e.path, e.name, e.is_dir, e.size, note=e.note) for e in entries[:FOLDER_PAGE_SIZE]]
    if depth == 0:
        heads = {prefix for prefix in ground.mounts if not prefix.startswith("/")}
        rows += [FolderEntry(head, head.rstrip("/"), True) for head in sorted(heads)]
    if len(entries) > FOLDER_PAGE_SIZE:
        rows.append(FolderEntry(prefix, f"{len(entries) - FOLDER_PAGE_SIZE:,} more", True, note="more"))
    else:
        rows += _missing_sources(ground, prefix, {entry.path for entry in entries})
    waiting = pending_by_path(ground.space, [row.path for row in rows if not row.is_dir])
    for row in rows:
        row.is_current, row.waiting = row.path == ground.path, waiting.get(row.path, 0)
        if mount := ground.mounts.get(row.path):
            row.policy = mount.policy + STORE_LABELS.get(mount.store, "")
        if row.is_dir and ground.path.startswith(row.path) and row.path != prefix and depth < 24:
            row.children = _branch(ground, row.path, depth + 1)
    return rows


STORE_LABELS = {Mount.Store.FILESYSTEM: " · disk", Mount.Store.THREAD: " · per thread"}


def _missing_sources(ground: _TreeContext, prefix: str, listed: set[str]) -> list[FolderEntry]:
    """Sources that are to lie in a folder and do not."""
    absent = [path for path in ground.sources if paths.parent(path) == prefix and path not in listed]
    return [FolderEntry(path, path.rpartition("/")[2], False, note="missing") for path in absent]


def search_paths(space: Space, words: str) -> list[FolderEntry]:
    """Files whose path holds every word, for the filter above the tree."""
    found = File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0)
    for word in words.split()[:6]:
        found = found.filter(path__icontains=word)
    return [
        FolderEntry(f.path, f.path.rpartition("/")[2], False, f.size, f.modified_at)
        for f in found.order_by("path")[:FOLDER_PAGE_SIZE]
    ]


def deleted_files(space: Space, prefix: str) -> list[File]:
    """Files of a folder that were deleted and can be restored."""
    gone = File.objects.within(space).filter(is_deleted=True, thread_id="", path__startswith=prefix)
    return list(gone.order_by("-modified_at")[:20])


def agents_md_files(space: Space, prefix: str) -> list[FolderEntry]:
    """The AGENTS.md files that apply in a folder, outermost first, as tools that nest them read them."""
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
    return mounts.find_mount(mounts.mounts_of_space(space), path)


# ---- who else has the file open


def note_editing(space: Space, person: Person, path: str) -> list[Editing]:
    """Says that this person has the file open in the editor, and answers who else has."""
    now = timezone.now()
    Editing.objects.update_or_create(space=space, path=path, person=person, defaults={"seen_at": now})
    others = Editing.objects.within(space).filter(path=path, seen_at__gte=now - EDITING_TIMEOUT).exclude(person=person)
    return list(others.select_related("person").order_by("seen_at"))


def stop_editing(space: Space, person: Person, path: str) -> None:
    """Says that this person is done with the file."""
    Editing.objects.within(space).filter(path=path, person=person).delete()
