"""The kinds of change of a file, and what every kind of change answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.translation import gettext_noop as _

from memoryhub.detectors import Finding
from memoryhub.detectors.changes import detectable, findings_in
from memoryhub.domain import files
from memoryhub.domain.proposals import findings
from memoryhub.domain.proposals.state import Parents, asked_by, parent_of
from memoryhub.errors import Conflict, HubError, NotFound
from memoryhub.models import Actor, File, Proposal, Revision
from memoryhub.text import edits
from memoryhub.text.blame import ReviewedLines, lines_by_reviewer
from memoryhub.text.counted import counted
from memoryhub.text.diff import unified_bytes
from memoryhub.text.lines import bytes_of, text_of
from memoryhub.text.merge import merge3


def sha_of(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()


@dataclass(frozen=True)
class Settlement:
    """What approving a promotion does beside it: entries that it replaces or takes in, and when to check it again."""

    replaces: tuple[int, ...] = ()
    merges: tuple[int, ...] = ()
    review_by: date | None = None


class ChangeKind:
    """What every kind of change answers, as a change of the text of one file does."""

    wants = "edit"  # as an agent wants to do it: "forge wants to edit AGENTS.md"
    heading = "The text"
    approve_label = _("Approve")
    without_prompts = _("In no agent's prompt; agents see it when they read the file.")
    revision_kind = "edit"
    has_file = True  # it changes a file
    changes = "file"  # or entry, of long-term memory, or template
    adds_words = True  # detectors look at what it makes
    has_text = True  # there are texts to compare; a move changes none
    is_editable = True  # a reviewer may approve other words instead
    removes_file = False
    can_stack = False  # it may build on what the same agent has waiting for the same file

    @property
    def edits_file(self) -> bool:
        """Whether it makes a new text of a file, of which a reviewer may take single changes."""
        return self.has_file and self.is_editable

    def does(self, proposal: Proposal) -> str:
        """What it does to its path, in the third person: edits, adds to."""
        verb, _, rest = self.wants.partition(" ")
        return f"{verb}s {rest}".rstrip()

    # what it makes

    def make(self, proposal: Proposal, before: bytes | None, parents: Parents = parent_of) -> bytes | None:
        """The text that the change makes of this one, none for no file; refused when it no longer fits."""
        raise NotImplementedError

    def wanted(self, proposal: Proposal) -> bytes | None:
        """The text that the agent had in mind, on the text it had in front of it."""
        return None

    def text_asked_on(self, proposal: Proposal, parents: Parents = parent_of) -> bytes | None:
        """What the agent had in front of it: the file, with what the proposals made of it on which this one builds."""
        text, chain = files.base_content(proposal) if proposal.base_sha256 else None, [proposal]
        while (parent := parents(chain[-1])) is not None:
            chain.append(parent)
        try:
            for one in reversed(chain[1:]):
                text = kind_of(one).make(one, text, parents)
        except HubError:
            return None  # that text was erased
        return text

    def files_after(self, proposal: Proposal, after: bytes | None) -> dict[str, bytes | None]:
        """The files as they are once it is applied, by path; none for a file that is gone."""
        return {proposal.path: after}

    def published(self, proposal: Proposal) -> files.Published | None:
        """The text that stands now where it would change something, with what changed on disk taken in."""
        try:
            return files.read(proposal.space, proposal.path, thread_id=proposal.thread_id)
        except NotFound:
            return None

    def findings(self, proposal: Proposal, before: bytes | None, after: bytes | None) -> list[Finding]:
        """What the detectors find in what it would make."""
        return findings.findings_of(proposal.space, proposal.path, before, after) if self.adds_words else []

    def diff(self, proposal: Proposal, before: bytes | None, after: bytes | None) -> str:
        return unified_bytes(before, after, proposal.path or proposal.thing)

    def applied_texts(self, proposal: Proposal) -> tuple[bytes | None, bytes | None]:
        """The texts before and after the revision that an approved proposal became."""
        number = proposal.applied_revision or 0
        rows = Revision.objects.within(proposal.space_id).filter(
            file__path=proposal.path, file__thread_id__in=["", proposal.thread_id], number__in=[number - 1, number]
        )
        found = {row.number: None if row.is_deleted else bytes(row.content) for row in rows}
        return found.get(number - 1), found.get(number)

    def applied_sha(self, proposal: Proposal, after: bytes | None) -> str | None:
        """The sha256 of what an approved proposal made, whose text is `after`."""
        return sha_of(after)

    def risk(self, proposal: Proposal, found: list[Finding], before: bytes | None, after: bytes | None) -> int:
        """0 plain, 1 some, 2 look closely."""
        return findings.risk_of(found, before, after)

    # what happens to it

    def apply(
        self, proposal: Proposal, actor: Actor, before: bytes | None, after: bytes | None, settlement: Settlement
    ) -> None:
        """Changes the file from `before` to `after`; raises `Stale` where its text is another by now."""
        author, approval = self.credit(proposal, actor, before, after)
        places = findings.checked_places(proposal, self.files_after(proposal, after), after)
        notes = dict(zip(("place", "to_place"), places, strict=False)) | {
            "reason": proposal.reason[:1000], "proposal": proposal.number, "thread_id": proposal.thread_id,
            "approval": approval, "before": before, "savepoint": False}  # fmt: skip
        proposal.applied_revision = self.change_file(proposal, author, before, after, notes).number

    def credit(
        self, proposal: Proposal, actor: Actor, before: bytes | None, after: bytes | None
    ) -> tuple[Actor, files.Approval]:
        """The author of what is carried out, and its approval: the agent's words stay the agent's, line by line.

        A reviewer is the author alone where everything that is new is theirs.
        """
        asked = asked_by(proposal)
        if not proposal.with_edits or after is None or b"\x00" in after:
            return asked, files.Approval(actor)
        reviewer = _first_to_send(proposal, after) or actor
        mine = self.lines_by_reviewer(proposal, before, after)
        if mine.all_new:
            return reviewer, files.Approval(actor)
        return asked, files.Approval(actor, reviewer, mine.ranges)

    def lines_by_reviewer(self, proposal: Proposal, before: bytes | None, after: bytes) -> ReviewedLines:
        """What of an approved text the reviewer wrote. Where the proposal no longer applied, what it added once is its."""
        try:
            return lines_by_reviewer(before, self.make(proposal, before) or b"", after)
        except HubError:
            return lines_by_reviewer(before, self.wanted(proposal) or b"", after, self.text_asked_on(proposal) or b"")

    def change_file(
        self, proposal: Proposal, author: Actor, before: bytes | None, after: bytes | None, notes: dict[str, Any]
    ) -> Revision:
        match: dict[str, Any] = {"if_none_match": "*"} if before is None else {"if_match": sha_of(before)}
        return files.write(
            proposal.space, author, proposal.path, after or b"", kind=self.revision_kind, **match, **notes
        )

    def undo(self, proposal: Proposal, actor: Actor, file: File | None, reason: str) -> int | None:
        """Takes it back: the text before the decision becomes the newest of the file again. The number of that revision."""
        assert file is not None and proposal.applied_revision is not None
        space, common = proposal.space, {"reason": reason, "thread_id": file.thread_id}
        earlier = Revision.objects.within(space).filter(file=file, number=proposal.applied_revision - 1).first()
        if earlier is None or earlier.is_deleted:
            return files.delete(space, actor, file.path, if_match=file.sha256, **common).number
        return files.write(
            space, actor, file.path, files.content_of(file, earlier.number), kind="restore",
            restored_from=earlier.number, base_revision=file.revision, **common,
        ).number  # fmt: skip


class Edit(ChangeKind):
    """One string in place of another; `change` has old_string, new_string and replace_all."""

    can_stack = True

    def make(self, proposal: Proposal, before: bytes | None, parents: Parents = parent_of) -> bytes | None:
        change, text = proposal.change, _existing(proposal, before)
        everywhere = change.get("replace_all", False)
        return bytes_of(edits.apply_edit(text, change["old_string"], change["new_string"], everywhere))

    def wanted(self, proposal: Proposal) -> bytes | None:
        change, text = proposal.change, text_of(self.text_asked_on(proposal) or b"")
        return bytes_of(text.replace(change["old_string"], change["new_string"]))


class Insert(ChangeKind):
    """Lines after a line; `change` has line and text. Where the file moved on, the lines are merged in."""

    wants = "add to"
    can_stack = True

    def make(self, proposal: Proposal, before: bytes | None, parents: Parents = parent_of) -> bytes | None:
        text = _existing(proposal, before)
        if sha_of(before) == proposal.base_sha256:  # as nearly always, and without another question to the database
            return self.inserted(proposal, text)
        base = text_of(self.text_asked_on(proposal, parents) or b"")
        return self.inserted(proposal, text) if base == text else _merged(base, self.inserted(proposal, base), text)

    def inserted(self, proposal: Proposal, text: str) -> bytes:
        return bytes_of(edits.apply_insert(text, proposal.change["line"], proposal.change["text"]))

    def wanted(self, proposal: Proposal) -> bytes | None:
        try:
            return self.inserted(proposal, text_of(self.text_asked_on(proposal) or b""))
        except HubError:
            return bytes_of(proposal.change["text"])


class Write(ChangeKind):
    """A whole text, which is `content`. Where the file moved on, it is merged in three ways."""

    wants = "write"
    revision_kind = "write"

    def does(self, proposal: Proposal) -> str:
        return "changes" if proposal.base_revision else "creates"

    def make(self, proposal: Proposal, before: bytes | None, parents: Parents = parent_of) -> bytes | None:
        content = bytes(proposal.content or b"")
        is_new = before is None and not proposal.base_sha256
        if is_new or before == content or sha_of(before) == proposal.base_sha256:
            return content
        if before is None:
            raise Conflict("The file was deleted since the agent wrote this.", code="outdated")
        if not proposal.base_sha256:
            raise Conflict("Somebody else created this file since the agent wrote this.", code="outdated")
        base = files.base_content(proposal)
        if any(b"\x00" in text for text in (base, content, before)):
            raise Conflict("The file changed since, and it is no text that could be merged.", code="outdated")
        return _merged(text_of(base), content, text_of(before))

    def wanted(self, proposal: Proposal) -> bytes | None:
        return bytes(proposal.content or b"")


class Delete(ChangeKind):
    """The file goes; not where it changed since the agent asked."""

    wants = "delete"
    approve_label = _("Approve the deletion")
    without_prompts = _("In no agent's prompt; agents no longer find the file.")
    is_editable = False
    adds_words = False
    removes_file = True

    def make(self, proposal: Proposal, before: bytes | None, parents: Parents = parent_of) -> bytes | None:
        _existing(proposal, before)
        if sha_of(before) != proposal.base_sha256:
            raise Conflict("The file changed since the agent asked to delete it.", code="outdated")
        return None

    def risk(self, proposal: Proposal, found: list[Finding], before: bytes | None, after: bytes | None) -> int:
        return 2

    def change_file(
        self, proposal: Proposal, author: Actor, before: bytes | None, after: bytes | None, notes: dict[str, Any]
    ) -> Revision:
        return files.delete(proposal.space, author, proposal.path, if_match=sha_of(before), **notes)


class Move(ChangeKind):
    """Another path, which is `to` in `change`; the text stays."""

    wants = "move"
    heading = "The move"
    without_prompts = _("In no agent's prompt; agents find the file only under its new name.")
    has_text = False
    is_editable = False

    def make(self, proposal: Proposal, before: bytes | None, parents: Parents = parent_of) -> bytes | None:
        _existing(proposal, before)
        to = proposal.change.get("to", "")
        if files.exists(proposal.space, to, thread_id=proposal.thread_id):
            raise Conflict(f"The destination {to} already exists.", code="file_exists", path=to)
        return before

    def files_after(self, proposal: Proposal, after: bytes | None) -> dict[str, bytes | None]:
        return {proposal.path: None, proposal.change.get("to", ""): after}

    def diff(self, proposal: Proposal, before: bytes | None, after: bytes | None) -> str:
        return f"rename from {proposal.path}\nrename to {proposal.change.get('to', '')}\n"

    def applied_texts(self, proposal: Proposal) -> tuple[bytes | None, bytes | None]:
        return None, None

    def applied_sha(self, proposal: Proposal, after: bytes | None) -> str | None:
        path, number = proposal.change.get("to", ""), proposal.applied_revision
        moved = Revision.objects.within(proposal.space_id).filter(file__path=path, number=number)
        return moved.values_list("sha256", flat=True).first()

    def findings(self, proposal: Proposal, before: bytes | None, after: bytes | None) -> list[Finding]:
        """Of the whole text: other rules may hold where it goes."""
        return findings_in("", detectable(after))

    def risk(self, proposal: Proposal, found: list[Finding], before: bytes | None, after: bytes | None) -> int:
        """A file that a prompt shows is taken out of it, as by a deletion."""
        is_source = findings.is_source(proposal.space, proposal.path)
        return 2 if is_source else super().risk(proposal, found, before, after)

    def change_file(
        self, proposal: Proposal, author: Actor, before: bytes | None, after: bytes | None, notes: dict[str, Any]
    ) -> Revision:
        to = proposal.change["to"]
        return files.move(proposal.space, author, proposal.path, to, if_match=sha_of(before), **notes)

    def undo(self, proposal: Proposal, actor: Actor, file: File | None, reason: str) -> int | None:
        assert file is not None
        thread = file.thread_id
        return files.move(proposal.space, actor, file.path, proposal.path, reason=reason, thread_id=thread).number


def _first_to_send(proposal: Proposal, after: bytes) -> Actor | None:
    """The person who approved this text first, where two have to approve; None where one decides."""
    found = next((one for one in proposal.approvals if one["sha256"] == sha_of(after)), None)
    return Actor("person", found["id"], found["name"]) if found else None


def _existing(proposal: Proposal, before: bytes | None) -> str:
    if before is None:
        raise edits.file_not_found(proposal.path)
    return text_of(before)


def _merged(base: str, ours: bytes, theirs: str) -> bytes:
    merge = merge3(base, text_of(ours), theirs)
    if merge.conflicts:
        places = counted(merge.conflicts, "place")
        raise Conflict(f"The file changed since, in {places} that this proposal changes too.", code="outdated")
    return bytes_of(merge.text)


KINDS: dict[str, ChangeKind] = {
    Proposal.Kind.EDIT: Edit(), Proposal.Kind.WRITE: Write(), Proposal.Kind.INSERT: Insert(),
    Proposal.Kind.DELETE: Delete(), Proposal.Kind.MOVE: Move(),
}  # fmt: skip
FILE_EDITS = [name for name, kind in KINDS.items() if kind.edits_file]


def kind_of(proposal: Proposal) -> ChangeKind:
    return KINDS[proposal.kind]
