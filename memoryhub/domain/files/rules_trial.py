"""Rules for paths: what a rule would have done with the proposals of the past, before anybody switches it on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memoryhub.domain.files import mounts
from memoryhub.domain.files.requests import request_of, texts_of
from memoryhub.domain.files.revisions import base_content
from memoryhub.models import Agent, Policy, PolicyRule, Proposal, Space
from memoryhub.text import diff
from memoryhub.text.lines import text_of

State = Proposal.State
LOOKS_BACK = 1000


@dataclass(frozen=True)
class DryRun:
    """What a trusting rule would have let through, and how people had decided on that."""

    looked_at: int
    let_through: list[Proposal]

    @property
    def rejected(self) -> list[Proposal]:
        return [one for one in self.let_through if one.state == State.REJECTED]

    def rejected_by(self, name: str) -> int:
        return sum(one.decided_by_name == name for one in self.rejected)

    def sentence(self, name: str) -> str:
        """In words, for the one who asks."""
        if not self.looked_at:
            return "No proposal of the past fits this path, so there is nothing to try it on."
        told = f"It would have let through {len(self.let_through)} of {self.looked_at}"
        if not self.rejected:
            return f"{told}, none of them rejected by anybody."
        mine = self.rejected_by(name)
        return f"{told}, {len(self.rejected)} of them rejected by people{f' ({mine} by you)' if mine else ''}."


def dry_run_rule(
    space: Space, pattern: str, *, agent: Agent | None = None, max_added: int | None = None, unless_findings: bool = False
) -> DryRun:  # fmt: skip
    """Tries a trusting rule on the newest thousand proposals of the space."""
    rule = PolicyRule(
        space=space, pattern=pattern.strip(), agent=agent, policy=Policy.TRUSTED, max_added=max_added,
        unless_findings=unless_findings,
    )  # fmt: skip
    past = Proposal.objects.within(space).exclude(path="").select_related("agent").order_by("-number")
    fitting = [one for one in past[:LOOKS_BACK] if mounts.mount_fits(rule, one.path, one.agent)]
    return DryRun(len(fitting), [one for one in fitting if lets_through(rule, one)])


def lets_through(rule: PolicyRule, proposal: Proposal) -> bool:
    """Whether the rule's conditions hold for a change that was asked for."""
    if rule.unless_findings and proposal.findings:
        return False
    if rule.max_added is None:
        return True
    return is_small(rule.max_added, *texts_of(request_of(proposal), lambda: text_of(base_content(proposal))))


def is_small(most: int, before: str, after: str | None) -> bool:
    """Whether a change adds no more characters than that, and takes no more away: a rule for small additions is no leave to
    throw a text away. Nothing as `after` is a deletion or a move, which are never small."""
    if after is None:
        return False
    added, removed = diff.signs(before, after)
    return added <= most and removed <= most


def rules_of_space(space: Space) -> Iterable[PolicyRule]:
    """The rules in the order in which they are asked."""
    return PolicyRule.objects.within(space).select_related("agent")
