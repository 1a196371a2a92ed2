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
from memoryhub.models import Actor, Agent, File, Mount, Policy, PolicyRule, Proposal, Revision, Space, move_row
from memoryhub.stores import paths
from memoryhub.text import diff
from memoryhub.text.counted import counted
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
    pattern = _checked_pattern(space, pattern, policy, confirmed=confirmed)
    last = PolicyRule.objects.within(space).order_by("-position").values_list("position", flat=True).first()
    rule = PolicyRule.objects.create(
        space=space, position=(last or 0) + 1, pattern=pattern, agent=agent, policy=policy, max_added=max_added,
        unless_findings=unless_findings, reviewers=reviewers,
    )  # fmt: skip
    adds = f"({policy} for {agent.slug})" if agent else f"({policy} for every agent)"
    activity.record(space, actor, "policies.add", "added the rule for", pattern, url="rules/", adds=adds)
    return rule


def _checked_pattern(space: Space, pattern: str, policy: str, *, confirmed: bool) -> str:
    pattern = pattern.strip()
    if not pattern or len(pattern) > 1024 or "\x00" in pattern:
        raise Invalid("Write a pattern such as /memories/drafts/** or *.log.md.", field="pattern")
    if policy not in Policy.values:
        raise Invalid(f"A policy is one of: {', '.join(Policy.values)}.", field="policy")
    if not confirmed and not _matches_something(space, pattern):
        raise Invalid(_why_nothing(space, pattern), code="matches_nothing", field="pattern")
    return pattern


@transaction.atomic
def change_rule(
    space: Space, actor: Actor, pk: int, pattern: str, policy: str, *, agent: Agent | None = None,
    max_added: int | None = None, unless_findings: bool = False, reviewers: int = 1, confirmed: bool = False,
) -> PolicyRule:  # fmt: skip
    """Changes a rule at its place in the order; every value is given. What it let through before stays as it was decided."""
    require(actor, "manage")
    rule = _locked_rules(space, pk)[1]
    pattern = _checked_pattern(space, pattern, policy, confirmed=confirmed or pattern.strip() == rule.pattern)
    wanted = {
        "pattern": pattern, "policy": policy, "agent_id": agent.pk if agent else None, "max_added": max_added,
        "unless_findings": unless_findings, "reviewers": reviewers,
    }  # fmt: skip
    changed = [name for name, value in wanted.items() if getattr(rule, name) != value]
    for name in changed:
        setattr(rule, name, wanted[name])
    if changed:
        rule.save(update_fields=changed)
        named = ", ".join(name.removesuffix("_id").replace("_", " ") for name in changed)
        activity.record(space, actor, "policies.change", "changed the rule for", pattern, url="rules/", adds=named)
    return rule


@transaction.atomic
def reorder_rule(space: Space, actor: Actor, pk: int, to: int) -> PolicyRule:
    """Moves a rule to another place in the order, counted from 1: an earlier one decides first."""
    require(actor, "manage")
    rules, rule = _locked_rules(space, pk)
    if not move_row(rules, rule, to):
        return rule
    place = f"to place {rule.position}"
    activity.record(space, actor, "policies.reorder", "moved the rule for", rule.pattern, url="rules/", adds=place)
    return rule


def _locked_rules(space: Space, pk: int) -> tuple[list[PolicyRule], PolicyRule]:
    """All rules in their order, locked by the space's row until the transaction ends, and the one of this id."""
    Space.objects.select_for_update().get(pk=space.pk)
    rules = list(PolicyRule.objects.within(space))
    return rules, get_rule(space, pk, rules)


def get_rule(space: Space, pk: int, rules: Iterable[PolicyRule] | None = None) -> PolicyRule:
    """One rule of a space by its id."""
    listed = rules_of_space(space) if rules is None else rules
    rule = next((one for one in listed if one.pk == pk), None)
    if rule is None:
        raise NotFound("There is no such rule in this space.")
    return rule


MAX_MATCHED, MAX_PATHS, MIN_PATHS = 100, 20_000, 200
MAX_COMPARISONS = 50_000


def matched_paths(space: Space, pattern: str, most: int = MAX_MATCHED) -> list[str]:
    """The files of the hub that a pattern matches, in the order of their paths: at most so many, of the first 20,000 that its
    beginning allows."""
    known = File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0).order_by("path")
    if "/" in pattern:
        known = known.filter(path__startswith=re.split(r"[*?\[{]", pattern, maxsplit=1)[0])
    return list(
        islice((path for path in known.values_list("path", flat=True)[:MAX_PATHS] if matches(pattern, path)), most)
    )


def count_matched(space: Space, patterns: list[str]) -> tuple[list[int], bool]:
    """For each pattern how many files of the hub it matches, by one query: MAX_MATCHED at most. Also whether not every file was
    looked at: of many patterns only as many files as take about half a second."""
    if not patterns:
        return [], False
    look_at = max(MIN_PATHS, min(MAX_PATHS, MAX_COMPARISONS // len(patterns)))
    known = File.objects.within(space).filter(is_deleted=False, thread_id="", revision__gt=0).order_by("path")
    listed = list(known.values_list("path", flat=True)[: look_at + 1])
    is_cut, listed = len(listed) > look_at, listed[:look_at]
    return [
        sum(1 for _ in islice((path for path in listed if matches(pattern, path)), MAX_MATCHED)) for pattern in patterns
    ], is_cut


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
    rule = get_rule(space, pk)
    activity.record(space, actor, "policies.remove", "removed the rule for", rule.pattern, url="rules/")
    rule.delete()


# ---- trying a rule on past proposals


@dataclass(frozen=True)
class DryRun:
    """What a rule would have made of the newest proposals: how many it is about, and those that it would have let through or,
    with the policy `read_only`, refused. With `review`, the writes of agents on its paths that were applied at once."""

    policy: str
    tried: int
    hit: list[Proposal]
    applied: int = 0

    @property
    def against(self) -> list[Proposal]:
        """The proposals on which people decided otherwise than the rule would have."""
        other = State.APPROVED if self.policy == Policy.READ_ONLY else State.REJECTED
        return [proposal for proposal in self.hit if proposal.state == other] if self.policy != Policy.REVIEW else []

    def sentence(self, name: str) -> str:
        """The result in words, for the person of this name."""
        if self.policy == Policy.REVIEW:
            if self.applied:
                return f"{counted(self.applied, 'write')} that counted at once would have waited for approval."
            return "No write of the past would have been decided otherwise."
        if not self.tried:
            return "No proposal of the past is about these paths, so there is nothing to try the rule on."
        refused = self.policy == Policy.READ_ONLY
        done = "been refused" if refused else "applied at once"
        result = f"Of {counted(self.tried, 'proposal')}, {len(self.hit)} would have {done}"
        if not self.against:
            return f"{result}, none of them {'approved' if refused else 'rejected'}."
        by_reader = sum(one.decided_by_name == name for one in self.against)
        yours = f" ({by_reader} by you)" if by_reader else ""
        return f"{result}, {len(self.against)} of them {'approved' if refused else 'rejected'} by people{yours}."


def dry_run_rule(
    space: Space, pattern: str, *, policy: str = Policy.TRUSTED, agent: Agent | None = None, max_added: int | None = None,
    unless_findings: bool = False,
) -> DryRun:  # fmt: skip
    """Tries a rule on the newest thousand proposals of the space, or on as many writes of agents that counted at once."""
    rule = PolicyRule(
        space=space, pattern=pattern.strip(), agent=agent, policy=policy, max_added=max_added,
        unless_findings=unless_findings,
    )  # fmt: skip
    past = Proposal.objects.within(space).exclude(path="").select_related("agent").order_by("-number")
    tried = [proposal for proposal in past[:MAX_TRIED] if rule_applies(rule, proposal.path, proposal.agent)]
    if policy == Policy.REVIEW:
        return DryRun(policy, len(tried), [], _count_unreviewed(space, rule))
    hit = [one for one in tried if policy == Policy.READ_ONLY or conditions_hold(rule, one)]
    return DryRun(policy, len(tried), hit)


def _count_unreviewed(space: Space, rule: PolicyRule) -> int:
    """How many of the newest thousand revisions by agents, which nobody approved, a rule is about."""
    newest = Revision.objects.within(space).filter(actor_kind="agent", proposal=None).order_by("-pk")
    if rule.agent:
        newest = newest.filter(actor_id=rule.agent.pk)
    paths_of = newest.values_list("path", flat=True)[:MAX_TRIED]
    return sum(matches(rule.pattern, path) for path in paths_of)


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
