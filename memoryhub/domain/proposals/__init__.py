"""Proposals: an agent asks, a person sees what it would do, and decides.

`asking` is what agents do, `deciding` and `afterwards` what people do, `results` what a change makes of the text as it is
now, `expiry` the end of waiting, `looking` the gate's eyes, `inbox` and `reviewing` what pages show, `notices` who is told.
"""

from .afterwards import comment, reopen, undo
from .asking import get, is_late, propose, propose_promotion, waiting_text, withdraw
from .bulk import Plan, decide_many, plan, undo_many
from .deciding import (
    QUICK_REASONS,
    approve,
    is_own,
    looked_at,
    mark_outdated,
    mark_those_that_no_longer_apply,
    own_agents,
    reject,
)
from .desk import looked as result
from .expiry import expire, expire_late, warn
from .inbox import Inbox, counts, filtered, inbox, title_of
from .looking import check_text, shrinks
from .results import Result, applied_diff, texts_around
from .reviewing import Review, neighbours, review
from .telling import as_json

__all__ = [
    "QUICK_REASONS",
    "Inbox",
    "Plan",
    "Result",
    "Review",
    "applied_diff",
    "approve",
    "as_json",
    "check_text",
    "comment",
    "counts",
    "decide_many",
    "expire",
    "expire_late",
    "filtered",
    "get",
    "inbox",
    "is_late",
    "is_own",
    "looked_at",
    "mark_outdated",
    "mark_those_that_no_longer_apply",
    "neighbours",
    "own_agents",
    "plan",
    "propose",
    "propose_promotion",
    "reject",
    "reopen",
    "result",
    "review",
    "shrinks",
    "texts_around",
    "title_of",
    "undo",
    "undo_many",
    "waiting_text",
    "warn",
    "withdraw",
]
