"""The fixes of several agents in one place as one plan: each is tried on what those before it leave, so that none is made twice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from memoryhub.dialects import coding, tokens_of_bytes
from memoryhub.dialects.coding import ChangedTree, Context
from memoryhub.domain import coding_agents
from memoryhub.domain.coding_agents import Fix
from memoryhub.domain.contexts.agent_context import MAX_TRIED, AgentContext, Compared
from memoryhub.domain.contexts.fixing import can_make
from memoryhub.domain.contexts.moving import Plan
from memoryhub.domain.contexts.places import Place

TOGETHER = ("import", "write")  # as they are preferred; a file that is renamed or removed has a page of its own

NO_FIX = Fix("", "", "", {}, 0)


@dataclass(frozen=True)
class OfferedFix:
    """What would bring a file to an agent, with the tokens of its context before and after; `solved` where another fix does."""

    agent: coding.CodingAgent
    about: str  # the shown path of the file
    why: str
    before: int
    after: int = 0
    fix: Fix = NO_FIX
    is_chosen: bool = False
    solved: bool = False

    @classmethod
    def of(cls, seen: AgentContext, about: str, why: str, context: Context) -> OfferedFix:
        return cls(seen.agent, about, why, tokens_of_bytes(len(context.text)))

    def made_by(self, fix: Fix) -> OfferedFix:
        return replace(self, fix=fix, after=tokens_of_bytes(fix.size))

    @property
    def key(self) -> str:
        return f"{self.agent.name} {self.fix.code} {self.about}"


@dataclass
class FixPlan:
    """What several agents miss in a place, and the changes that bring it to them."""

    place: Place
    offered: list[OfferedFix] = field(default_factory=list)
    alone: list[OfferedFix] = field(default_factory=list)  # have a page of their own
    doubled: list[OfferedFix] = field(default_factory=list)  # after which another agent would load a text twice
    changes: dict[str, bytes | None] = field(default_factory=dict)

    @property
    def plan(self) -> Plan | None:
        """The changes of what is chosen; None for nothing."""
        return (
            Plan(self.place, self.changes, "So that memory files reach agents that miss them") if self.changes else None
        )


def missed_files(compared: Compared) -> Iterator[tuple[AgentContext, str, str]]:
    """The files that agents of a comparison pass over though they look for them, with the cause; the first ones."""
    tried = 0
    for seen in compared.seen.values():
        for path, why in seen.missed:
            if tried < MAX_TRIED and not compared.place.tree.why_withheld(path):
                tried += 1
                yield seen, path, why


def plan_fixes(compared: Compared, chosen: Collection[str] | None = None) -> FixPlan:
    """The cheapest fix for each file that an agent misses; those with a key in `chosen` are planned, by default all."""
    found = FixPlan(compared.place)
    for seen, path, why in missed_files(compared):
        now = ChangedTree(compared.place.tree, found.changes)
        context = seen.read_changed(now) if found.changes else seen.context
        if _reaches(context, path, now):
            _note_solved(found, seen, path, why, context)
            continue
        # The file as it lies there: what other fixes add to it is none of its own text.
        of_others = {changed: text for changed, text in found.changes.items() if changed != path}
        fixes = _fixes(seen, path, context, ChangedTree(compared.place.tree, of_others))
        _offer(found, compared, seen, OfferedFix.of(seen, path, why, context), fixes, chosen)
    return found


def _offer(
    found: FixPlan,
    compared: Compared,
    seen: AgentContext,
    row: OfferedFix,
    fixes: Sequence[Fix],
    chosen: Collection[str] | None,
) -> None:
    """Adds the best of the fixes of one file to the plan."""
    together = [one for code in TOGETHER for one in fixes if one.code == code]
    fix = next((one for one in together if not _doubles(compared, found, row.about, one)), None)
    if fix is None:
        rest = next((one for one in fixes if one.code not in TOGETHER), None)
        if rest is not None:
            found.alone.append(row.made_by(rest))
        elif together:
            found.doubled.append(row.made_by(together[0]))
        return
    row = row.made_by(fix)
    row = replace(row, is_chosen=chosen is None or row.key in chosen)
    found.offered.append(row)
    if row.is_chosen:
        found.changes.update(fix.changes)


def _doubles(compared: Compared, found: FixPlan, path: str, fix: Fix) -> bool:
    """Whether any of the agents would load the text of the file more than once then."""
    tree = ChangedTree(compared.place.tree, {**found.changes, **fix.changes})
    text = (compared.place.tree.read(path) or b"").strip()
    return any(seen.read_changed(tree).text.count(text) > 1 for seen in compared.seen.values())


def _fixes(seen: AgentContext, path: str, context: Context, tree: ChangedTree) -> Sequence[Fix]:
    place = seen.place
    found = coding_agents.fixes_for_ignored(
        seen.agent.name, path, context, tree, place.directory, place.home, seen.read_changed
    )
    return [one for one in found if can_make(place, one)]


def _reaches(context: Context, path: str, tree: ChangedTree) -> bool:
    loaded = {one.path for one in context.blocks} | {one.path for one in context.inlined}
    text = (tree.read(path) or b"").strip()
    return path in loaded or (bool(text) and text in context.text)


def _note_solved(found: FixPlan, seen: AgentContext, path: str, why: str, context: Context) -> None:
    """A fix for an agent brought the file to another one too."""
    fix = next((one.fix for one in found.offered if one.is_chosen and one.about == path), None)
    if fix is not None:
        row = OfferedFix.of(seen, path, why, seen.context)
        found.offered.append(replace(row, fix=fix, after=tokens_of_bytes(len(context.text)), solved=True))
