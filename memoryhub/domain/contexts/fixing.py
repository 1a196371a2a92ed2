"""Making a fix that a context offers: a person sees the change and its effect on every coding agent, then it is written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from memoryhub.dialects import coding, tokens_of_bytes
from memoryhub.dialects.coding import ChangedTree, Context
from memoryhub.domain import files, proposals
from memoryhub.domain.accounts import require
from memoryhub.domain.coding_agents import Fix
from memoryhub.domain.contexts.agent_context import AgentContext, read_context
from memoryhub.domain.contexts.places import Place
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import Actor, Space

EDITS = ("import", "write", "rename", "remove")


@dataclass(frozen=True)
class Effect:
    """What a change does to the context of one agent: tokens before and after, files that come in, files that are lost."""

    agent: coding.CodingAgent
    before: int
    after: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    is_same: bool


@dataclass
class FixReview:
    """A fix as a person looks at it before it is made."""

    place: Place
    seen: AgentContext
    fix: Fix

    @property
    def path(self) -> str:
        """The virtual path of the file that is changed."""
        return self.place.tree.file_path(self.fix.path) or self.place.tree.path_for(self.fix.path)

    @property
    def new_path(self) -> str:
        """Where a renamed file lies afterwards; empty for others."""
        if self.fix.code != "rename":
            return ""
        folder = self.path.rpartition("/")[0]
        new = next(path for path, text in self.fix.changes.items() if text is not None)
        return f"{folder}/{new.rpartition('/')[2]}"

    @property
    def before(self) -> bytes:
        return self.place.tree.read(self.fix.path) or b""

    @property
    def after(self) -> bytes | None:
        """The text of the file afterwards; None for one that is removed or renamed."""
        return self.fix.changes[self.fix.path]

    @property
    def reason(self) -> str:
        return f"So that {self.place.shorten(self.fix.about)} reaches {self.seen.agent.title}"

    @property
    def sha256(self) -> str:
        """The digest of the text before and after the change: a decision names it, so that nothing else is written."""
        return hashlib.sha256(self.before + b"\0" + (self.after or b"")).hexdigest()

    @cached_property
    def effects(self) -> list[Effect]:
        """What every coding agent gets before and after; those with a change first."""
        found = effects_of(self.place, self.fix.changes)
        return sorted(found, key=lambda one: one.is_same)


def effects_of(place: Place, changes: Mapping[str, bytes | None]) -> list[Effect]:
    """The effect of a change of files on the context of each coding agent that is started in this place."""
    tree = ChangedTree(place.tree, changes)
    found = []
    for agent in coding.agents().values():
        seen = read_context(place, agent.name)
        found.append(_effect(place, agent, seen.context, seen.read_changed(tree)))
    return found


def _effect(place: Place, agent: coding.CodingAgent, before: Context, after: Context) -> Effect:
    was, now = _loaded(before), _loaded(after)
    return Effect(
        agent, tokens_of_bytes(len(before.text)), tokens_of_bytes(len(after.text)), _shown(place, now - was),
        _shown(place, was - now), before.text == after.text,
    )  # fmt: skip


def _shown(place: Place, paths: set[str]) -> tuple[str, ...]:
    return tuple(place.shorten(path) for path in sorted(paths))


def _loaded(context: Context) -> set[str]:
    return {one.path for one in context.blocks} | {one.path for one in context.inlined}


def review_fix(place: Place, agent: str, about: str, code: str) -> FixReview:
    """A fix that the context of this agent offers now for the file of this virtual path; refused where it offers none."""
    seen = read_context(place, agent)
    offered = [fix for one in seen.problems if place.tree.file_path(one.path) == about for fix in one.fixes]
    shown = place.tree.shown_path(about)
    for fix in offered or (seen.fixes_for(shown) if shown and place.tree.file_path(shown) else ()):
        if fix.code == code and can_make(place, fix):
            return FixReview(place, seen, fix)
    raise NotFound("This fix is no longer offered: the files have changed. Open the context again.")


def can_make(place: Place, fix: Fix) -> bool:
    """Whether the hub can make a fix: it edits a file that is shown, and carries no mark of a secret into it."""
    touched = [fix.path, fix.about]
    if fix.code not in EDITS or any(path in place.tree.secrets for path in touched):
        return False
    new = place.tree.path_for(fix.path) if not place.tree.kind(fix.path) else ""
    return bool(place.tree.file_path(fix.about) and (new or place.tree.file_path(fix.path)))


def apply_fix(space: Space, actor: Actor, review: FixReview, seen: str) -> str:
    """Makes a fix that a person saw, as a change of theirs; answers the path of the file. Another text than they saw is refused."""
    require(actor, "edit")
    if seen != review.sha256:
        raise Conflict("The files changed since you looked. See what the fix is now.", code="changed_since_seen")
    path, was, reason = review.path, hashlib.sha256(review.before).hexdigest(), review.reason
    if not review.place.tree.kind(review.fix.path):
        proposals.check_content(space, path, review.after or b"")
        files.write(space, actor, path, review.after or b"", reason=reason, if_none_match="*")
        return path
    files.read(space, path)  # takes in what changed on disk, so that its text is the one that is compared
    if review.new_path:
        files.move(space, actor, path, review.new_path, reason=reason, if_match=was)
        return review.new_path
    if review.after is None:
        files.delete(space, actor, path, reason=reason, if_match=was)
        return ""
    proposals.check_content(space, path, review.after)
    files.write(space, actor, path, review.after, reason=reason, if_match=was)
    return path
