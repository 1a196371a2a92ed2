"""Many decisions at once: first what they would do together, then exactly that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from memoryhub.domain import files
from memoryhub.domain.accounts import require
from memoryhub.domain.prompts import PromptChange
from memoryhub.domain.proposals.ask import get
from memoryhub.domain.proposals.decide import approve, own_agents, reject
from memoryhub.domain.proposals.expiry import expire_late
from memoryhub.domain.proposals.results import Result, published, result, sha_of
from memoryhub.domain.proposals.reviewing import prompt_changes
from memoryhub.domain.proposals.undo import reopen, undo
from memoryhub.errors import Conflict, HubError
from memoryhub.models import Actor, Proposal, Space

State, Kind = Proposal.State, Proposal.Kind
MOST = 200


@dataclass(frozen=True)
class Plan:
    """The chosen proposals in the order they would be applied, each on top of those before it."""

    results: list[Result]
    changes: list[PromptChange]
    more_readers: int
    own: set[int | None]  # the agents on whose proposals somebody else has to decide

    @property
    def fit(self) -> list[Result]:
        return [one for one in self.results if _fits(one, self.own)]

    @property
    def left_out(self) -> int:
        return len(self.results) - len(self.fit)

    @property
    def moved(self) -> list[PromptChange]:
        return [one for one in self.changes if not one.is_same]

    @property
    def open_to_me(self) -> list[Result]:
        """Those that this person may decide on: a rejection asks for nothing else."""
        return [one for one in self.results if one.proposal.agent_id not in self.own]

    @property
    def files(self) -> int:
        return len({one.proposal.path for one in self.fit if one.proposal.path})

    @property
    def entries(self) -> int:
        """How many of them go into long-term memory instead of a file."""
        return sum(one.proposal.kind == Kind.PROMOTION for one in self.fit)


def _fits(one: Result, own: set[int | None]) -> bool:
    """Whether it can be approved among many."""
    return one.applies and not one.waits_for and not one.needs_a_look and one.proposal.agent_id not in own


def plan(space: Space, numbers: Iterable[int], actor: Actor) -> Plan:
    """What approving these would do, one after the other, to the files and to the prompts."""
    expire_late(space)
    chosen = Proposal.objects.within(space).filter(number__in=list(numbers)[:MOST], state=State.PENDING)
    standing: dict[tuple[str, str], files.Published | None] = {}
    done: set[int] = set()
    found: list[Result] = []
    asked = list(chosen.select_related("space", "agent").order_by("number"))
    own = own_agents(space, actor, [one.agent_id for one in asked])
    for proposal in asked:
        found.append(_on_top(proposal, standing, done, own))
    changes = {path: now.content if now else None for (path, thread), now in standing.items() if not thread}
    shown, more = prompt_changes(space, changes) if changes else ([], 0)
    return Plan(found, shown, more, own)


def _on_top(
    proposal: Proposal, standing: dict[tuple[str, str], files.Published | None], done: set[int], own: set[int | None]
) -> Result:  # fmt: skip
    """The result on the text as those before would have left it."""
    if proposal.kind == Kind.PROMOTION:
        return result(proposal)
    key = (proposal.path, "")
    try:
        below = standing[key] if key in standing else published(proposal)
        made = result(proposal, below, done)
    except HubError as error:
        return Result(proposal, None, None, None, error.message)
    if _fits(made, own):
        done.add(proposal.number)
        _leave(made, below, standing)
    return made


def _leave(
    made: Result, below: files.Published | None, standing: dict[tuple[str, str], files.Published | None]
) -> None:
    proposal = made.proposal
    if proposal.kind == Kind.MOVE:
        standing[proposal.path, ""], standing[proposal.change["to"], ""] = None, below
    elif made.after is None:
        standing[proposal.path, ""] = None
    else:
        now = below or files.Published(proposal.path, b"", 0, "", proposal.created_at, proposal.created_at)
        standing[proposal.path, ""] = replace(
            now, content=made.after, revision=now.revision + 1, sha256=sha_of(made.after)
        )


def decide_many(
    space: Space, actor: Actor, seen: Mapping[int, str], verb: str, *, note: str = ""
) -> tuple[list[int], dict[int, str]]:
    """The same decision on many; each approval carries what was seen of it. What cannot be done is said, the rest is done."""
    require(actor, "decide")
    done: list[int] = []
    refused: dict[int, str] = {}
    for number in sorted(seen)[:MOST]:
        try:
            if verb == "approve":
                _check_plain(space, number)
                approve(space, actor, number, seen=seen[number], note=note)
            else:
                reject(space, actor, number, note=note)
            done.append(number)
        except HubError as error:
            refused[number] = error.message
    return done, refused


def undo_many(space: Space, actor: Actor, numbers: Iterable[int]) -> tuple[list[int], dict[int, str]]:
    """Takes back what was decided on many, the last first, since each may stand on those before it."""
    require(actor, "decide")
    done: list[int] = []
    refused: dict[int, str] = {}
    for number in sorted(set(numbers), reverse=True)[:MOST]:
        try:
            approved = get(space, number).state == State.APPROVED
            (undo if approved else reopen)(space, actor, number)
            done.insert(0, number)
        except HubError as error:
            refused[number] = error.message
    return done, refused


def _check_plain(space: Space, number: int) -> None:
    if any(one.get("severity") == "high" for one in get(space, number).findings):
        raise Conflict("The gate found something grave in it: decide on it by itself.", code="needs_a_look")
