"""What one context has and another has not: two agents in one place, or one agent at two moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memoryhub.dialects import tokens_of_bytes
from memoryhub.domain import coding_agents
from memoryhub.domain.coding_agents import Fix
from memoryhub.domain.contexts.agent_context import MAX_TRIED, AgentContext

NOT_LOOKED_FOR = "{agent} does not look for this file"


@dataclass(frozen=True)
class Missed:
    """A file of one context whose text is not, or not whole, in the other; `cut_at` is the first line that is lost there."""

    path: str
    tokens: int
    why: str
    cut_at: int | None = None
    fixes: tuple[Fix, ...] = ()


@dataclass
class Difference:
    """Two contexts; the texts of files count, not the words around them."""

    left: AgentContext
    right: AgentContext

    @cached_property
    def lost(self) -> list[Missed]:
        """What the left one has and the right one has not, with what would bring it there."""
        return _missed(self.left, self.right, with_fixes=self.left.agent != self.right.agent)

    @cached_property
    def gained(self) -> list[Missed]:
        """What the right one has and the left one has not."""
        return _missed(self.right, self.left)

    @cached_property
    def both(self) -> list[str]:
        """The files of the left one whose text the right one has as well."""
        lost = {one.path for one in self.lost}
        return list(dict.fromkeys(one.path for one in self.left.context.blocks if one.path not in lost))

    @property
    def is_same(self) -> bool:
        return self.left.context.text == self.right.context.text


def _missed(has: AgentContext, lacks: AgentContext, *, with_fixes: bool = False) -> list[Missed]:
    ignored = {one.path: one.why for one in reversed(lacks.context.ignored)}
    cuts = {one.path: one.cut_at for one in lacks.context.blocks if one.cut_at}
    later = {one.path: one.trigger for one in lacks.context.later}
    found: list[Missed] = []
    for block in has.context.blocks:
        text = has.context.text[block.start : block.end].strip()
        if not coding_agents.says_more(text, lacks.context.text):
            continue
        why = ignored.get(block.path) or later.get(block.path) or NOT_LOOKED_FOR.format(agent=lacks.agent.title)
        fixes = lacks.fixes_for(block.path) if with_fixes and len(found) < MAX_TRIED and block.path not in cuts else ()
        found.append(Missed(block.path, tokens_of_bytes(len(text)), why, cuts.get(block.path), fixes))
    return found
