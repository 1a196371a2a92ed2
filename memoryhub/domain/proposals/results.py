"""What a proposal would make of its file as the file is now: an edit by its own rule, a whole write by a three-way merge."""

from __future__ import annotations

import hashlib
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property

from memoryhub.domain import files
from memoryhub.domain.files import base_content
from memoryhub.domain.proposals import findings
from memoryhub.errors import Conflict, HubError, NotFound
from memoryhub.models import Proposal, Revision
from memoryhub.text import diff, edits, protected
from memoryhub.text.lines import bytes_of, text_of
from memoryhub.text.merge import merge3

NOTHING = hashlib.sha256(b"").hexdigest()
LARGEST_DIFF = 200_000
OVER = (Proposal.State.REJECTED, Proposal.State.WITHDRAWN, Proposal.State.EXPIRED, Proposal.State.OUTDATED)


def sha_of(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()


@dataclass(frozen=True)
class Result:
    """The text below the proposal and the text it makes; `problem` says why it makes none."""

    proposal: Proposal
    before: bytes | None
    after: bytes | None
    revision: int | None  # of the published text; none for what is not there
    problem: str = ""
    waits_for: int | None = None

    @property
    def applies(self) -> bool:
        return not self.problem

    @property
    def moved_on(self) -> bool:
        """The file changed since the agent asked: what one sees is not what was asked for then."""
        return self.proposal.base_revision != self.revision and self.proposal.kind != Proposal.Kind.PROMOTION

    @cached_property
    def sha256(self) -> str | None:
        return None if self.problem else sha_of(self.after)

    @cached_property
    def before_sha256(self) -> str:
        return sha_of(self.before)

    @property
    def seen(self) -> str:
        """What a decision has to carry: the result looked at, or, where there is none, the text that stands."""
        return self.sha256 or self.before_sha256

    @property
    def needs_a_look(self) -> bool:
        """A grave finding: decided on by itself, never among many."""
        return any(one.get("severity") == "high" for one in self.proposal.findings)

    @property
    def shrinks(self) -> bool:
        """Whether it throws most of the text away."""
        kinds = (Proposal.Kind.WRITE, Proposal.Kind.EDIT)
        return self.applies and self.proposal.kind in kinds and findings.shrinks(self.before, self.after)

    @cached_property
    def before_text(self) -> str:
        return text_of(self.before or b"")

    @cached_property
    def after_text(self) -> str:
        return text_of(self.after or b"")

    @cached_property
    def diff(self) -> str:
        """The unified diff, bounded; of a move, the two names."""
        proposal = self.proposal
        if proposal.kind == Proposal.Kind.MOVE:
            return f"rename from {proposal.path}\nrename to {proposal.change.get('to', '')}\n"
        if self.problem:
            return ""
        text = diff.told(self.before, self.after, proposal.path or "long-term")
        return text if len(text) <= LARGEST_DIFF else text[:LARGEST_DIFF] + "\n… the diff goes on\n"


def published(proposal: Proposal) -> files.Published | None:
    """The text that stands at the proposal's path now, with what changed on disk taken in."""
    try:
        return files.read(proposal.space, proposal.path, thread_id=proposal.thread_id)
    except NotFound:
        return None


_ASK = object()


def result(proposal: Proposal, standing: object = _ASK, done: Container[int] = ()) -> Result:
    """What the proposal would make now; `standing` is the text below it where the caller has it already, `done` the
    numbers of those that this text already holds."""
    if proposal.kind == Proposal.Kind.PROMOTION:
        return Result(proposal, None, bytes(proposal.content or b""), None)
    now: files.Published | None = published(proposal) if standing is _ASK else standing  # type: ignore[assignment]
    before, revision = (now.content, now.revision) if now else (None, None)
    parent = _parent(proposal)
    if parent is not None and parent.number in done:
        parent = None
    if parent is not None and parent.state in OVER:
        why = f"It builds on proposal {parent.number}, which was {parent.state}."
        return Result(proposal, before, None, revision, why)
    waits_for = None
    if parent is not None and parent.state == Proposal.State.PENDING:
        below = result(parent, now, done)
        if below.problem:
            why = f"It builds on proposal {parent.number}, which no longer applies."
            return Result(proposal, before, None, revision, why, parent.number)
        before, waits_for = below.after, parent.number
    try:
        after = applied(proposal, before)
        if proposal.kind != Proposal.Kind.MOVE:
            protected.check(before, after)
    except HubError as error:
        return Result(proposal, before, None, revision, _said(error), waits_for)
    return Result(proposal, before, after, revision, "", waits_for)


def _said(error: HubError) -> str:
    """Why it no longer applies, for people; the library's own sentences are for agents."""
    match error.code:
        case "string_not_found":
            return "The text that it replaces is no longer in the file."
        case "string_not_unique":
            return f"The text that it replaces stands in {error.details.get('occurrences', 'several')} places now."
        case "file_not_found":
            return "The file is gone."
        case "protected_region":
            return "It would change a region that people have protected since."
        case "invalid_line":
            return "The file has fewer lines now than the one it adds to."
    return error.message


def _parent(proposal: Proposal) -> Proposal | None:
    if proposal.stacked_on is None:
        return None
    return Proposal.objects.within(proposal.space_id).filter(number=proposal.stacked_on).first()


def applied(proposal: Proposal, before: bytes | None) -> bytes | None:
    """The text that the asked change makes of this one; refused when it no longer fits."""
    change = proposal.change
    match proposal.kind:
        case Proposal.Kind.EDIT:
            text = _text(proposal.path, before)
            return bytes_of(
                edits.apply_edit(text, change["old_string"], change["new_string"], change.get("replace_all", False))
            )
        case Proposal.Kind.INSERT:
            return _inserted(proposal, before)
        case Proposal.Kind.WRITE:
            return _written(proposal, before, bytes(proposal.content or b""))
        case Proposal.Kind.DELETE:
            _text(proposal.path, before)
            if sha_of(before) != proposal.base_sha256:
                raise Conflict("The file changed since the agent asked to delete it.", code="outdated")
            return None
        case _:
            _text(proposal.path, before)
            _check_free(proposal, change.get("to", ""))
            return before


def _text(path: str, before: bytes | None) -> str:
    if before is None:
        raise edits.missing(path)
    return text_of(before)


def _check_free(proposal: Proposal, to: str) -> None:
    if files.exists(proposal.space, to, thread_id=proposal.thread_id):
        raise Conflict(f"The destination {to} already exists.", code="file_exists", path=to)


def _inserted(proposal: Proposal, before: bytes | None) -> bytes:
    text, line, new = _text(proposal.path, before), proposal.change["line"], proposal.change["text"]
    if sha_of(before) == proposal.base_sha256:  # as nearly always, and without another question to the database
        return bytes_of(edits.apply_insert(text, line, new))
    stood_on = _stood_on(proposal)
    if before == stood_on:
        return bytes_of(edits.apply_insert(text, line, new))
    base = text_of(stood_on or b"")
    return _merged(base, edits.apply_insert(base, line, new), text)


def _written(proposal: Proposal, before: bytes | None, content: bytes) -> bytes:
    if before == content or sha_of(before) == proposal.base_sha256 or (before is None and not proposal.base_sha256):
        return content
    if before is None:
        raise Conflict("The file was deleted since the agent wrote this.", code="outdated")
    if not proposal.base_sha256:
        raise Conflict("Somebody else made this file since the agent wrote this.", code="outdated")
    base = base_content(proposal)
    if any(b"\x00" in text for text in (base, content, before)):
        raise Conflict("The file changed since, and it is no text that could be merged.", code="outdated")
    return _merged(text_of(base), text_of(content), text_of(before))


def _merged(base: str, ours: str, theirs: str) -> bytes:
    merge = merge3(base, ours, theirs)
    if merge.conflicts:
        places = "1 place" if merge.conflicts == 1 else f"{merge.conflicts} places"
        raise Conflict(f"The file changed since, in {places} that this proposal changes too.", code="outdated")
    return bytes_of(merge.text)


def _stood_on(proposal: Proposal) -> bytes | None:
    """What the agent had in front of it: the file, or what the proposals made of it on which this one builds."""
    parent = _parent(proposal)
    if parent is None:
        return base_content(proposal) if proposal.base_sha256 else None
    return applied(parent, _stood_on(parent))


def wanted(proposal: Proposal) -> bytes | None:
    """The text the agent had in mind, on the text it had in front of it: for the look at both sides of a conflict."""
    base = base_content(proposal)
    match proposal.kind:
        case Proposal.Kind.WRITE:
            return bytes(proposal.content or b"")
        case Proposal.Kind.EDIT:
            change = proposal.change
            return bytes_of(text_of(base).replace(change["old_string"], change["new_string"]))
        case Proposal.Kind.INSERT:
            try:
                return bytes_of(edits.apply_insert(text_of(base), proposal.change["line"], proposal.change["text"]))
            except HubError:
                return bytes_of(proposal.change["text"])
    return None


def applied_diff(proposal: Proposal) -> tuple[str, str | None]:
    """What an approved proposal changed, from the revisions it lies between, and the sha256 of what it made."""
    if proposal.kind == Proposal.Kind.PROMOTION:
        content = text_of(bytes(proposal.content or b""))
        return diff.unified(None, content, "long-term"), sha_of(bytes(proposal.content or b""))
    if proposal.kind == Proposal.Kind.MOVE:
        to = Revision.objects.within(proposal.space_id).filter(
            file__path=proposal.change.get("to", ""), number=proposal.applied_revision
        )
        return Result(proposal, None, None, None).diff, to.values_list("sha256", flat=True).first()
    before, after = contents_around(proposal)
    return diff.told(before, after, proposal.path)[:LARGEST_DIFF], sha_of(after)


def texts_around(proposal: Proposal) -> tuple[bytes, bytes]:
    """The text before and after the revision that an approved proposal became."""
    before, after = contents_around(proposal)
    return before or b"", after or b""


def contents_around(proposal: Proposal) -> tuple[bytes | None, bytes | None]:
    """The same, with nothing where there was no file."""
    number = proposal.applied_revision or 0
    rows = Revision.objects.within(proposal.space_id).filter(
        file__path=proposal.path, file__thread_id__in=["", proposal.thread_id], number__in=[number - 1, number]
    )
    found = {row.number: None if row.is_deleted else bytes(row.content) for row in rows}
    return found.get(number - 1), found.get(number)
