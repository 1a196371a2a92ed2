"""Approving an agent's promotion together with what it replaces in long-term memory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from django.db import transaction

from memoryhub.domain import longterm
from memoryhub.domain.proposals.decide import approve
from memoryhub.models import Actor, Proposal, Space


@transaction.atomic
def approve_promotion(
    space: Space, actor: Actor, number: int, *, replaces: Iterable[int] = (), merges: Iterable[int] = (),
    review_by: date | None = None, **given: Any,
) -> Proposal:  # fmt: skip
    """Approves an agent's promotion, and in the same breath settles what was there already and when to check it again."""
    decided = approve(space, actor, number, **given)
    if decided.state == Proposal.State.APPROVED and decided.entry_number:
        longterm.absorb(space, actor, decided.entry_number, replaces=replaces, merges=merges)
        if review_by:
            longterm.set_review_by(space, actor, decided.entry_number, review_by)
    return decided
