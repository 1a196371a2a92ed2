"""The path tester: what becomes of a write to a path, the outcome first, then the steps in which the server decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from memoryhub.domain import files
from memoryhub.domain.accounts import may
from memoryhub.models import Actor, Agent, Mount, OnDisk, Space
from memoryhub.templatetags.files import policy_words, store_words
from memoryhub.templatetags.hub import names

DISK, ME = "disk", "me"  # writers beside agents, with a colon in front, which no slug has
NAMES_SHOWN = 5


@dataclass(frozen=True)
class Step:
    """One thing that decides: its glyph, what it is and what it says; code words of the text are in `mono`."""

    glyph: str
    label: str
    mono: str = ""
    says: str = ""


@dataclass(frozen=True)
class Tested:
    path: str
    outcome: str
    steps: list[Step]
    mount: Mount | None = None


def test_path(space: Space, actor: Actor, path: str, by: str, agents: list[Agent]) -> Tested:
    """What becomes of a write to `path` by the agent of this slug, by any agent (""), by the disk, or by the reader."""
    agent = next((one for one in agents if one.slug == by), None)
    explained = files.explain_path(space, path, agent=agent)
    outcome = files.outcome_of_write(space, explained, agent)
    mount = files.get_mount(space, explained.place.mount.pk) if explained.place else None
    outcomes = {f":{DISK}": disk_outcome(mount, explained), f":{ME}": own_outcome(actor, explained)}
    steps = list(steps_of(space, actor, explained, outcome, agent, mount))
    return Tested(explained.path, outcomes.get(by) or agent_outcome(outcome), steps, mount)


def agent_outcome(outcome: files.WriteOutcome) -> str:
    return {
        "applied": _("Applies at once"),
        "conditional": _("Applies at once under conditions, else becomes a proposal"),
        "proposal": _("Becomes a proposal"),
        "read_only": _("Refused: read only"),
        "left_out": _("Refused: left out by its mount"),
        "not_memory": _("Refused: agents never write it"),
        "no_mount": _("Refused: under no mount"),
        "secret_found": _("Refused: the path holds a secret"),
    }.get(outcome.code, _("Refused: no valid path"))


def own_outcome(actor: Actor, explained: files.Explanation) -> str:
    if explained.place is None:
        return _("Refused: under no mount") if explained.code == "no_mount" else _("Refused: no valid path")
    if explained.why_out:
        return _("Refused: left out by its mount")
    if explained.place.mount.store == Mount.Store.VIEWS:
        return _("Refused: shows memory, read only")
    return _("Saved at once, as your revision") if may(actor.role, "edit") else _("Refused: your role only reads")


def disk_outcome(mount: Mount | None, explained: files.Explanation) -> str:
    if mount is None or mount.store != Mount.Store.FILESYSTEM:
        return _("Has no file on disk")
    if explained.why_out:
        return _("Not seen: left out by its mount")
    if mount.on_disk == OnDisk.HOLD:
        return _("Held, and the approved text is put back") if mount.puts_back else _("Held as a proposal")
    return _("Counts at once, marked as not reviewed")


def steps_of(
    space: Space, actor: Actor, explained: files.Explanation, outcome: files.WriteOutcome, agent: Agent | None, mount: Mount | None
) -> Iterator[Step]:  # fmt: skip
    """The steps up to the one that decides."""
    if mount is None or explained.place is None:
        yield Step("x", _("Mount"), says=explained.problem)
        return
    where = store_words(mount.store)
    if mount.store == Mount.Store.FILESYSTEM and may(actor.role, "manage"):
        where = explained.place.real_path
    yield Step("folder", _("Mount"), mount.prefix, where)
    yield rule_step(space, explained)
    yield Step("x" if explained.why_out else "check", _("Left out"), says=left_out_words(explained))
    if outcome.code == "left_out":
        return
    if explained.program:
        yield Step("lock", _("Not memory"), says=program_words(explained, outcome))
    for other in explained.shared:
        yield shared_step(space, other)
    who = agent.name if agent else _("an agent")
    yield Step("proposal", _("A write by %(who)s") % {"who": who}, says=write_words(explained, outcome))
    if mount.store == Mount.Store.FILESYSTEM:
        yield Step("disk", _("A change on disk"), says=disk_words(mount))
    yield prompt_step(space, explained.path)


def rule_step(space: Space, explained: files.Explanation) -> Step:
    assert explained.place is not None
    rule = explained.place.rule
    if rule is None:
        policy = policy_words(explained.place.policy)
        return Step("settings", _("Rule"), says=_("none matches; the mount says: %(policy)s") % {"policy": policy})
    number = next(n for n, (one, _fits) in enumerate(explained.rules, 1) if one.pk == rule.pk)
    return Step("settings", _("Rule %(number)d") % {"number": number}, rule.pattern, policy_words(rule.policy))


def shared_step(space: Space, other: files.Place) -> Step:
    """Another place of the same file on disk; of another space nothing but its policy."""
    says = _("%(policy)s; the strictest of all counts") % {"policy": policy_words(other.policy)}
    if other.mount.space_id != space.pk:
        return Step("folder", _("Also in a mount of another space"), says=says)
    return Step("folder", _("Also at"), other.mount.prefix + other.relative.lstrip("/"), says)


def left_out_words(explained: files.Explanation) -> str:
    return explained.why_out.why if explained.why_out else _("nothing leaves it out")


def program_words(explained: files.Explanation, outcome: files.WriteOutcome) -> str:
    if outcome.code == "not_memory":
        return explained.program
    return _("%(why)s; a rule names it, so it can be proposed") % {"why": explained.program}


def write_words(explained: files.Explanation, outcome: files.WriteOutcome) -> str:
    rule = explained.place.rule if explained.place else None
    if outcome.code == "proposal" and rule and rule.reviewers > 1:
        return _("waits for approval by %(number)d reviewers") % {"number": rule.reviewers}
    if outcome.code == "conditional" and rule:
        return (
            _("applies at once if it is small enough and no detector finds anything")
            if rule.max_added is not None
            else _("applies at once if no detector finds anything")
        )
    return {
        "proposal": _("waits for approval by a reviewer"),
        "applied": _("applies at once; secrets and changes of protected lines are refused"),
        "read_only": _("is refused; the agent is told to carry on without it"),
    }.get(outcome.code, outcome.message)


def disk_words(mount: Mount) -> str:
    if mount.on_disk == OnDisk.APPLY:
        return _("counts at once, marked as not reviewed; one with a secret or an injection is held")
    return _("is held, and the approved text is put back") if mount.puts_back else _("is held as a proposal")


def prompt_step(space: Space, path: str) -> Step:
    readers = [agent.name for agent in files.agents_reading(space, path)]
    if not readers:
        return Step("prompt", _("Prompts"), says=_("in none: it is no source"))
    return Step("prompt", _("Prompts"), says=_("in those of %(names)s") % {"names": names(readers, NAMES_SHOWN)})
