"""Where a line of a prompt came from: a file and its revision, an entry of memory, or a setting of the agent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memoryhub.dialects import Part
from memoryhub.domain import files, retrieval
from memoryhub.domain.prompts.assemble import Prompt
from memoryhub.models import (
    Actor,
    Agent,
    AgentChange,
    Chunk,
    File,
    LongtermEntry,
    Revision,
    Space,
    WorkingEntry,
)  # fmt: skip
from memoryhub.stores import paths

MAX_CHANGES = 200  # of an agent's settings that are looked through


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """Where one line of a prompt came from, and who wrote it last."""

    number: int
    text: str
    label: str
    kind: str
    path: str = ""
    file_line: int | None = None
    revision: Revision | None = None
    author: Actor | None = None  # of the line: who wanted the revision, or its reviewer
    change: AgentChange | None = None  # of the agent's settings, that brought it
    hot: WorkingEntry | None = None
    cold: LongtermEntry | None = None


def line_origin(space: Space, agent: Agent, prompt: Prompt, number: int, query: str = "") -> LineOrigin | None:
    """What stands behind a line of the prompt: a file and the revision that wrote it, an entry, or a setting."""
    lines = prompt.data.split(b"\n")
    if not 1 <= number <= len(lines):
        return None
    start = sum(len(line) + 1 for line in lines[: number - 1])
    text = lines[number - 1].decode()
    part = next(
        (one for one in prompt.parts if one.start <= start < one.end), prompt.parts[-1] if prompt.parts else None
    )
    if part is None:
        return None
    above = prompt.data[part.start : start].split(b"\n")
    origin = LineOrigin(number, text, part.label, part.kind)
    if part.kind == "source" or part.kind in files.PROMPT_FILES:
        path = files.PROMPT_FILES.get(part.kind, part.label)
        if view := files.view_at(space, paths.of_source(path)):
            return view_origin(space, agent, view, origin, query)
        return file_origin(space, prompt, path, origin, above.count(lines[number - 1]))
    if part.kind in ("working", "longterm"):
        return entry_origin(space, part, origin, sum(line.startswith(b"- ") for line in [*above, lines[number - 1]]))
    if part.kind in SETTING_OF_PART:
        return replace(origin, change=setting_change(agent, SETTING_OF_PART[part.kind]))
    return origin


def view_origin(space: Space, agent: Agent, view: str, origin: LineOrigin, query: str) -> LineOrigin:
    """The entry behind a line of a file that shows memory."""
    line = retrieval.views.line_at(space, agent, view, origin.text, query)
    if line is None:
        return origin
    if line.layer == retrieval.views.WORKING:
        return replace(origin, hot=WorkingEntry.objects.within(space).filter(pk=line.id).first())
    return replace(origin, cold=LongtermEntry.objects.within(space).filter(number=line.id).first())


SETTING_OF_PART = {"base": "system_prompt", "persona": "persona"}


def setting_change(agent: Agent, key: str) -> AgentChange | None:
    """The change of the agent's settings that brought the value it has now."""
    rows = AgentChange.objects.within(agent.space_id).filter(agent_id=agent.pk).order_by("-pk")[:MAX_CHANGES]
    found = None
    for row in rows:
        if row.values.get(key) != getattr(agent, key):
            break
        found = row
    return found


def entry_origin(space: Space, part: Part, origin: LineOrigin, nth: int) -> LineOrigin:
    """The entry behind a line of working or long-term memory; its heading has none."""
    if not 1 <= nth <= len(part.entries):
        return origin
    pk = part.entries[nth - 1]
    if part.kind == "working":
        return replace(origin, hot=WorkingEntry.objects.within(space).filter(pk=pk).first())
    piece = Chunk.objects.within(space).filter(pk=pk).first()
    entry = LongtermEntry.objects.within(space).filter(pk=piece.entry_id).first() if piece else None
    return replace(origin, cold=entry)


def file_origin(space: Space, prompt: Prompt, path: str, origin: LineOrigin, nth: int) -> LineOrigin:
    """The line in its file, and the revision that brought it; of equal lines the one at the same place among them."""
    file = File.objects.within(space).filter(path=paths.of_source(path), thread_id="", is_deleted=False).first()
    if origin.kind == "guidelines" and file is None:
        return origin  # the hub's own words
    shown = next((one["revision"] for one in prompt.sources if one["path"] == path), file.revision if file else None)
    placed = replace(origin, path=path)
    wanted = origin.text.rstrip()
    if file is None or not shown or not wanted:
        return placed
    equal = [row for row in files.blame(file, shown) if row.text.rstrip() == wanted]
    if not equal:
        return placed
    row = equal[min(nth, len(equal) - 1)]
    return replace(placed, file_line=row.number, revision=row.revision, author=row.author)
