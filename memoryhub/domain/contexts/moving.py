"""Moving memory between agents: a plan of changed files that a person looks at, with its effect on every coding agent, before it
is written, proposed or dropped."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.db import transaction

from memoryhub.dialects import coding
from memoryhub.dialects.coding import ChangedTree
from memoryhub.dialects.coding.claude_memory import project_slug
from memoryhub.domain import coding_agents, files, proposals
from memoryhub.domain.accounts import require
from memoryhub.domain.contexts.fixing import Effect, FixReview, effects_of
from memoryhub.domain.contexts.own_memory import OwnMemory, own_memories, own_memory
from memoryhub.domain.contexts.places import Place, is_agents_folder, mounts_of_this_disk, place_in_mount
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Proposal, Space
from memoryhub.text.lines import text_as_bytes

MAIN = "AGENTS.md"
IMPORTERS = (("CLAUDE.md", "claude-code", "@AGENTS.md"), ("GEMINI.md", "gemini-cli", "@./AGENTS.md"))
TARGETS = frozenset([MAIN, "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "copilot-instructions.md", ".hermes.md"])
MAX_TARGETS = 100


@dataclass(frozen=True)
class FileChange:
    """One file of a plan, by its virtual path; `after` is None for one that goes."""

    path: str
    is_new: bool
    before: bytes
    after: bytes | None


@dataclass
class Plan:
    """Changed files by shown path (None for one that goes), and why. Nothing is written yet."""

    place: Place  # where the agents are started whose contexts are compared
    changes: Mapping[str, bytes | None]
    reason: str

    files: list[FileChange] = field(init=False)  # as they are when the plan is made

    def __post_init__(self) -> None:
        tree = self.place.tree
        self.files = [
            FileChange(tree.path_for(path), not tree.kind(path), tree.read(path) or b"", after)
            for path, after in self.changes.items()
        ]

    @property
    def sha256(self) -> str:
        """The digest of all texts before and after: a decision names it, so that nothing else is written than was seen."""
        digest = hashlib.sha256()
        for one in self.files:
            for part in (one.path.encode(), one.before, b"" if one.after is None else one.after):
                digest.update(hashlib.sha256(part).digest())
        return digest.hexdigest()

    @cached_property
    def effects(self) -> list[Effect]:
        """What every coding agent gets before and after; those with a change first."""
        return sorted(effects_of(self.place, self.changes), key=lambda one: one.is_same)


# ---- an entry of an agent's own memory


def targets_for(space: Space, actor: Actor, memory: OwnMemory) -> list[str]:
    """The files that an entry can move to, by virtual path: those of the entry's own project first, then other agents' memory."""
    found: list[str] = []
    for mount in _project_first(mounts_of_this_disk(space), memory):
        place = place_in_mount(space, actor, mount.pk, "")
        known = [place.tree.file_path(path) for path in place.all_files if os.path.basename(path) in TARGETS]
        if not is_agents_folder(mount):
            known.insert(0, mount.prefix + MAIN)
        found += [path for path in known if path]
    found += [one.path for one in own_memories(space)]
    return [path for path in dict.fromkeys(found) if path != memory.path][:MAX_TARGETS]


def _project_first(mounts: Sequence, memory: OwnMemory) -> list:  # type: ignore[type-arg]
    """The mount of the project that the memory speaks of comes first, those of agents' own folders last."""

    def rank(mount) -> tuple[bool, bool, str]:  # type: ignore[no-untyped-def]
        slug = project_slug(os.path.realpath(mount.directory))
        return (f"/projects/{slug}/" not in memory.path, is_agents_folder(mount), mount.prefix)

    return sorted(mounts, key=rank)


def plan_entry(
    space: Space, actor: Actor, path: str, number: int, *, to: str, text: str = "", keep: bool = False
) -> Plan:
    """An entry of an agent's memory becomes a line of another file. `text` is another wording; with `keep` the entry stays."""
    memory = own_memory(space, path)
    if memory.has_secrets:
        raise Conflict("This file contains a secret on disk. Remove it there first.", code="secret_on_disk")
    if to not in targets_for(space, actor, memory):
        raise NotFound("This file cannot take an entry. Choose one of the list.")
    place = _place_of(space, actor, to)
    tree, target = place.tree, place.tree.shown_path(to)
    before = tree.read(target) or b""
    if target in tree.secrets:
        raise Conflict(f"{to} contains a secret on disk. Remove it there first.", code="secret_on_disk")
    line = text.strip() or coding_agents.as_line(coding_agents.entry_of(memory.format, memory.text, number))
    changes: dict[str, bytes | None] = {target: _with_line(space, to, before, line)}
    if not keep:
        rest = coding_agents.without_entry(memory.format, memory.text, number)
        changes[tree.shown_path(path)] = text_as_bytes(rest)
    agent = coding.agent(memory.format.agent).title
    return Plan(place, changes, f"An entry of {agent}'s own memory as a line of {os.path.basename(to)}")


def _place_of(space: Space, actor: Actor, to: str) -> Place:
    """Where an agent is started that reads the file; for agents' own memory the first project."""
    mounts = mounts_of_this_disk(space)
    own = files.find_mount(mounts, to)
    if own is None:
        raise NotFound("This file lies in no mounted directory.")
    if is_agents_folder(own):
        own = next((one for one in mounts if not is_agents_folder(one)), own)
        return place_in_mount(space, actor, own.pk, "")
    place = place_in_mount(space, actor, own.pk, "")
    folder = coding_agents.folder_of(place.tree.shown_path(to))
    inside = os.path.relpath(folder, place.root.shown)
    return (
        place if inside == "." or place.tree.kind(folder) != "folder" else place_in_mount(space, actor, own.pk, inside)
    )


def _with_line(space: Space, to: str, before: bytes, line: str) -> bytes:
    """A text with a further line at its end, in the format of the file."""
    known = next((one.format for one in own_memories(space) if one.path == to), None)
    text = before.decode("utf-8", "surrogateescape")
    if line in text.split("\n"):
        raise Invalid(f"{to} says that already.", code="no_change", path=to)
    if known:
        return text_as_bytes(coding_agents.and_entry(known, text, line.removeprefix("- ")))
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else end
    return f"{text}{gap}{line.replace(chr(10), end)}{end}".encode("utf-8", "surrogateescape")


# ---- one AGENTS.md for all


def plan_one_file(place: Place, *, move_all: bool = False) -> Plan:
    """AGENTS.md holds what all agents share, and CLAUDE.md and GEMINI.md import it. What only one of them says stays in it, or
    moves into AGENTS.md with `move_all`."""
    tree, folder = place.tree, place.directory
    texts = {name: _plain_text(place, name) for name in (MAIN, *(name for name, *_ in IMPORTERS))}
    first = next((name for name, text in texts.items() if text.strip()), "")
    if not first:
        raise Invalid("This folder has no AGENTS.md, CLAUDE.md or GEMINI.md to begin with.", code="nothing_to_move")
    shared = texts[first]
    changes: dict[str, bytes | None] = {}
    for name, agent, mention in IMPORTERS:
        path, content = os.path.join(folder, name), texts[name]
        if tree.is_link(path) or mention.removeprefix("@./").removeprefix("@") in _mentioned(content):
            continue
        rest = b"" if content.strip() in shared else content
        if move_all and rest:
            shared, rest = shared.rstrip(b"\n") + b"\n\n" + rest, b""
        main = {os.path.join(folder, MAIN): shared}
        if (
            content
            or shared.strip() not in coding.context_of(agent, folder, place.home, tree=ChangedTree(tree, main)).text
        ):
            changes[path] = f"{mention}\n".encode() + (b"\n" + rest if rest else b"")
    if shared != texts[MAIN]:
        changes = {os.path.join(folder, MAIN): shared, **changes}
    if not changes:
        raise Invalid("AGENTS.md reaches Claude Code and Gemini CLI here already.", code="no_change")
    return Plan(place, changes, "One AGENTS.md for all agents")


def _plain_text(place: Place, name: str) -> bytes:
    """The text of a file of the folder. Refused where it is not shown, or holds a secret: it would be written elsewhere as marks."""
    path = os.path.join(place.directory, name)
    content = place.tree.read(path) or b""
    if path in place.tree.secrets:
        raise Conflict(f"{name} contains a secret on disk. Remove it there first.", code="secret_on_disk")
    if content and place.tree.why_withheld(path):
        raise Conflict(f"The text of {name} is not shown here: {place.tree.why_withheld(path)}.", code="left_out")
    return content


def _mentioned(text: bytes) -> set[str]:
    words = text.decode("utf-8", "replace").split()
    return {word[1:].removeprefix("./") for word in words if word.startswith("@")}


# ---- deciding on a plan


def _check_seen(actor: Actor, plan: Plan, seen: str) -> None:
    require(actor, "edit")
    if seen != plan.sha256:
        raise Conflict("The files changed since you looked. See what the change is now.", code="changed_since_seen")
    if not all(one.path for one in plan.files):
        raise Conflict("A file of this change lies outside of the folders of this space.", code="left_out")


@transaction.atomic
def apply_plan(space: Space, actor: Actor, plan: Plan, seen: str) -> list[tuple[str, int]]:
    """Writes all files of a plan as changes of this person, or none; answers path and revision of each, for `undo_plan`."""
    _check_seen(actor, plan, seen)
    made = []
    for one in sorted(
        plan.files, key=lambda one: one.path
    ):  # in one order, so that two people cannot wait for each other
        if one.after is None:
            revision = files.delete(space, actor, one.path, reason=plan.reason, if_match=_sha(space, one))
        else:
            proposals.check_content(space, one.path, one.after)
            known = None if one.is_new else _sha(space, one)
            new = "*" if one.is_new else None
            revision = files.write(
                space, actor, one.path, one.after, reason=plan.reason, if_match=known, if_none_match=new
            )
        made.append((one.path, revision.number))
    return made


def _sha(space: Space, one: FileChange) -> str:
    """The sha256 of the text that was seen, after what changed on disk was taken in."""
    files.read(space, one.path)
    return hashlib.sha256(one.before).hexdigest()


@transaction.atomic
def propose_plan(space: Space, actor: Actor, plan: Plan, seen: str) -> list[Proposal]:
    """Leaves each file of a plan to a reviewer, as a proposal of this person."""
    _check_seen(actor, plan, seen)
    return [
        proposals.propose(
            space, actor, kind="delete" if one.after is None else "write", path=one.path, content=one.after,
            reason=plan.reason)
        for one in plan.files
    ]  # fmt: skip


def propose_fix(space: Space, actor: Actor, review: FixReview, seen: str) -> list[Proposal]:
    """Leaves a fix that a person saw to a reviewer, as a proposal of this person."""
    if not review.new_path:
        plan = Plan(review.place, review.fix.changes, review.reason)
        return propose_plan(space, actor, plan, plan.sha256 if seen == review.sha256 else "")
    require(actor, "edit")
    if seen != review.sha256:
        raise Conflict("The files changed since you looked. See what the fix is now.", code="changed_since_seen")
    change = {"to": review.new_path}
    return [proposals.propose(space, actor, kind="move", path=review.path, change=change, reason=review.reason)]


@transaction.atomic
def undo_plan(space: Space, actor: Actor, made: Iterable[tuple[str, int]]) -> None:
    """Takes a written plan back: every file has the text that it had before. Refused where one of them changed since."""
    require(actor, "edit")
    for path, number in sorted(made):
        file = files.file_row(space, path)
        if file.revision != number:
            raise Conflict(f"{path} changed again since. Revert it in its history.", code="built_upon", path=path)
        reason = f"Undone: revision {number}"
        if file.is_deleted:
            files.restore(space, actor, path, number - 1, reason=reason)
            continue
        earlier = files.get_revision(file, number - 1) if number > 1 else None
        if earlier is None or earlier.is_deleted:
            files.delete(space, actor, path, reason=reason, if_match=file.sha256)
        else:
            notes = {"kind": "restore", "restored_from": number - 1, "reason": reason, "if_match": file.sha256}
            files.write(space, actor, path, bytes(earlier.content), **notes)
