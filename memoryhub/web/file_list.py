"""A folder as a code host shows it: one list, the newest change, and the text that explains the folder below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from memoryhub.dialects import tokens_of_bytes
from memoryhub.domain import contexts, files
from memoryhub.domain.files import FolderEntry, Published
from memoryhub.errors import NotFound
from memoryhub.models import Mount, Revision, Space
from memoryhub.text import markdown
from memoryhub.web import file_views
from memoryhub.web.helpers import parse_number
from memoryhub.web.readers import Readers, readers_of
from memoryhub.web.surveys import survey_of

EXPLAINS = ("AGENTS.md", "README.md", "Readme.md", "readme.md")  # the first of them is shown below the list
MAX_SHOWN = 100_000  # bytes of it


@dataclass(frozen=True)
class Explaining:
    """The text that is shown below a list."""

    path: str
    name: str
    tokens: int
    rendered: markdown.Rendered
    readers: Readers


def only_mount(space: Space, where: str) -> Mount | None:
    """The mount that a start page leads into: the only one."""
    mounts = files.mounts_of_space(space) if where == "/" else []
    return mounts[0] if len(mounts) == 1 and mounts[0].prefix != "/" else None


def folder(space: Space, where: str, page: str, show: str = "", *, manages: bool) -> dict[str, Any]:
    """The context of a folder's page, or of the start page above several mounts; NotFound for no folder. With `show` it lists
    the files below it that a filter of this name leaves. Who manages the space is told what the mount leaves out."""
    mounts = files.mounts_of_space(space)
    mount = files.find_mount(mounts, where)
    sources = contexts.source_readers(space)
    filters = filters_of(space, mount, where, sources) if mount else {}
    if show == "unwritten":
        filters["unwritten"] = files.entries_of(where, files.unwritten_files(space, where))
    chosen = filters.get(show)
    if mount is None and where == "/" and chosen is None:
        entries, total, next_page = mount_entries(mounts), len(mounts), None
    else:
        at = max(1, parse_number(page, 1, digits=5))
        start = (at - 1) * files.FOLDER_PAGE_SIZE
        if chosen is None:
            entries, total = files.folder_entries(space, where, start)
        else:
            entries, total = chosen[start : start + files.FOLDER_PAGE_SIZE], len(chosen)
        next_page = at + 1 if start + files.FOLDER_PAGE_SIZE < total else None
    if not entries and mount is None and where != "/":
        raise NotFound(_("There is no such folder."))
    rows = files.add_details(space, entries)
    contexts.add_readers(space, rows, sources)
    return {
        "where": where, "name": file_views.crumbs(where)[-1].name if where != "/" else "", "crumbs": file_views.crumbs(where),
        "show": show if chosen is not None else "", "filters": filters,
        "mounts": mounts, "mount": mount, "rows": rows, "entries": total, "next_page": next_page,
        "survey": survey_of(mount) if manages and mount and where == mount.prefix else None,
        "gone": files.deleted_files(space, where) if mount else [], "explaining": explaining(space, where) if mount else None,
        "threads": files.threads_in(space, mount) if mount and mount.store == Mount.Store.THREAD else [],
        **newest_below(space, where),
    }  # fmt: skip


def filters_of(space: Space, mount: Mount, where: str, sources: contexts.SourceReaders) -> dict[str, list[FolderEntry]]:
    """The files below a folder that some agent reads, and those with a pending proposal, by the name of the filter."""
    read = contexts.read_paths(space, mount, where, sources)
    waiting = [path for path, _count in files.pending_below(space, where)]
    known = files.files_at(space, {*read, *waiting})
    new = [path for path in read if path not in known]
    if any(
        isinstance(one, Published) for one in files.read_many(space, new).values()
    ):  # just put on a disk: taken in now
        known |= files.files_at(space, new)
    return {
        "read": files.entries_of(where, [known[path] for path in read if path in known]),
        "waiting": files.entries_of(where, [known[path] for path in sorted(waiting) if path in known]),
    }


def mount_entries(mounts: list[Mount]) -> list[FolderEntry]:
    """A row for each mount, for a start page above several."""
    return [
        FolderEntry(mount.prefix, mount.prefix, True, policy=mount.policy, store=mount.store, note=mount.problem)
        for mount in mounts
    ]


def newest_below(space: Space, where: str) -> dict[str, Any]:
    """How much lies below a folder, and the newest change of it."""
    below = files.below_folders(space, [where]).get(where)
    newest: Revision | None = files.newest_revisions(space, [below.newest]).get(below.newest) if below else None
    return {"below": below, "latest": newest}


def explaining(space: Space, where: str) -> Explaining | None:
    """The text of the folder that says what it is for: its AGENTS.md, else its README.md."""
    asked = [where + name for name in EXPLAINS]
    for path, found in files.read_many(space, asked).items():
        if isinstance(found, Published) and found.is_text and len(found.content) <= MAX_SHOWN:
            rendered, size = markdown.render(found.content.decode()), tokens_of_bytes(len(found.content))
            return Explaining(path, path.rpartition("/")[2], size, rendered, readers_of(space, path))
    return None
