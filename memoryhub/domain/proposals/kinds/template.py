"""The kind of change that gives an agent's prompts another template of its framework."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from memoryhub import dialects
from memoryhub.detectors import Finding
from memoryhub.domain import files, prompts
from memoryhub.domain.proposals import findings
from memoryhub.domain.proposals.kinds.file_changes import ChangeKind, Settlement, sha_of
from memoryhub.domain.proposals.state import Parents, parent_of
from memoryhub.errors import Conflict
from memoryhub.models import Actor, File, Proposal
from memoryhub.text.lines import text_of


class Template(ChangeKind):
    """The template text that an agent's client reported, which is `content`; `change` has version and form.

    Approved, it counts for the prompts of that agent in that form, until another is.
    """

    wants = "use"
    heading = "The template"
    approve_label = _("Approve the template")
    without_prompts = _("Read by no prompt: this agent does not ask for a prompt in this form.")
    has_file = False
    changes = "template"
    is_editable = False  # the client has this text, whatever words a reviewer would prefer

    def published(self, proposal: Proposal) -> files.Published | None:
        """The template that serves this agent's prompts now; empty where there is none."""
        now = prompts.chosen_template(
            proposal.space_id, proposal.change.get("form", ""), agent_id=proposal.agent_id or 0
        )
        content = now.text.encode() if now else b""
        at = now.created_at if now else proposal.created_at
        return files.Published("", content, 0, sha_of(content), at, at)

    def make(self, proposal: Proposal, before: bytes | None, parents: Parents = parent_of) -> bytes | None:
        if proposal.agent_id is None:
            raise Conflict("The agent whose template this is was deleted.", code="outdated")
        return bytes(proposal.content or b"")

    def wanted(self, proposal: Proposal) -> bytes | None:
        return bytes(proposal.content or b"")

    def files_after(self, proposal: Proposal, after: bytes | None) -> dict[str, bytes | None]:
        return {}

    def findings(self, proposal: Proposal, before: bytes | None, after: bytes | None) -> list[Finding]:
        """Of the whole text: nobody has looked at the one that it replaces either."""
        return findings.findings_of(proposal.space, "", None, after)

    def applied_texts(self, proposal: Proposal) -> tuple[bytes | None, bytes | None]:
        before = prompts.template_with_sha256(proposal.space_id, proposal.base_sha256)
        return before.text.encode() if before else None, bytes(proposal.content or b"")

    def apply(
        self, proposal: Proposal, actor: Actor, before: bytes | None, after: bytes | None, settlement: Settlement
    ) -> None:
        if proposal.agent is None:
            raise Conflict("The agent whose template this is was deleted.", code="outdated")
        change = proposal.change
        prompts.decide_template(
            proposal.agent, actor, change["form"], change["version"], text_of(after or b""), proposal.number
        )

    def undo(self, proposal: Proposal, actor: Actor, file: File | None, reason: str) -> int | None:
        prompts.take_back_template(proposal.space, proposal.number)
        return None


def prompt_dialect(proposal: Proposal) -> str:
    """The dialect in which a template shows: the agent's own if it is of that form, else the reported version's."""
    own = prompts.dialect_of("", proposal.agent) if proposal.agent else None
    form = proposal.change["form"]
    if own is not None and own.name == form:
        return ""
    named = dialects.resolve(f"deepagents/{proposal.change['version']}")
    return f"deepagents/{proposal.change['version']}" if named.name == form else form
