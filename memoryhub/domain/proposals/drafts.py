"""What a text in the editor would do if it were saved now: what the detectors find in it, and the prompt of each agent."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

from memoryhub import dialects
from memoryhub.detectors import Finding
from memoryhub.detectors.changes import findings_in
from memoryhub.dialects import Warn, tokens_of_text
from memoryhub.domain import files, prompts
from memoryhub.domain.files import Published
from memoryhub.domain.prompts import PromptChange, PromptRequest
from memoryhub.domain.proposals import findings
from memoryhub.domain.proposals.kinds import kind_of
from memoryhub.domain.proposals.results import result
from memoryhub.domain.proposals.reviewing import prompt_changes
from memoryhub.models import Agent, LongtermEntry, Proposal, Space
from memoryhub.text import diff
from memoryhub.text.lines import BOM, bytes_of, for_editor, keep_ends, text_as_bytes, text_of

CUTS = ("cut", "over_budget", "lines_dropped")


@dataclass(frozen=True)
class DraftCheck:
    """A text as it stands in the editor beside the one that is stored, both with LF as line end, and what it would do."""

    before: str
    text: str
    findings: list[Finding]
    changes: list[PromptChange] = field(default_factory=list)
    more_readers: int = 0
    found_in: str = ""  # the text that the findings count in, where its line ends are others

    @property
    def tokens(self) -> int:
        return tokens_of_text(self.text)

    @property
    def more_tokens(self) -> int:
        return self.tokens - tokens_of_text(self.before)

    @cached_property
    def diff(self) -> diff.Diff:
        return diff.compare(self.before, self.text)

    @property
    def grave_findings(self) -> list[Finding]:
        return [one for one in self.findings if one.severity == "high"]


def cuts_of(change: PromptChange) -> list[Warn]:
    """What the prompt after a change leaves out, or has too much of."""
    return [one for one in change.after.warnings if one.code in CUTS]


def check_file_draft(space: Space, path: str, text: str) -> DraftCheck:
    """Checks the draft of a file: findings in the whole text, and the prompts that show the file."""
    found = files.read_many(space, [path])[path]
    stored = text_of(found.content) if isinstance(found, Published) else ""
    after = {path: text_as_bytes(keep_ends(stored, text))}
    return _checked(space, for_editor(stored), text, after, findings.findings_of(space, path, None, text.encode()))


def check_proposal_draft(proposal: Proposal, content: bytes) -> DraftCheck:
    """Checks a proposal with a reviewer's edits: the findings that approving it would ask to confirm."""
    kind, before = kind_of(proposal), result(proposal).before
    shown, text = for_editor(text_of(before or b"")), for_editor(text_of(content))
    found = kind.findings(proposal, before, content)
    changes, more = prompt_changes(
        proposal.space, kind.files_after(proposal, content), [proposal], first=proposal.agent_id
    )
    return DraftCheck(shown, text, found, changes, more, text_of(content))


def check_entry_draft(space: Space, entry: LongtermEntry, text: str) -> DraftCheck:
    """Checks the draft of a long-term entry: findings alone, as no prompt shows it before a query finds it."""
    found = findings_in("", text)
    return DraftCheck(for_editor(entry.content), text, found)


def check_template_draft(agent: Agent, text: str) -> DraftCheck:
    """Of an agent's own template: findings, and the prompt of that agent as it asked for it last. An empty text stands for the
    library's."""
    call = prompts.last_calls(agent.space, [agent]).get(agent.pk)
    asked = call.request if call else PromptRequest()
    chosen = prompts.dialect_of(asked.dialect, agent)
    if chosen.family != "deepagents":
        chosen, call = dialects.resolve("deepagents"), None
        asked = replace(asked, dialect=chosen.name)
    if text.strip():
        dialects.deepagents.check_template(text)
    library = prompts.chosen_template(agent.space_id, chosen.name, agent_id=agent.pk)
    before, after = agent.template or "", text if text.strip() else library.text if library else ""
    without_own = copy(agent)
    without_own.template = ""  # else its stored one would be taken
    change = PromptChange(
        agent, prompts.assemble_request(agent.space, agent, asked),
        prompts.assemble_request(agent.space, without_own, asked, template=after), call,
    )  # fmt: skip
    return DraftCheck(for_editor(before), text, findings_in("", text), [change])


def _checked(
    space: Space, before: str, text: str, after: Mapping[str, bytes | None], found: list[Finding]
) -> DraftCheck:
    changes, more = prompt_changes(space, after)
    return DraftCheck(before, text, found, changes, more)


def edited_bytes(before: bytes | None, text: str) -> bytes:
    """The bytes of a text that came from a text field, with the BOM and the line ends that the text before mostly has."""
    text = for_editor(text)
    stored = text_of(before or b"")
    if stored.count("\r\n") * 2 > stored.count("\n") > 0:
        text = text.replace("\n", "\r\n")
    return bytes_of((BOM if stored.startswith(BOM) else "") + text)
