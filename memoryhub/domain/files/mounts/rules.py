"""Rules: exceptions from the policies of mounts by path pattern, and what a rule would have let through in the past."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from django.db import transaction

from memoryhub.domain import activity
from memoryhub.domain.accounts import require
from memoryhub.domain.files.requests import request_of, texts_of
from memoryhub.domain.files.revisions import base_content
from memoryhub.errors import Invalid, NotFound
from memoryhub.models import Actor, Agent, File, Mount, Policy, PolicyRule, Proposal, Space
from memoryhub.stores import paths
from memoryhub.text import diff
from memoryhub.text.lines import text_of
from memoryhub.text.path_patterns import matches

State = Proposal.State
MAX_TRIED = 1000


def rules_of_space(space: Space) -> Iterable[PolicyRule]:
    """The rules of a space in the order in which they are tried; the first that applies counts."""
    return PolicyRule.objects.within(space).select_related("agent")


def rule_applies(rule: PolicyRule, path: str, agent: Agent | None) -> bool:
    """Whether a rule is about this path and this agent; its other conditions are not looked at."""
    return (rule.agent_id is None or (agent is not None and rule.agent_id == agent.pk)) and matches(rule.pattern, path)


@transaction.atomic
def add_rule(
    space: Space, actor: Actor, pattern: str, policy: str = Policy.REVIEW, *, agent: Agent | None = None,
    max_added: int | None = None, unless_findings: bool = False, reviewers: int = 1, confirmed: bool = False,
) -> PolicyRule:  # fmt: skip
    """Adds a rule: writes to paths of this pattern, by this agent or by any, get this policy instead of the mount's.

    A pattern that matches nothing is refused unless a person `confirmed` it.
    """
    require(actor, "manage")
    pattern = pattern.strip()
    if not pattern or len(pattern) > 1024 or "\x00" in pattern:
        raise Invalid("Write a pattern such as /memories/drafts/** or *.log.md.", field="pattern")
    if policy not in Policy.values:
        raise Invalid(f"A policy is one of: {', '.join(Policy.values)}.", field="policy")
    if not confirmed and not _matches_something(space, pattern):
        raise Invalid(_why_nothing(space, pattern), code="matches_nothing", field="pattern")
    last = PolicyRule.objects.within(space).order_by("-position").values_list("position", flat=True).first()
    rule = PolicyRule.objects.create(
        space=space, position=(last or 0) + 1, pattern=pattern, agent=agent, policy=policy, max_added=max_added,
        unless_findings=unless_findings, reviewers=reviewers,
    )  # fmt: skip
    who = f"for {agent.slug}" if agent else "for every agent"
    activity.record(space, actor, "policies.add", "made an exception for", pattern, url="mounts/", adds=f"{policy} {who}")  # fmt: skip
    return rule


MAX_MATCHED, LOOKED_AT = 100, 20_000


def matched_paths(space: Space, pattern: str, most: int = MAX_MATCHED) -> list[str]:
    """The files of the hub that a pattern matches, in the order of their paths: at most so many, of the first 20,000 that its
    beginning allows."""
    known = File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0).order_by("path")
    if "/" in pattern:
        known = known.filter(path__startswith=re.split(r"[*?\[{]", pattern, maxsplit=1)[0])
    return list(
        islice((path for path in known.values_list("path", flat=True)[:LOOKED_AT] if matches(pattern, path)), most)
    )


def count_matched(space: Space, patterns: list[str], most: int = MAX_MATCHED) -> list[int]:
    """For each pattern how many files of the hub it matches, by one query: at most so many, of the first 20,000."""
    known = File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0).order_by("path")
    listed = list(known.values_list("path", flat=True)[:LOOKED_AT]) if patterns else []
    return [sum(1 for _ in islice((path for path in listed if matches(pattern, path)), most)) for pattern in patterns]


def _matches_something(space: Space, pattern: str) -> bool:
    """Whether a file matches, or the pattern is a path without wildcards below a mount: that one it matches by itself."""
    is_path = not re.search(r"[*?\[{]", pattern) and "/" in pattern
    mounts = Mount.objects.within(space).values_list("prefix", flat=True)
    is_below = any(
        pattern.rstrip("/") != prefix.rstrip("/") and paths.under(prefix, pattern) and not pattern.endswith("/")
        for prefix in mounts
    )
    return (is_path and is_below) or bool(matched_paths(space, pattern, 1))


def _why_nothing(space: Space, pattern: str) -> str:
    says = f"No file matches “{pattern[:200]}”."
    for prefix in Mount.objects.within(space).values_list("prefix", flat=True):
        if pattern.strip("/") and pattern.strip("/") == prefix.strip("/"):
            return f"{says} For everything below {prefix} write {prefix}**."
    return f"{says} Check the pattern, or confirm that it is meant for files to come."


@transaction.atomic
def remove_rule(space: Space, actor: Actor, pk: int) -> None:
    """Removes a rule: the mount's own policy counts again."""
    require(actor, "manage")
    rule = PolicyRule.objects.within(space).filter(pk=pk).first()
    if rule is None:
        raise NotFound("There is no such exception in this space.")
    activity.record(space, actor, "policies.remove", "took away the exception for", rule.pattern, url="mounts/")
    rule.delete()


# ---- trying a rule on past proposals


@dataclass(frozen=True)
class DryRun:
    """How many proposals a rule was tried on, and those that it would have let through."""

    tried: int
    let_through: list[Proposal]

    @property
    def rejected(self) -> list[Proposal]:
        return [proposal for proposal in self.let_through if proposal.state == State.REJECTED]

    def rejected_by(self, name: str) -> int:
        return sum(proposal.decided_by_name == name for proposal in self.rejected)

    def sentence(self, name: str) -> str:
        """The result in words, for the person of this name."""
        if not self.tried:
            return "No proposal of the past fits this path, so there is nothing to try it on."
        result = f"It would have let through {len(self.let_through)} of {self.tried}"
        if not self.rejected:
            return f"{result}, none of them rejected by anybody."
        by_reader = self.rejected_by(name)
        return (
            f"{result}, {len(self.rejected)} of them rejected by people{f' ({by_reader} by you)' if by_reader else ''}."
        )


def dry_run_rule(
    space: Space, pattern: str, *, agent: Agent | None = None, max_added: int | None = None, unless_findings: bool = False
) -> DryRun:  # fmt: skip
    """Tries a rule with the policy `trusted` on the newest thousand proposals of the space."""
    rule = PolicyRule(
        space=space, pattern=pattern.strip(), agent=agent, policy=Policy.TRUSTED, max_added=max_added,
        unless_findings=unless_findings,
    )  # fmt: skip
    past = Proposal.objects.within(space).exclude(path="").select_related("agent").order_by("-number")
    tried = [proposal for proposal in past[:MAX_TRIED] if rule_applies(rule, proposal.path, proposal.agent)]
    return DryRun(len(tried), [proposal for proposal in tried if conditions_hold(rule, proposal)])


def conditions_hold(rule: PolicyRule, proposal: Proposal) -> bool:
    """Whether the conditions of a rule hold for the change of a proposal."""
    if rule.unless_findings and proposal.findings:
        return False
    if rule.max_added is None:
        return True
    return is_small(rule.max_added, *texts_of(request_of(proposal), lambda: text_of(base_content(proposal))))


def is_small(max_characters: int, before: str, after: str | None) -> bool:
    """Whether a change adds at most so many characters and removes at most as many: a rule for small additions must not let a
    text be thrown away. None as `after` is a deletion or a move, which are never small."""
    if after is None:
        return False
    added, removed = diff.changed_characters(before, after)
    return added <= max_characters and removed <= max_characters
