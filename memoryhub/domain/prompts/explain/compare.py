"""Two prompts of one agent side by side: what differs, and the cause of each difference."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from django.utils import timezone

from memoryhub.db.prepared import any_of, prepared
from memoryhub.dialects import Entry, Ingredients, Part, Warn
from memoryhub.domain import files
from memoryhub.domain.prompts.agents import IN_PROMPT
from memoryhub.domain.prompts.assemble import Prompt, assemble, build_prompt, first_change
from memoryhub.domain.prompts.inputs import PromptInputs
from memoryhub.domain.prompts.requests import LastCall, PromptRequest, as_looked_at, dialect_of
from memoryhub.errors import NotFound
from memoryhub.models import (
    Agent,
    AgentChange,
    Chunk,
    DialectTemplate,
    EntryRevision,
    LongtermEntry,
    Revision,
    SourceChange,
    Space,
    TemplateChoice,
    WorkingEntry,
)  # fmt: skip
from memoryhub.stores import paths
from memoryhub.text import diff
from memoryhub.text.diff import Diff

MAX_CAUSES = 200


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
    entry: int | None = None  # L-312


@dataclass(frozen=True)
class PromptChange:
    """One agent's prompt before and after."""

    agent: Agent
    before: Prompt
    after: Prompt
    call: LastCall | None = None  # what was asked for, where it is what the agent asked for last

    @cached_property
    def diff(self) -> Diff:
        return diff.compare(self.before.text, self.after.text, context=2, ignore_last_newline=True)

    @property
    def is_same(self) -> bool:
        return self.before.data == self.after.data

    @property
    def more_tokens(self) -> int:
        return self.after.tokens - self.before.tokens

    @cached_property
    def breaks_at(self) -> int | None:
        """The byte at which a provider's prompt cache breaks."""
        return first_change(self.before.data, self.after.data)

    @property
    def cached_tokens(self) -> int:
        return (
            self.before.tokens
            if self.breaks_at is None
            else self.after.tokens * self.breaks_at // max(1, self.after.bytes)
        )

    @property
    def read_anew(self) -> int:
        return self.after.tokens - self.cached_tokens


@dataclass(frozen=True)
class MomentComparison(PromptChange):
    """Two moments: their prompts, the diff, where a provider's cache breaks, and why."""

    causes: list[Cause] = field(default_factory=list)

    @property
    def unsure(self) -> list[str]:
        """What cannot be known of these moments any more."""
        return list(
            dict.fromkeys(
                one.message for one in (*self.before.warnings, *self.after.warnings) if one.code in UNCERTAIN_CODES
            )
        )

    def causes_of(self, part: Part) -> list[Cause]:
        """The causes that can have changed this part of the prompt, the most specific first."""
        where = paths.of_source(part.label) if part.kind == "source" else files.PROMPT_FILES.get(part.kind, "")
        mine = [one for one in self.causes if one.kind in CAUSES_OF_PART.get(part.kind, ()) and one.path in ("", where)]
        return sorted(mine, key=lambda one: one.kind != part.kind)


UNCERTAIN_CODES = {"before_agent", "working_memory_gone", "longterm_memory_gone", "embedder_away"}
CAUSES_OF_PART = {
    "base": ("settings",), "persona": ("settings",), "positioning": ("source",), "guidelines": ("source", "settings"),
    "template": ("template", "settings"), "source": ("source", "sources", "settings"),
    "working": ("working", "settings"), "longterm": ("longterm", "settings"),
}  # fmt: skip


def compare_moments(
    space: Space, agent: Agent, start: datetime, end: datetime | None, **asked: Any
) -> MomentComparison:
    """What the agent would have got at two moments (`end` None: now), with everything that happened in between."""
    before = prompt_or_none_yet(space, agent, start, asked)
    after = prompt_or_none_yet(space, agent, end, asked)
    return MomentComparison(agent, before, after, causes=causes(space, agent, before, after, start, end))


def prompt_or_none_yet(space: Space, agent: Agent, at: datetime | None, asked: dict[str, Any]) -> Prompt:
    """The prompt at a moment; before the agent was made an empty one with a warning."""
    try:
        return assemble(space, agent, at=at, **asked)
    except NotFound as error:
        if error.code != "before_agent":
            raise
        says = error.message
    dialect = dialect_of(as_looked_at(agent, PromptRequest(str(asked.get("dialect") or ""))).dialect, agent)
    nothing = build_prompt(dialect, PromptInputs(Ingredients(off=True)), PromptRequest())
    return replace(nothing, gathered_warnings=(Warn("before_agent", None, says),))


def causes(
    space: Space, agent: Agent, before: Prompt, after: Prompt, start: datetime, end: datetime | None
) -> list[Cause]:
    """Everything between two moments that touches this agent's prompt, newest first."""
    between = {"created_at__gt": start, **({"created_at__lte": end} if end else {})}
    touched = {paths.of_source(one["path"]) for prompt in (before, after) for one in prompt.sources}
    if "hub" in (before.dialect, after.dialect):
        touched.update(files.PROMPT_FILES.values())
    found = [
        *revision_causes(space, touched, between),
        *settings_causes(agent, between),
        *source_list_causes(space, agent, between),
        *template_causes(space, agent, before, after, between),
        *memory_causes(space, before, after, start, end),
    ]
    return sorted(found, key=lambda cause: cause.at, reverse=True)[:MAX_CAUSES]


REVISIONS_SINCE = prepared(
    lambda space, touched, start, end: (
        Revision.objects.within(space)
        .filter(any_of("path", touched), created_at__gt=start, created_at__lte=end)
        .defer("content")
        .order_by("-pk")[:MAX_CAUSES]
    )
)
CHANGES_SINCE = prepared(
    lambda space, agent, start, end: (
        AgentChange.objects.within(space)
        .filter(agent_id=agent, created_at__gt=start, created_at__lte=end)
        .order_by("pk")[:MAX_CAUSES]
    )
)
CHANGE_BEFORE = prepared(
    lambda space, agent, start: (
        AgentChange.objects.within(space).filter(agent_id=agent, created_at__lte=start).order_by("-pk")[:1]
    )
)
SOURCES_SINCE = prepared(
    lambda space, agents, start, end: (
        SourceChange.objects.within(space)
        .filter(any_of("agent_key", agents), created_at__gt=start, created_at__lte=end)
        .order_by("-pk")[:MAX_CAUSES]
    )
)
NO_END = datetime.max.replace(tzinfo=UTC)


def _times(between: dict[str, Any]) -> tuple[datetime, datetime]:
    return between["created_at__gt"], between.get("created_at__lte", NO_END)


def revision_causes(space: Space, touched: set[str], between: dict[str, Any]) -> list[Cause]:
    rows = REVISIONS_SINCE(space.pk, list(touched), *_times(between))
    return [
        Cause(
            row.created_at, "source", describe_revision(row), row.actor_kind, row.actor_name, row.path, row.number,
            row.proposal, row.reason,
        )
        for row in rows
    ]  # fmt: skip


def describe_revision(row: Revision) -> str:
    if row.proposal:
        return f"proposal {row.proposal} was approved" + (f" by {row.approver_name}" if row.approver_name else "")
    return {"delete": "deleted it", "restore": "restored it", "move": "moved it", "create": "created it"}.get(
        row.kind, "changed it"
    )


def settings_causes(agent: Agent, between: dict[str, Any]) -> list[Cause]:
    """Each change of the agent's own settings, with what exactly was changed."""
    start, end = _times(between)
    earlier = CHANGE_BEFORE.first(agent.space_id, agent.pk, start)
    values, found = (earlier.values if earlier else None), []
    for row in CHANGES_SINCE(agent.space_id, agent.pk, start, end):
        now = row.values
        changed = [
            words for key, words in IN_PROMPT.items() if values and values.get(key, now.get(key)) != now.get(key)
        ]
        what = ", ".join(changed) or "the agent"
        says = "created the agent" if values is None else f"changed {what}"
        found.append(Cause(row.created_at, "settings", says, row.actor_kind, row.actor_name))
        values = row.values
    return found


def source_list_causes(space: Space, agent: Agent, between: dict[str, Any]) -> list[Cause]:
    rows = SOURCES_SINCE(space.pk, [0, agent.pk], *_times(between))
    return [
        Cause(
            row.created_at, "sources",
            f"set the sources to {', '.join(one['path'] for one in row.sources if one.get('is_on', True)) or 'none'}",
            row.actor_kind, row.actor_name,
        )
        for row in rows
    ]  # fmt: skip


def template_causes(space: Space, agent: Agent, before: Prompt, after: Prompt, between: dict[str, Any]) -> list[Cause]:
    forms = {before.dialect, after.dialect}
    chosen = TemplateChoice.objects.within(space).filter(agent_id=agent.pk, form__in=forms, **between)
    decided = [
        Cause(
            row.created_at, "template",
            f"proposal {row.proposal} was approved" if row.proposal else "its client reported another template",
            row.actor_kind, row.actor_name, proposal=row.proposal,
        )
        for row in chosen.order_by("-pk")[:MAX_CAUSES]
    ]  # fmt: skip
    rows = DialectTemplate.objects.filter(space_id__in=(0, space.pk), form__in=forms, **between)
    return decided + [
        Cause(row.created_at, "template", f"took the template of {row.family} {row.version} from the {row.came_from}", "hub", "hub")
        for row in rows[:MAX_CAUSES]
    ]  # fmt: skip


def memory_causes(space: Space, before: Prompt, after: Prompt, start: datetime, end: datetime | None) -> list[Cause]:
    """Entries of working and long-term memory that came, and those that left, each with what became of it when."""
    had = {(entry.score == 1.0, entry.id): entry for entry in before.entries}
    has = {(entry.score == 1.0, entry.id): entry for entry in after.entries}
    came, left = [has[key] for key in has.keys() - had.keys()], [had[key] for key in had.keys() - has.keys()]
    when = end or timezone.now()
    hot = WorkingEntry.objects.within(space).in_bulk([one.id for one in left if one.score == 1.0])
    pieces = Chunk.objects.within(space).in_bulk([one.id for one in (*came, *left) if one.score != 1.0])
    entries = LongtermEntry.objects.within(space).in_bulk([piece.entry_id for piece in pieces.values()])

    def entry_of(one: Entry) -> LongtermEntry | None:
        return entries.get(pieces[one.id].entry_id) if one.id in pieces else entry_with_text(space, one, start)

    return [
        *(Cause(one.created_at, "working", "was admitted", reason=one.content[:200]) for one in came if one.score == 1.0),
        *(left_working(one, hot.get(one.id), when) for one in left if one.score == 1.0),
        *(came_longterm(one, entry_of(one), start, when) for one in came if one.score != 1.0),
        *(left_longterm(one, entry_of(one), when) for one in left if one.score != 1.0),
    ]  # fmt: skip


def entry_with_text(space: Space, one: Entry, start: datetime) -> LongtermEntry | None:
    """The entry whose text of that time held this piece, which is no piece of today's any more."""
    revisions = EntryRevision.objects.within(space).filter(content__contains=one.content, created_at__lte=start)
    newest = revisions.order_by("-pk").first()
    return LongtermEntry.objects.within(space).filter(pk=newest.entry_id).first() if newest else None


def left_working(one: Entry, row: WorkingEntry | None, when: datetime) -> Cause:
    at, says = when, "gave way to newer ones"
    if row and row.removed_at and row.removed_at <= when:
        at, says = row.removed_at, "was deleted by a person"
    elif row and not row.is_pinned and row.expires_at <= when:
        at, says = row.expires_at, "expired"
    return Cause(at, "working", says, reason=one.content[:200])


def came_longterm(one: Entry, entry: LongtermEntry | None, start: datetime, when: datetime) -> Cause:
    if entry is None or entry.created_at <= start:
        changed = entry is not None and start < entry.modified_at <= when
        at, says = (
            (entry.modified_at, "was changed") if changed and entry else (when, "fits the query better than others now")
        )
    else:
        at, says = entry.created_at, f"was promoted by {entry.actor_name}"
    return Cause(at, "longterm", says, entry=entry.number if entry else None, reason=one.content[:200])


def left_longterm(one: Entry, entry: LongtermEntry | None, when: datetime) -> Cause:
    at, says = when, "fits the query less than others now"
    if entry and entry.retired_at and entry.retired_at <= when:
        at, says = entry.retired_at, "was retired"
    elif entry and one.id < 0:
        at, says = min(entry.modified_at, when), "was changed"
    return Cause(at, "longterm", says, entry=entry.number if entry else None, reason=one.content[:200])
