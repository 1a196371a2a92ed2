"""How a virtual path is resolved and what becomes of a write to it, explained step by step."""

from __future__ import annotations

from dataclasses import dataclass

from memoryhub.detectors import secrets
from memoryhub.domain.files.mounts.guard import check_agents_path, first_reason, shared_places, why_not_memory
from memoryhub.domain.files.mounts.resolve import Place, mounts_of_space, resolve_path
from memoryhub.domain.files.mounts.rules import rule_applies
from memoryhub.errors import HubError
from memoryhub.models import Agent, Mount, Policy, PolicyRule, Space
from memoryhub.stores import paths
from memoryhub.stores.selection import LeftOut


@dataclass(frozen=True)
class Explanation:
    """How a path is resolved: every mount with its verdict, every rule and whether it applies, the place or the problem."""

    path: str
    place: Place | None
    looked_at: list[tuple[Mount, str]]
    rules: list[tuple[PolicyRule, bool]]
    problem: str = ""
    why_out: LeftOut | None = None  # why its mount leaves it out
    program: str = ""  # why agents never write it
    code: str = ""  # of the problem
    shared: tuple[Place, ...] = ()  # other places of the same file on disk, whose policies count as well


def explain_path(space: Space, path: str, *, agent: Agent | None = None) -> Explanation:
    """Explains which mount, store, real path and policy a virtual path gets, and why."""
    mounts = sorted(mounts_of_space(space), key=lambda mount: -len(mount.prefix))
    try:
        path = paths.clean(path.strip())
        place = resolve_path(space, path, agent=agent)
    except HubError as error:
        verdicts = [
            (m, "not asked: the path is refused" if error.code == "invalid_path" else _mount_verdict(m, path, None))
            for m in mounts
        ]
        return Explanation(path, None, verdicts, [], error.message, code=error.code)
    rules = [(rule, rule_applies(rule, path, agent)) for rule in PolicyRule.objects.within(space).filter(is_on=True)]
    verdicts = [(m, _mount_verdict(m, path, place.mount)) for m in mounts]
    reasons = why_not_memory(place, path)
    program = first_reason(reasons) if reasons else ""
    shared = tuple(shared_places(space, place, agent))
    return Explanation(path, place, verdicts, rules, why_out=place.why_closed(), program=program, shared=shared)


def _mount_verdict(mount: Mount, path: str, chosen: Mount | None) -> str:
    if mount == chosen:
        return "answers: the longest prefix that fits"
    if chosen is not None and paths.under(mount.prefix, path):
        return "fits too, but is shorter"
    if path.startswith(mount.prefix.rstrip("/")):
        return "begins alike, but only whole names count"
    return "does not fit"


@dataclass(frozen=True)
class WriteOutcome:
    """What becomes of a write by an agent: `applied`, `conditional` (at once where the conditions of its rule hold), `proposal`,
    `read_only`, or the code of the refusal; with the sentence that the agent is answered, if it is refused."""

    code: str
    message: str = ""
    is_program: bool = False  # a program that a rule names: always a proposal


def outcome_of_write(space: Space, explained: Explanation, agent: Agent | None) -> WriteOutcome:
    """What becomes of a write by this agent (or any) to an explained path, decided in the order in which `submit` does."""
    if kind := secrets.in_name(explained.path):
        return WriteOutcome("secret_found", f"The path holds a secret ({kind}). Give the file another name.")
    if explained.place is None:
        return WriteOutcome(explained.code, explained.problem)
    try:
        is_program = check_agents_path(space, agent, explained.place, explained.path)
    except HubError as refusal:
        return WriteOutcome(refusal.code, refusal.message)
    places = [explained.place]
    if not is_program and explained.place.policy == Policy.TRUSTED:
        places += explained.shared
    policies = {place.policy for place in places}
    if Policy.READ_ONLY in policies:
        return WriteOutcome("read_only")
    if is_program or policies != {Policy.TRUSTED}:
        return WriteOutcome("proposal", is_program=is_program)
    rules = [place.rule for place in places if place.rule]
    has_conditions = any(rule.unless_findings or rule.max_added is not None for rule in rules)
    return WriteOutcome("conditional" if has_conditions else "applied")
