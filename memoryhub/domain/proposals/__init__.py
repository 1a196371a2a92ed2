"""Changes that agents ask for, and what people decide on them."""

from memoryhub.domain.proposals.ask import get, is_late, propose, propose_promotion, waiting_text, withdraw
from memoryhub.domain.proposals.bulk import decide_many, plan, undo_many
from memoryhub.domain.proposals.decide import (
    QUICK_REASONS,
    approve,
    is_own,
    looked_at,
    mark_those_that_no_longer_apply,
    reject,
)
from memoryhub.domain.proposals.expiry import expire_late
from memoryhub.domain.proposals.findings import check_text
from memoryhub.domain.proposals.inbox import counts, filtered, inbox
from memoryhub.domain.proposals.promotions import approve_promotion
from memoryhub.domain.proposals.reviewing import Review, neighbours, review
from memoryhub.domain.proposals.snapshot import looked
from memoryhub.domain.proposals.to_json import as_json
from memoryhub.domain.proposals.undo import comment, reopen, undo

__all__ = [
    "QUICK_REASONS",
    "Review",
    "approve",
    "approve_promotion",
    "as_json",
    "check_text",
    "comment",
    "counts",
    "decide_many",
    "expire_late",
    "filtered",
    "get",
    "inbox",
    "is_late",
    "is_own",
    "looked",
    "looked_at",
    "mark_those_that_no_longer_apply",
    "neighbours",
    "plan",
    "propose",
    "propose_promotion",
    "reject",
    "reopen",
    "review",
    "undo",
    "undo_many",
    "waiting_text",
    "withdraw",
]
