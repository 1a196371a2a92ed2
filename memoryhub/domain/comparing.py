"""Two prompts of one agent side by side: what differs, and the cause of each difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryhub.dialects import Part
from memoryhub.domain import diffs, gathering, prompts, revisions
from memoryhub.domain.diffs import Diff
from memoryhub.domain.prompts import Prompt
from memoryhub.models import (
    Agent,
    AgentChange,
    Chunk,
    DialectTemplate,
    File,
    LongtermEntry,
    Proposal,
    Revision,
    SourceChange,
    Space,
    WorkingEntry,
)  # fmt: skip
from memoryhub.stores import paths

MOST = 200
SETTINGS = {
    "dialect": "the dialect", "system_prompt": "the base prompt", "persona": "the persona", "budget": "the budget",
    "memory_is_on": "whether memory is on", "template": "the template", "gives_way": "what gives way",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that happened between two moments and changed what an agent gets."""

    at: datetime
    kind: str  # source | settings | sources | template | working | longterm
    says: str
    who_kind: str = ""
    who: str = ""
    path: str = ""
    revision: int | None = None
    proposal: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two moments: their prompts, the diff, where a provider's cache breaks, and why."""

    before: Prompt
    after: Prompt
    diff: Diff
    first: int | None
    causes: list[Cause]

    @property
    def more_tokens(self) -> int:
        return self.after.tokens - self.before.tokens


def moments(space: Space, agent: Agent, start: datetime, end: datetime | None, **asked: Any) -> Compared:
    """What the agent would have got at two moments (`end` None: now), with everything that happened in between."""
    before = prompts.assemble(space, agent, at=start, **asked)
    after = prompts.assemble(space, agent, at=end, **asked)
    diff = diffs.compare(before.text, after.text)
    first = prompts.first_change(before.data, after.data)
    return Compared(before, after, diff, first, causes(space, agent, before, after, start, end))


def causes(
    space: Space, agent: Agent, before: Prompt, after: Prompt, start: datetime, end: datetime | None
) -> list[Cause]:
    """Everything between two moments that touches this agent's prompt, newest first."""
    between = {"created_at__gt": start, **({"created_at__lte": end} if end else {})}
    paths = {one["path"] for prompt in (before, after) for one in prompt.sources}
    found = [
        *revised(space, paths, between),
        *settings_changed(agent, between),
        *lists_changed(space, agent, between),
        *templates_taken(space, before, after, between),
        *remembered(before, after, start, end),
    ]
    return sorted(found, key=lambda cause: cause.at, reverse=True)[:MOST]


def revised(space: Space, paths: set[str], between: dict[str, Any]) -> list[Cause]:
    rows = Revision.objects.within(space).filter(path__in=paths, **between).defer("content").order_by("-pk")[:MOST]
    deciders = decided_by(space, {row.proposal for row in rows if row.proposal})
    return [
        Cause(
            row.created_at, "source", says_of(row, deciders), row.actor_kind, row.actor_name, row.path, row.number,
            row.proposal, row.reason,
        )
        for row in rows
    ]  # fmt: skip


def says_of(row: Revision, deciders: dict[int, str]) -> str:
    if row.proposal:
        return f"proposal {row.proposal} was approved" + (f" by {who}" if (who := deciders.get(row.proposal)) else "")
    return {"delete": "deleted it", "restore": "restored it", "move": "moved it", "create": "made it"}.get(
        row.kind, "changed it"
    )


def decided_by(space: Space, numbers: set[int]) -> dict[int, str]:
    """Who approved each of these proposals."""
    rows = Proposal.objects.within(space).filter(number__in=numbers).values_list("number", "decided_by_name")
    return dict(rows)


def settings_changed(agent: Agent, between: dict[str, Any]) -> list[Cause]:
    """Each change of the agent's own settings, with what exactly was changed."""
    mine = AgentChange.objects.within(agent.space_id).filter(agent_id=agent.pk)
    earlier = mine.filter(created_at__lte=between["created_at__gt"]).order_by("-pk").first()
    values, found = (earlier.values if earlier else None), []
    for row in mine.filter(**between).order_by("pk")[:MOST]:
        changed = [word for key, word in SETTINGS.items() if values and values.get(key) != row.values.get(key)]
        says = "changed " + ", ".join(changed) if changed else "made the agent"
        found.append(Cause(row.created_at, "settings", says, row.actor_kind, row.actor_name))
        values = row.values
    return found


def lists_changed(space: Space, agent: Agent, between: dict[str, Any]) -> list[Cause]:
    rows = SourceChange.objects.within(space).filter(agent_key__in=(0, agent.pk), **between).order_by("-pk")[:MOST]
    return [
        Cause(
            row.created_at, "sources",
            f"set the sources to {', '.join(one['path'] for one in row.sources if one.get('is_on', True)) or 'none'}",
            row.actor_kind, row.actor_name,
        )
        for row in rows
    ]  # fmt: skip


def templates_taken(space: Space, before: Prompt, after: Prompt, between: dict[str, Any]) -> list[Cause]:
    forms = {before.dialect, after.dialect}
    rows = DialectTemplate.objects.filter(space_id__in=(0, space.pk), form__in=forms, **between)
    return [
        Cause(row.created_at, "template", f"the template of {row.family} {row.version} was taken from {row.came_from}", "hub", "hub")
        for row in rows[:MOST]
    ]  # fmt: skip


def remembered(before: Prompt, after: Prompt, start: datetime, end: datetime | None) -> list[Cause]:
    """Entries of working and long-term memory that came, and those that expired or gave way meanwhile."""
    had = {(entry.score == 1.0, entry.id): entry for entry in before.entries}
    has = {(entry.score == 1.0, entry.id): entry for entry in after.entries}
    came = [
        Cause(entry.created_at, "working" if hot else "longterm", "was admitted" if hot else "was promoted", reason=entry.content[:200])
        for (hot, pk), entry in has.items()
        if (hot, pk) not in had
    ]  # fmt: skip
    when = end or start
    left = [
        Cause(when, "working" if hot else "longterm", "expired or gave way to newer ones", reason=entry.content[:200])
        for (hot, pk), entry in had.items()
        if (hot, pk) not in has
    ]
    return came + left


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
    change: AgentChange | None = None  # of the agent's settings, that brought it
    hot: WorkingEntry | None = None
    cold: LongtermEntry | None = None


def origin_of(space: Space, agent: Agent, prompt: Prompt, number: int) -> LineOrigin | None:
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
    if part.kind in ("source", "guidelines"):
        path = part.label if part.kind == "source" else gathering.GUIDELINES_PATH
        return in_file(space, prompt, path, origin, above.count(lines[number - 1]))
    if part.kind in ("working", "longterm"):
        return in_layer(space, part, origin, sum(line.startswith(b"- ") for line in [*above, lines[number - 1]]))
    if part.kind in SETTING_OF:
        return replace(origin, change=setting_made(agent, SETTING_OF[part.kind]))
    return origin


SETTING_OF = {"base": "system_prompt", "persona": "persona"}


def setting_made(agent: Agent, key: str) -> AgentChange | None:
    """The change of the agent's settings that brought the value it has now."""
    rows = AgentChange.objects.within(agent.space_id).filter(agent_id=agent.pk).order_by("-pk")[:MOST]
    found = None
    for row in rows:
        if row.values.get(key) != getattr(agent, key):
            break
        found = row
    return found


def in_layer(space: Space, part: Part, origin: LineOrigin, nth: int) -> LineOrigin:
    """The entry behind a line of working or long-term memory; its heading has none."""
    if not 1 <= nth <= len(part.entries):
        return origin
    pk = part.entries[nth - 1]
    if part.kind == "working":
        return replace(origin, hot=WorkingEntry.objects.within(space).filter(pk=pk).first())
    piece = Chunk.objects.within(space).filter(pk=pk).first()
    entry = LongtermEntry.objects.within(space).filter(pk=piece.entry_id).first() if piece else None
    return replace(origin, cold=entry)


def in_file(space: Space, prompt: Prompt, path: str, origin: LineOrigin, nth: int) -> LineOrigin:
    """The line in its file, and the revision that brought it; of equal lines the one at the same place among them."""
    file = File.objects.within(space).filter(path=paths.of_source(path), thread_id="", is_deleted=False).first()
    if origin.kind == "guidelines" and file is None:
        return origin  # the hub's own words
    shown = next((one["revision"] for one in prompt.sources if one["path"] == path), file.revision if file else None)
    placed = replace(origin, path=path)
    wanted = origin.text.rstrip()
    if file is None or not shown or not wanted:
        return placed
    equal = [row for row in revisions.blame(file, shown) if row.text.rstrip() == wanted]
    if not equal:
        return placed
    row = equal[min(nth, len(equal) - 1)]
    return replace(placed, file_line=row.number, revision=row.revision)
