"""What a proposal would make of its file as the file is now, and what it made of it where it was approved; with both as JSON."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from memoryhub.detectors import Finding
from memoryhub.domain import files
from memoryhub.domain.proposals import findings
from memoryhub.domain.proposals.kinds import ChangeKind, kind_of, sha_of
from memoryhub.domain.proposals.state import Parents, parent_of, parents_of
from memoryhub.errors import HubError
from memoryhub.models import Mount, Proposal, Space
from memoryhub.text import edits
from memoryhub.text.diff import Diff, compare
from memoryhub.text.lines import text_of
from memoryhub.text.unseen import drawn_length

LARGEST_DIFF = 200_000
SECONDS_FOR_MANY = 5.0  # of a processor
TOO_LONG = "Comparing its texts takes too long for a list. Open it on its own page."
SECONDS_FOR_PAGE = 2.0  # of a processor, for one page of a list as programs get it
AT_ONCE = 50  # proposals of such a list whose files are read together
ROWS_AMONG_MANY = 300  # of one change, in the summary of several
OVER = (Proposal.State.REJECTED, Proposal.State.WITHDRAWN, Proposal.State.EXPIRED, Proposal.State.OUTDATED)


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
    def kind(self) -> ChangeKind:
        return kind_of(self.proposal)

    @property
    def applies(self) -> bool:
        return not self.problem

    @property
    def moved_on(self) -> bool:
        """The file changed since the agent asked: what one sees is not what was asked for then."""
        return self.proposal.base_revision != self.revision and self.kind.has_file

    @property
    def is_rebased(self) -> bool:
        """The text changed as well: after an undo the newest revision may say what the one asked on said."""
        return self.moved_on and bool(self.revision) and self.before_sha256 != self.proposal.base_sha256

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
    def is_grave(self) -> bool:
        """Whether the gate found something grave: it is decided on by itself, never among many."""
        return any(one.get("severity") == "high" for one in self.proposal.findings) or any(
            one.severity == "high" for one in self.findings
        )

    @cached_property
    def findings(self) -> list[Finding]:
        """What the detectors find in it now: the text around it may have changed since it was asked for."""
        found = self.kind.findings(self.proposal, self.before, self.after) if self.applies else []
        if self.proposal.from_disk:  # marks stand in the place of secrets, where nothing finds them again
            found += [Finding(**one) for one in self.proposal.findings if one["code"] == "secrets"]
        return found

    @cached_property
    def other_findings(self) -> list[Finding]:
        """What was found in its paths and names, or in it as a whole, when it was asked for."""
        return [found for one in self.proposal.findings if not (found := Finding(**one)).is_of_text]

    @property
    def shrinks(self) -> bool:
        """Whether it removes most of the text, without being a deletion."""
        return self.applies and self.after is not None and findings.shrinks(self.before, self.after)

    @cached_property
    def before_text(self) -> str:
        return text_of(self.before or b"")

    @cached_property
    def after_text(self) -> str:
        return text_of(self.after or b"")

    @cached_property
    def compared(self) -> Diff:
        """The change as people look at it. A move changes no line: at its new path all of the text is new."""
        return compare(self.before_text if self.kind.has_text else "", self.after_text)

    @property
    def is_long(self) -> bool:
        """Whether it is too long to be seen among others: such a change is decided on by itself."""
        return self.applies and (
            self.compared.added + self.compared.removed > ROWS_AMONG_MANY or has_long_line(self.compared)
        )

    @cached_property
    def diff(self) -> str:
        """The unified diff, bounded; of a move, the two names."""
        if self.problem and self.kind.has_text:
            return ""
        text = self.kind.diff(self.proposal, self.before, self.after)
        return text if len(text) <= LARGEST_DIFF else text[:LARGEST_DIFF] + "\n… the diff goes on\n"


def has_long_line(diff: Diff) -> bool:
    """Whether a page draws only the beginning of a line that changes."""
    return any(
        drawn_length(line) < len(line)
        for hunk in diff.hunks
        for line in chain(diff.old_lines[hunk.old_start : hunk.old_end], diff.new_lines[hunk.new_start : hunk.new_end])
    )


def result(proposal: Proposal) -> Result:
    """What the proposal would make now."""
    return result_on(proposal, kind_of(proposal).published(proposal))


def result_on(
    proposal: Proposal,
    now: files.Published | None,
    *,
    applied: Container[int] = (),
    parents: Parents = parent_of,
) -> Result:
    """What it would make of a text that the caller has read. `applied` are numbers of proposals that this text holds already,
    though they still wait; `parents` finds what a proposal builds on (`state.parents_of` where many are asked for)."""
    below, revision = (now.content, now.revision) if now else (None, None)
    parent = parents(proposal)
    waits_for = None
    if parent is not None and parent.number not in applied:
        if parent.state in OVER:
            why = f"It builds on proposal {parent.number}, which was {parent.state}."
            return Result(proposal, below, None, revision, why)
        if parent.state == Proposal.State.PENDING:
            made = result_on(parent, now, applied=applied, parents=parents)
            if made.problem:
                why = f"It builds on proposal {parent.number}, which no longer applies."
                return Result(proposal, below, None, revision, why, parent.number)
            below, waits_for = made.after, parent.number
    try:
        after = kind_of(proposal).make(proposal, below, parents)
        if kind_of(proposal).has_file:
            edits.check_protected(below, after)
            check_marks(proposal, now, below, after)
    except HubError as error:
        return Result(proposal, below, None, revision, _problem(error), waits_for)
    return Result(proposal, below, after, revision, "", waits_for)


def check_marks(proposal: Proposal, now: files.Published | None, before: bytes | None, after: bytes | None) -> None:
    """Refuse a change that would lose a secret which stands on disk where the published text has a mark."""
    if now is not None and now.disk_secrets and not proposal.from_disk:
        stays = kind_of(proposal).files_after(proposal, after).get(proposal.path)
        files.check_marks(proposal.path, list(now.disk_secrets), before or b"", stays)


def results_of(space: Space, chosen: Iterable[Proposal]) -> list[Result]:
    """The results of several: one statement for all their files, and one for each level of proposals that they build on.

    A file that cannot be read counts as missing. Files of threads are read one by one. What is left when SECONDS_FOR_MANY are
    over says that it has to be looked at by itself: agents choose the texts, and a list must not keep a worker.
    """
    chosen, began = list(chosen), time.thread_time()
    paths = sorted({one.path for one in chosen if one.path})
    texts = files.read_many(space, paths) if paths else {}
    found = {path: None if isinstance(text, HubError) else text for path, text in texts.items()}
    parents, mounts = parents_of(space, chosen), files.mounts_of_space(space) if paths else []
    return [
        result_on(one, _text_for(one, found, mounts), parents=parents)
        if time.thread_time() - began < SECONDS_FOR_MANY
        else Result(one, None, None, None, TOO_LONG)
        for one in chosen
    ]


def _text_for(
    proposal: Proposal, found: dict[str, files.Published | None], mounts: list[Mount]
) -> files.Published | None:
    if not proposal.path:
        return kind_of(proposal).published(proposal)
    mount = files.find_mount(mounts, proposal.path) if proposal.thread_id else None
    if mount is not None and mount.store == Mount.Store.THREAD:
        return kind_of(proposal).published(proposal)
    return found.get(proposal.path)


def _problem(error: HubError) -> str:
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


def applied_diff(proposal: Proposal) -> tuple[str, str | None]:
    """What an approved proposal changed, from the revisions it lies between, and the sha256 of what it made."""
    kind = kind_of(proposal)
    before, after = kind.applied_texts(proposal)
    return kind.diff(proposal, before, after)[:LARGEST_DIFF], kind.applied_sha(proposal, after)


# ---- as programs get it: over REST, from the command line, in the agent's client


def list_as_json(space: Space, proposals: list[Proposal]) -> list[dict[str, Any]]:
    """Several proposals as `as_json` gives each, by a fixed number of statements for every fifty that are not approved.

    Where comparing their texts takes long, the first of them only: the caller pages on from the last.
    """
    found: list[dict[str, Any]] = []
    began = time.thread_time()
    for start in range(0, len(proposals), AT_ONCE):
        part = proposals[start : start + AT_ONCE]
        waiting = [one for one in part if one.state != Proposal.State.APPROVED]
        results = {result.proposal.pk: result for result in results_of(space, waiting)}
        for one in part:
            known = results.get(one.pk)
            if found and (time.thread_time() - began > SECONDS_FOR_PAGE or (known and known.problem == TOO_LONG)):
                return found
            found.append(as_json(one, known))
    return found


def as_json(proposal: Proposal, found: Result | None = None) -> dict[str, Any]:
    """A proposal as the contract has it. Unless it was approved, diff and sha256 are of the file as it is now.

    `found` is its result, if the caller has it already.
    """
    diff, sha = (found.diff, found.sha256) if found else diff_and_sha(proposal)
    return {
        "number": proposal.number,
        "state": proposal.state,
        "path": proposal.path,
        "kind": proposal.kind,
        "diff": diff,
        "reason": proposal.reason,
        "agent": proposal.agent_name,
        "base_revision": proposal.base_revision,
        "created_at": proposal.created_at,
        "decided_at": proposal.decided_at,
        "decided_by": proposal.decided_by_name or None,
        "note": proposal.note,
        "applied_revision": proposal.applied_revision,
        "stacked_on": proposal.stacked_on,
        "result_sha256": sha,
        "findings": [
            {key: one.get(key) for key in ("code", "severity", "line", "message")} for one in proposal.findings
        ],
        "thread_id": proposal.thread_id,
        "tool_call_id": proposal.tool_call_id,
        "expires_at": proposal.expires_at,
        "reviewers": proposal.reviewers,
        "approvals": len(proposal.approvals),
        "with_edits": proposal.with_edits,
        "changes_requested": proposal.changes_requested,
        "comments": [{"by": one.actor_name, "at": one.created_at, "text": one.text} for one in proposal.comments.all()],
    }


def diff_and_sha(proposal: Proposal) -> tuple[str, str | None]:
    """Diff and result: as they would be now, or, of what was approved, as they became."""
    if proposal.state == Proposal.State.APPROVED:
        return applied_diff(proposal)
    try:
        found = result(proposal)
    except HubError:  # the path leads nowhere any more: no mount, no disk
        return "", None
    return found.diff, found.sha256
