"""The kind of change that keeps a text in long-term memory."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from memoryhub.domain import files, longterm, quarantine
from memoryhub.domain.proposals.kinds.file_changes import ChangeKind, Settlement
from memoryhub.domain.proposals.state import Parents, parent_of
from memoryhub.models import Actor, File, Proposal
from memoryhub.text.lines import text_of


class Promotion(ChangeKind):
    """A text for long-term memory, which is `content`; `change` has scope, record_id and session_id."""

    wants = "promote to"
    heading = "What would be kept"
    approve_label = _("Promote")
    without_prompts = _("Recalled by agents whose question it fits.")
    has_file = False
    changes = "entry"

    def published(self, proposal: Proposal) -> files.Published | None:
        return None

    def make(self, proposal: Proposal, before: bytes | None, parents: Parents = parent_of) -> bytes | None:
        return bytes(proposal.content or b"")

    def files_after(self, proposal: Proposal, after: bytes | None) -> dict[str, bytes | None]:
        return {}

    def applied_texts(self, proposal: Proposal) -> tuple[bytes | None, bytes | None]:
        return None, bytes(proposal.content or b"")

    def apply(
        self, proposal: Proposal, actor: Actor, before: bytes | None, after: bytes | None, settlement: Settlement
    ) -> None:
        space, change = proposal.space, proposal.change
        scope, record_id = change.get("scope", "group"), change.get("record_id")
        entry = longterm.store(
            space, actor, text_of(after or b""), scope=scope, agent=proposal.agent if scope == "agent" else None,
            record_id=record_id, session_id=change.get("session_id", ""), proposal=proposal.number,
            reason=proposal.reason,
        )  # fmt: skip
        proposal.entry_number = entry.number
        if record_id:
            quarantine.was_promoted(space, actor, record_id, entry)
        if settlement.replaces or settlement.merges:
            longterm.absorb(space, actor, entry.number, replaces=settlement.replaces, merges=settlement.merges)
        if settlement.review_by:
            longterm.set_review_by(space, actor, entry.number, settlement.review_by)

    def undo(self, proposal: Proposal, actor: Actor, file: File | None, reason: str) -> int | None:
        longterm.take_back(proposal.space, actor, proposal.entry_number, reason=reason)
        return None
