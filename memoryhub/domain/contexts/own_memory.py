"""Memory that coding agents write themselves, in mounted directories: its files with their limits, and changes of one entry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memoryhub.domain import coding_agents, files, proposals
from memoryhub.domain.accounts import require
from memoryhub.domain.coding_agents import Entry, Format, Limit
from memoryhub.errors import Conflict, HubError, Invalid, NotFound
from memoryhub.models import Actor, File, Mount, Revision, Space
from memoryhub.text.lines import text_as_bytes

NAMES = ("/MEMORY.md", "/USER.md", "/SOUL.md", "/IDENTITY.md", "/memory_summary.md", "/raw_memories.md")
FOLDERS = ("/memory/", "/notes/")  # in which every Markdown file may be memory
MAX_LISTED = 200
MAX_FOUND = 200


@dataclass(frozen=True)
class OwnMemory:
    """A memory file that an agent writes, as it is published."""

    path: str
    format: Format
    text: str
    sha256: str
    has_secrets: bool

    @cached_property
    def entries(self) -> list[Entry]:
        return coding_agents.entries_of(self.format, self.text)

    @cached_property
    def limits(self) -> list[Limit]:
        return coding_agents.limits_of(self.format, self.text)


def own_memories(space: Space) -> list[OwnMemory]:
    """The memory files of a space that agents write themselves, by path; those that cannot be read just now are left out."""
    mounts = [one for one in files.mounts_of_space(space) if one.store == Mount.Store.FILESYSTEM]
    known = File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0).order_by("path")
    found = []
    for path in known.values_list("path", flat=True).iterator():
        may_be = path.endswith(NAMES) or (path.endswith(".md") and any(folder in path for folder in FOLDERS))
        if may_be and _format(mounts, path):
            try:
                found.append(own_memory(space, path))
            except HubError:
                continue
        if len(found) >= MAX_LISTED:
            break
    return found


def topic_paths(space: Space, memory: OwnMemory) -> dict[int, str]:
    """The file beside the index that an entry leads to, by the number of the entry."""
    folder = memory.path.rpartition("/")[0]
    named = {
        one.number: f"{folder}/{one.target.removeprefix('./')}" for one in memory.entries if _is_beside(one.target)
    }
    there = files.existing_paths(space, named.values())
    return {number: path for number, path in named.items() if path in there}


def _is_beside(target: str) -> bool:
    parts = target.removeprefix("./").split("/")
    return bool(target) and not target.startswith("/") and ".." not in parts and "" not in parts


def find_entries(memories: list[OwnMemory], query: str) -> list[tuple[OwnMemory, Entry]]:
    """The entries of all agents that hold every word of a query, in the order of the files."""
    words = query.casefold().split()
    found = [(memory, one) for memory in memories for one in memory.entries if _holds(one, words)]
    return found[:MAX_FOUND]


def _holds(entry: Entry, words: list[str]) -> bool:
    text = entry.text.casefold()
    return bool(words) and all(word in text for word in words)


def own_memory(space: Space, path: str) -> OwnMemory:
    """One memory file with its entries; refused where the path is none, or its text is no UTF-8."""
    known = _format(files.mounts_of_space(space), path)
    if known is None:
        raise NotFound("No agent keeps its own memory at this path.")
    published = files.read(space, path)
    try:
        text = published.content.decode()
    except UnicodeDecodeError:
        raise Invalid("This file is no UTF-8 text. Replace it as a whole.", code="invalid_utf8") from None
    row = files.file_row(space, path)
    return OwnMemory(path, known, text, published.sha256, bool(row.disk_secrets))


def _format(mounts: list[Mount], path: str) -> Format | None:
    """The format by where the file really lies: `/claude/` may be the folder `.claude`."""
    mount = files.find_mount(mounts, path)
    if mount is None or mount.store != Mount.Store.FILESYSTEM:
        return None
    return coding_agents.format_of(f"{mount.directory.rstrip('/')}/{path[len(mount.prefix) :]}")


def change_entry(
    space: Space, actor: Actor, path: str, *, seen: str, number: int | None = None, text: str | None = None
) -> Revision:
    """Changes one entry of an agent's memory: another text, none (it is removed), or without a number a further entry. `seen` is
    the sha256 of the file that the person looked at; where it moved on, nothing is written."""
    require(actor, "edit")
    memory = own_memory(space, path)
    if memory.sha256 != seen:
        raise Conflict("The file changed since you looked. Look at its entries again.", code="changed_since_seen")
    if memory.has_secrets:
        raise Conflict("This file contains a secret on disk. Remove it there first.", code="secret_on_disk")
    if number is None:
        new, does = coding_agents.and_entry(memory.format, memory.text, text or ""), "Added an entry"
    elif text is None:
        new, does = coding_agents.without_entry(memory.format, memory.text, number), f"Removed entry {number}"
    else:
        new, does = coding_agents.with_entry(memory.format, memory.text, number, text), f"Changed entry {number}"
    content = text_as_bytes(new)
    proposals.check_content(space, path, content)
    return files.write(space, actor, path, content, reason=does, if_match=seen)
