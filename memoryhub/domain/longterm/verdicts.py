"""What a person says of two entries that are alike or at odds: both stand, or one of them."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from memoryhub.domain import activity
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm.changes import retire
from memoryhub.domain.longterm.conflicts import KEEP_BOTH, conflicts_with_entries
from memoryhub.domain.longterm.entries import lock_space
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, EntryPair, LongtermEntry, Space

VERDICTS = (KEEP_BOTH, "retire_older", "retire_newer")


@transaction.atomic
def settle(space: Space, actor: Actor, pair_id: int, verdict: str) -> EntryPair:
    """A person says what of a pair stands: both, or one of them, and the other is retired."""
    require(actor, "promote")
    if verdict not in VERDICTS:
        raise Invalid(f"The verdict is one of {', '.join(VERDICTS)}.", code="unknown_verdict")
    lock_space(space)  # before the pair, as whoever changes one of its entries does
    pair = EntryPair.objects.within(space).select_for_update().filter(pk=pair_id).first()
    if pair is None:
        raise NotFound("This pair is gone: one of its entries was changed or retired.")
    if pair.settled_at:
        raise Conflict(f"{pair.settled_by} settled this pair already.", code="already_decided")
    older, newer = (LongtermEntry.objects.within(space).get(pk=pk) for pk in (pair.older_id, pair.newer_id))
    pair.older, pair.newer = older, newer
    pair.settled_at, pair.settled_by, pair.verdict = timezone.now(), actor.name, verdict
    pair.save()
    names = f"L-{older.number} and L-{newer.number}"
    says = {
        "keep_both": "both stand",
        "retire_older": f"L-{newer.number} stands",
        "retire_newer": f"L-{older.number} stands",
    }
    activity.record(
        space, actor, "longterm.settle", "settled", names, url="longterm/?show=pairs", adds=f": {says[verdict]}"
    )
    if verdict != KEEP_BOTH:
        gone, stays = (older, newer) if verdict == "retire_older" else (newer, older)
        retire(space, actor, gone.number, reason=f"L-{stays.number} says it")
    return pair


@transaction.atomic
def unsettle(space: Space, actor: Actor, pair_id: int) -> EntryPair:
    """Takes back that both of a pair stand: it waits for a person again."""
    require(actor, "promote")
    pair = EntryPair.objects.within(space).select_for_update().filter(pk=pair_id).first()
    if pair is None or pair.verdict != KEEP_BOTH:
        raise NotFound("There is no such verdict any more: one of its entries was changed or retired.")
    (pair,) = conflicts_with_entries(space, EntryPair.objects.within(space).filter(pk=pair.pk))
    pair.settled_at, pair.settled_by, pair.verdict = None, "", ""
    pair.save()
    names = f"L-{pair.older.number} and L-{pair.newer.number}"
    activity.record(space, actor, "longterm.unsettle", "reopened", names, url="longterm/?show=pairs")
    return pair
