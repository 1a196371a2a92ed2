"""How a virtual path is resolved, explained step by step."""

from __future__ import annotations

from dataclasses import dataclass

from memoryhub.domain.files.mounts.guard import first_reason, shared_places, why_not_memory
from memoryhub.domain.files.mounts.resolve import Place, mounts_of_space, resolve_path
from memoryhub.domain.files.mounts.rules import rule_applies
from memoryhub.errors import HubError
from memoryhub.models import Agent, Mount, PolicyRule, Space
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
        return Explanation(path, None, verdicts, [], error.message)
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
