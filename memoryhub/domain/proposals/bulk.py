"""Many decisions at once: first what they would do together, then exactly that."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from memoryhub.domain import files
from memoryhub.domain.accounts import require
from memoryhub.domain.prompts import PromptChange
from memoryhub.domain.proposals.decide import approve, reject
from memoryhub.domain.proposals.kinds import kind_of, sha_of
from memoryhub.domain.proposals.results import SECONDS_FOR_MANY, TOO_LONG, Result, result, result_on
from memoryhub.domain.proposals.reviewing import prompt_changes
from memoryhub.domain.proposals.state import Parents, agents_barred, get, parents_of
from memoryhub.domain.proposals.undo import reopen, undo
from memoryhub.domain.proposals.waiting import expire_late
from memoryhub.errors import Conflict, HubError
from memoryhub.models import Actor, Proposal, Space

State = Proposal.State
AT_ONCE = 200
Texts = dict[str, files.Published | None]


@dataclass(frozen=True)
class Plan:
    """The chosen proposals in the order they would be applied, each on top of those before it."""

    results: list[Result]
    changes: list[PromptChange]
    more_readers: int
    own: set[int | None]  # agents on whose proposals somebody else has to decide

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
        return sum(one.kind.changes == "entry" for one in self.fit)

    @property
    def templates(self) -> int:
        return sum(one.kind.changes == "template" for one in self.fit)


def _fits(one: Result, barred: set[int | None]) -> bool:
    """Whether it can be approved among many."""
    plain = one.applies and not one.waits_for and not one.is_grave and not one.is_long
    return plain and one.proposal.agent_id not in barred


def plan(space: Space, numbers: Iterable[int], actor: Actor) -> Plan:
    """What approving these would do, one after the other, to the files and to the prompts."""
    expire_late(space)
    chosen = Proposal.objects.within(space).filter(number__in=list(numbers)[:AT_ONCE], state=State.PENDING)
    waiting = list(chosen.select_related("space", "agent").order_by("number"))
    barred = agents_barred(space, actor, [one.agent_id for one in waiting])
    texts: Texts = {}
    applied: set[int] = set()
    parents = parents_of(space, waiting)
    began = time.thread_time()
    found = [
        _on_top(proposal, texts, applied, barred, parents)
        if time.thread_time() - began < SECONDS_FOR_MANY
        else Result(proposal, None, None, None, TOO_LONG)
        for proposal in waiting
    ]
    changes = {path: now.content if now else None for path, now in texts.items()}
    shown, more = prompt_changes(space, changes, [one.proposal for one in found if _fits(one, barred)])
    return Plan(found, shown, more, barred)


def _on_top(proposal: Proposal, texts: Texts, applied: set[int], barred: set[int | None], parents: Parents) -> Result:
    """The result on the texts as those before would leave them; notes in `texts` and `applied` what it does itself."""
    try:
        below = texts[proposal.path] if proposal.path in texts else kind_of(proposal).published(proposal)
    except HubError as error:
        return Result(proposal, None, None, None, error.message)
    made = result_on(proposal, below, applied=applied, parents=parents)
    if _fits(made, barred):
        applied.add(proposal.number)
        for path, text in made.kind.files_after(proposal, made.after).items():
            texts[path] = None if text is None else _published_next(proposal, path, below, text)
    return made


def _published_next(proposal: Proposal, path: str, below: files.Published | None, text: bytes) -> files.Published:
    """What would be published at this path."""
    now = below or files.Published(path, b"", 0, "", proposal.created_at, proposal.created_at)
    return replace(now, path=path, content=text, revision=now.revision + 1, sha256=sha_of(text))


def decide_many(
    space: Space, actor: Actor, seen: Mapping[int, str], verb: str, *, note: str = ""
) -> tuple[list[int], dict[int, str]]:
    """Decides on many in one way; each approval carries what was seen of it. Answers what was done, and why the rest was not."""
    require(actor, "decide")
    done: list[int] = []
    refused: dict[int, str] = {}
    for number in sorted(seen)[:AT_ONCE]:
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
    for number in sorted(set(numbers), reverse=True)[:AT_ONCE]:
        try:
            approved = get(space, number).state == State.APPROVED
            (undo if approved else reopen)(space, actor, number)
            done.insert(0, number)
        except HubError as error:
            refused[number] = error.message
    return done, refused


def _check_plain(space: Space, number: int) -> None:
    found = result(get(space, number))
    if found.is_grave:
        raise Conflict("It has a serious finding: decide on it separately.", code="needs_a_look")
    if found.is_long:
        raise Conflict("It is too long to be seen among others: decide on it separately.", code="needs_a_look")
