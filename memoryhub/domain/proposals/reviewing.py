"""Everything a reviewer looks at: the text, the findings in it, and what it does to the prompt of each agent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.db.models import Count, Q

from memoryhub.detectors import Finding
from memoryhub.domain import files, prompts
from memoryhub.domain.prompts import LastCall, PromptChange, PromptRequest
from memoryhub.domain.proposals import findings
from memoryhub.domain.proposals.kinds import ChangeKind, kind_of, prompt_dialect
from memoryhub.domain.proposals.results import Result, has_long_line, result
from memoryhub.domain.proposals.state import OPEN, agents_barred, ends_soon
from memoryhub.errors import HubError
from memoryhub.models import Actor, Agent, Proposal, ProposalComment, Space
from memoryhub.text import comments
from memoryhub.text.diff import Diff, compare, take
from memoryhub.text.lines import bytes_of, text_of

State = Proposal.State
AGENTS_SHOWN = 8
HUNKS_TO_TICK = 200
ROWS_SHOWN = 3000  # of a change, at once
HEADING = re.compile(r"#{1,6}\s+")


@dataclass(frozen=True)
class AgentHistory:
    """How an agent's earlier proposals went."""

    approved: int
    with_edits: int
    rejected: int
    changes_requested: int
    common_reason: str
    common_count: int


@dataclass
class Review:
    """A proposal as its page shows it."""

    proposal: Proposal
    found: Result
    history: AgentHistory
    comments: list[ProposalComment]
    changes: list[PromptChange] = field(default_factory=list)
    more_readers: int = 0
    threads_behind: int = 0
    rejected_before: Proposal | None = None  # the same request of the same agent, rejected before
    losing_agents: list[Agent] = field(default_factory=list)  # whose prompt a move takes the file out of
    context: int | None = 3
    findings: list[Finding] = field(default_factory=list)
    ticked: list[int] | None = None  # the changes that the reviewer would take; None: all

    @cached_property
    def diff(self) -> Diff:
        return replace(self.found.compared, context=self.context)

    @cached_property
    def is_cut(self) -> bool:
        """Whether it has more rows than its page shows at once."""
        return len(self.found.compared.first_rows(ROWS_SHOWN + 1)) > ROWS_SHOWN

    @property
    def is_long(self) -> bool:
        """Whether its page leaves something of it out at first: reviewers confirm that they looked at all of it."""
        return self.is_cut or has_long_line(self.found.compared)

    @cached_property
    def headings(self) -> dict[int, str]:
        """The nearest Markdown heading above each hunk."""
        found: dict[int, str] = {}
        heading, at = "", 0
        for hunk in self.diff.hunks:
            for line in self.diff.new_lines[at : hunk.new_start + 1]:
                if match := HEADING.match(line):
                    heading = line[match.end() :].rstrip().rstrip("#").rstrip()
            at = max(at, hunk.new_start + 1)
            if heading:
                found[hunk.number] = heading
        return found

    @property
    def kind(self) -> ChangeKind:
        return kind_of(self.proposal)

    @property
    def is_open(self) -> bool:
        return self.proposal.state in OPEN

    @property
    def ends_soon(self) -> bool:
        return ends_soon(self.proposal)

    @property
    def can_take_hunks(self) -> bool:
        can_choose = self.is_open and self.found.applies and self.kind.edits_file
        return can_choose and 1 < len(self.diff.hunks) <= HUNKS_TO_TICK and not self.is_cut

    @property
    def can_edit(self) -> bool:
        return self.is_open and self.kind.is_editable

    @cached_property
    def taken(self) -> list[int]:
        """The numbers of the changes that would be approved."""
        numbers = [hunk.number for hunk in self.diff.hunks]
        return numbers if self.ticked is None else [number for number in numbers if number in self.ticked]

    @cached_property
    def takes_all(self) -> bool:
        return not self.can_take_hunks or len(self.taken) == len(self.diff.hunks)

    @cached_property
    def after(self) -> bytes | None:
        """The text that approving the ticked changes makes."""
        if self.takes_all:
            return self.found.after
        return bytes_of(take(self.found.before_text, self.found.after_text, self.taken))

    @cached_property
    def grave_findings(self) -> list[Finding]:
        """Grave findings in what would be approved, and in its paths and names: they ask for a tick before."""
        found = self.findings if self.takes_all else self.kind.findings(self.proposal, self.found.before, self.after)
        return [one for one in [*self.found.other_findings, *found] if one.severity == "high"]

    @property
    def shrinks(self) -> bool:
        return self.found.applies and self.kind.has_text and findings.shrinks(self.found.before, self.found.after)

    @property
    def agents(self) -> list[Agent]:
        return [one.agent for one in self.changes if not one.is_same]

    @cached_property
    def for_people_only(self) -> bool:
        """Whether it adds a comment, which no prompt shows that strips them."""
        new = set(comments.found(self.found.after_text)) - set(comments.found(self.found.before_text))
        return (
            bool(new)
            and bool(self.changes)
            and all(new.isdisjoint(comments.found(change.after.text)) for change in self.changes)
        )

    @cached_property
    def both_sides(self) -> tuple[Diff, str]:
        """Of a conflict: how the text that stands and the text the agent wanted differ."""
        text = text_of(self.kind.wanted(self.proposal) or b"")
        return compare(self.found.before_text, text, context=3), text


def review(
    proposal: Proposal, found: Result | None = None, *, context: int | None = 3, ticked: list[int] | None = None
) -> Review:
    """Gathers what the page shows; while it waits, as things stand now. `found` is its result, if the caller has it. The effect on
    prompts is that of the `ticked` changes."""
    found = found or result_to_show(proposal)
    remarks = list(ProposalComment.objects.filter(proposal=proposal))
    made = Review(proposal, found, history_of(proposal), remarks, context=context, ticked=ticked)
    made.findings = found.findings
    if made.is_open:
        made.rejected_before = _rejected_before(proposal)
    if found.applies and made.is_open:
        made.changes, made.more_readers = prompt_changes(
            proposal.space, made.kind.files_after(proposal, made.after), [proposal], first=proposal.agent_id
        )
    if made.changes:
        made.losing_agents = _losing_agents(proposal, made.agents)
        made.threads_behind = prompts.count_live_threads(proposal.space, [one.agent for one in made.changes])
    return made


def asks_for_a_look(proposal: Proposal, *, ticked: list[int] | None = None, content: bytes | None = None) -> bool:
    """Whether reviewers confirm that they looked at what they are about to approve, for it has grave findings or is longer than
    its page shows at once: all of it, the ticked changes, or a text of their own, which they have seen."""
    found = result_to_show(proposal)
    if content is not None:
        chosen = kind_of(proposal).findings(proposal, found.before, content)
        return any(one.severity == "high" for one in [*found.other_findings, *chosen])
    shown = Review(proposal, found, NO_HISTORY, [], findings=found.findings, ticked=ticked)
    return bool(shown.grave_findings) or shown.is_long


NO_HISTORY = AgentHistory(0, 0, 0, 0, "", 0)


def _rejected_before(proposal: Proposal) -> Proposal | None:
    same = Proposal.objects.within(proposal.space_id).filter(
        path=proposal.path, state=State.REJECTED, same_as=proposal.same_as
    )
    return same.defer("content").order_by("-decided_at").first()


def _losing_agents(proposal: Proposal, readers: list[Agent]) -> list[Agent]:
    """The readers who find the file no longer, because it goes to a path that is none of their sources."""
    paths = [path for path, text in kind_of(proposal).files_after(proposal, b"").items() if text is not None]
    if proposal.path in paths or not paths or not readers:
        return []
    there = {agent.pk for path in paths for agent in files.agents_reading(proposal.space, path)}
    return [agent for agent in readers if agent.pk not in there]


def result_to_show(proposal: Proposal) -> Result:
    """What it would make now; of a text that was approved, what it made."""
    kind = kind_of(proposal)
    if proposal.state == State.APPROVED and kind.has_text:
        before, after = kind.applied_texts(proposal)
        return Result(proposal, before or b"", after or b"", proposal.base_revision)
    try:
        return result(proposal)
    except HubError as error:
        return Result(proposal, None, None, None, error.message)


def prompt_changes(
    space: Space,
    changes: Mapping[str, bytes | None],
    asked: Iterable[Proposal] = (),
    *,
    first: int | None = None,
) -> tuple[list[PromptChange], int]:
    """Before and after for each agent that reads one of the paths or gets one of the templates asked for, who asked first; and
    how many more there are. Each is what the agent asked for last: dialect, thread, base prompt, query and task."""
    readers = {agent.pk: agent for path in changes for agent in files.agents_reading(space, path)}
    templates = {one.agent.pk: one for one in asked if one.kind == Proposal.Kind.TEMPLATE and one.agent}
    readers |= {pk: one.agent for pk, one in templates.items()}
    if not readers:
        return [], 0
    chosen = sorted(readers.values(), key=lambda agent: agent.pk != first)[:AGENTS_SHOWN]
    calls = prompts.last_calls(space, chosen)
    shown = [_prompt_change(space, agent, calls.get(agent.pk), changes, templates.get(agent.pk)) for agent in chosen]
    return shown, len(readers) - len(chosen)


def _prompt_change(
    space: Space, agent: Agent, call: LastCall | None, changes: Mapping[str, bytes | None], template: Proposal | None
) -> PromptChange:
    """The prompt of an agent before and after, as it asked for it last; of a template, in a dialect that shows it."""
    asked = call.request if call else PromptRequest()
    if template and prompts.dialect_of(asked.dialect, agent).name != template.change["form"]:
        asked, call = replace(asked, dialect=prompt_dialect(template)), None
    text = text_of(bytes(template.content or b"")) if template else None
    before = prompts.assemble_request(space, agent, asked)
    after = prompts.assemble_request(space, agent, asked, changes=changes, template=text)
    return PromptChange(agent, before, after, call)


def history_of(proposal: Proposal) -> AgentHistory:
    """How this agent's earlier proposals went, with the reason it heard most."""
    mine = Proposal.objects.within(proposal.space_id).filter(agent_name=proposal.agent_name).exclude(pk=proposal.pk)
    counts = mine.aggregate(
        approved=Count("pk", filter=Q(state=State.APPROVED, with_edits=False)),
        with_edits=Count("pk", filter=Q(state=State.APPROVED, with_edits=True)),
        rejected=Count("pk", filter=Q(state=State.REJECTED, changes_requested=False)),
        changes_requested=Count("pk", filter=Q(state=State.REJECTED, changes_requested=True)),
    )
    reasons = (
        mine.filter(state=State.REJECTED, changes_requested=False)
        .values_list("note")
        .annotate(times=Count("pk"))
        .order_by("-times")
    )
    reason, times = next(iter(reasons[:1]), ("", 0))
    return AgentHistory(**counts, common_reason=reason if len(reason) < 40 else "", common_count=times)


def neighbours(proposal: Proposal) -> tuple[int | None, int | None]:
    """The waiting proposals before and after this one in the order of the inbox."""
    waiting = Proposal.objects.within(proposal.space_id).filter(state=State.PENDING).exclude(pk=proposal.pk)
    before = Q(risk__gt=proposal.risk) | Q(risk=proposal.risk, created_at__lt=proposal.created_at)
    previous = waiting.filter(before).order_by("risk", "-created_at").values_list("number", flat=True).first()
    following = waiting.exclude(before).order_by("-risk", "created_at").values_list("number", flat=True).first()
    return previous, following


def next_to_decide(proposal: Proposal, actor: Actor) -> int | None:
    """The waiting proposal after this one in the order of the inbox, else the first, that this person may decide on."""
    waiting = Proposal.objects.within(proposal.space_id).filter(state=State.PENDING).exclude(pk=proposal.pk)
    agents = waiting.values_list("agent_id", flat=True).distinct().order_by()
    if barred := agents_barred(proposal.space, actor, agents):
        waiting = waiting.exclude(agent_id__in=barred)
    before = Q(risk__gt=proposal.risk) | Q(risk=proposal.risk, created_at__lt=proposal.created_at)
    ordered = waiting.order_by("-risk", "created_at").values_list("number", flat=True)
    return ordered.exclude(before).first() or ordered.first()
