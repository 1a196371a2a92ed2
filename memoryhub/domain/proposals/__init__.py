"""Proposals: an agent asks, a person sees what it would do, and decides.

`asking` is what agents do, `deciding` and `afterwards` what people do, `results` what a change makes of the text as it is
now, `looking` the gate's eyes, `inbox` and `reviewing` what pages show, `notices` who is told.
"""

from .afterwards import comment, expire, reopen, undo
from .asking import get, propose, propose_promotion, withdraw
from .deciding import QUICK_REASONS, approve, mark_outdated, mark_those_that_no_longer_apply, reject
from .looking import check_change, check_text, shrinks
from .results import Result, applied_diff, result, texts_around

__all__ = [
    "QUICK_REASONS",
    "Result",
    "applied_diff",
    "approve",
    "check_change",
    "check_text",
    "comment",
    "expire",
    "get",
    "mark_outdated",
    "mark_those_that_no_longer_apply",
    "propose",
    "propose_promotion",
    "reject",
    "reopen",
    "result",
    "shrinks",
    "texts_around",
    "undo",
    "withdraw",
]
