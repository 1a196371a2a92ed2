"""What people change of an entry: its text, when it is to be checked, whether it is found at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date

from django.db import transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.detectors import secrets
from memoryhub.domain import retrieval, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm import chunks, conflicts
from memoryhub.domain.longterm.entries import (
    ACTIVE,
    CHANGED_TOO_OFTEN,
    LIVE,
    RETIRED,
    TRIES,
    by_label,
    entries_of,
    get,
    lock_entry,
    lock_space,
    record_activity,
    save_revision,
)
from memoryhub.domain.longterm.indexing import index, lock_unchanged
from memoryhub.errors import Conflict
from memoryhub.models import Actor, EntryRevision, LongtermEntry, Space
from memoryhub.text import input_checks


def edit(
    space: Space, actor: Actor, number: int, content: str, *, reason: str = "", seen_revision: int | None = None
) -> LongtermEntry:
    """Corrects an entry: cut and embedded anew in the same breath, what it said before stays in its history."""
    require(actor, "promote")
    for _ in range(TRIES):
        seen = get(space, number)
        if seen_revision is not None and seen_revision != seen.revision:
            raise Conflict(f"L-{number} was changed while you wrote. Look at it again.", code="changed_since_seen")
        text = spaces.check_secrets(space, input_checks.check_content(content), before=seen.content)
        if text == seen.content:
            return seen
        cut = chunks.cut_chunks(space, text) if seen.state in LIVE else None
        with suppress(statements.NotHeld), transaction.atomic():
            return _correct(space, actor, lock_unchanged(space, seen), text, cut, reason)
    raise Conflict(CHANGED_TOO_OFTEN)


def _correct(
    space: Space, actor: Actor, entry: LongtermEntry, text: str, cut: chunks.Cut | None, reason: str
) -> LongtermEntry:
    """The entry with another text, which is cut if it is to be found (in the caller's transaction)."""
    entry.content = text
    if cut:
        chunks.remove_chunks(entry)
        conflicts.forget_conflicts(entry)
    save_revision(entry, actor, reason)
    if cut:
        index(space, entry, cut)
    record_activity(space, actor, "longterm.edit", "corrected", entry, aside=f"revision {entry.revision}")
    return entry


def erase_words(space: Space, actor: Actor, number: int, without: Callable[[str], str]) -> bool:
    """Takes words out of an entry for an erasure: cut and embedded anew; where nothing is left, the entry goes. Answers whether
    it had any. Its history is erased elsewhere."""
    for _ in range(TRIES):
        seen = get(space, number)
        text = without(seen.content)
        if text == seen.content:
            return False
        cut = chunks.cut_chunks(space, text) if text.strip() and seen.state in LIVE else None
        with suppress(statements.NotHeld), transaction.atomic():
            entry = lock_unchanged(space, seen)
            chunks.remove_chunks(entry)
            conflicts.forget_conflicts(entry)
            if not text.strip():
                EntryRevision.objects.within(space).filter(entry_id=entry.pk).delete()
                entry.delete()
                return True
            entry.content = text
            save_revision(entry, actor, "erased")
            if cut:
                index(space, entry, cut)
            return True
    raise Conflict(CHANGED_TOO_OFTEN)


@transaction.atomic
def verify(space: Space, actor: Actor, number: int, review_by: date | None = None) -> LongtermEntry:
    """Says that a person checked an entry today and found it true; a new date for the next check may come with it."""
    require(actor, "promote")
    entry = lock_entry(space, number)
    entry.checked_at, entry.checked_by = timezone.now(), actor.name
    if review_by or (entry.review_by and entry.review_by <= timezone.localdate()):
        entry.review_by = review_by
    entry.save(update_fields=["checked_at", "checked_by", "review_by"])
    spaces.mark_longterm(space)  # answers say when
    record_activity(space, actor, "longterm.verify", "checked", entry)
    return entry


@transaction.atomic
def pin(space: Space, actor: Actor, number: int, place: int | None = None) -> LongtermEntry:
    """Pins an entry, so that files of a `views` mount show it: at this place among the pinned ones, by default last."""
    require(actor, "promote")
    lock_space(space)
    entry = lock_entry(space, number)
    if entry.state == RETIRED:
        raise Conflict(f"L-{number} is retired: restore it first.", code="already_decided")
    others = [one for one in pinned(space) if one.pk != entry.pk]
    if len(others) >= retrieval.views.MAX_PINNED:
        raise Conflict(
            f"{retrieval.views.MAX_PINNED} entries are pinned already. Unpin one first.", code="too_many_pinned"
        )
    others.insert(len(others) if place is None else max(0, min(place - 1, len(others))), entry)
    was_pinned = entry.pin is not None
    if _number_pins(others):
        spaces.mark_longterm(space)
        says, adds = ("moved the pinned entry", f"to place {others.index(entry) + 1}") if was_pinned else ("pinned", "")
        record_activity(space, actor, "longterm.pin", says, entry, adds=adds)
    return entry


@transaction.atomic
def unpin(space: Space, actor: Actor, number: int) -> LongtermEntry:
    """Takes an entry from those that people pinned; it stays in long-term memory."""
    require(actor, "promote")
    lock_space(space)
    entry = lock_entry(space, number)
    if entry.pin is not None:
        entry.pin = None
        entry.save(update_fields=["pin"])
        _number_pins(pinned(space))
        spaces.mark_longterm(space)
        record_activity(space, actor, "longterm.unpin", "unpinned", entry)
    return entry


def pinned(space: Space) -> list[LongtermEntry]:
    """The pinned entries in their order, also retired ones, which nobody is shown."""
    return list(entries_of(space).filter(pin__isnull=False).order_by("pin", "number"))


def _number_pins(ordered: list[LongtermEntry]) -> bool:
    """Gives the entries their places; answers whether any has another now."""
    moved = [(place, one) for place, one in enumerate(ordered, 1) if one.pin != place]
    for place, one in moved:
        one.pin = place
        one.save(update_fields=["pin"])
    return bool(moved)


@transaction.atomic
def set_review_by(space: Space, actor: Actor, number: int, review_by: date | None) -> LongtermEntry:
    """Sets the day by which somebody should check the entry again, or none."""
    require(actor, "promote")
    entry = lock_entry(space, number)
    entry.review_by = review_by
    entry.save(update_fields=["review_by"])
    adds = f"to be checked by {review_by.isoformat()}" if review_by else "without a date to be checked by"
    record_activity(space, actor, "longterm.set_review_by", "marked", entry, adds=adds)
    return entry


@transaction.atomic
def retire(space: Space, actor: Actor, number: int, reason: str = "") -> LongtermEntry:
    """Takes an entry out of all answers; its text and history stay, and it can come back."""
    require(actor, "promote")
    lock_space(space)
    entry, reason = lock_entry(space, number), secrets.redact(reason)[0]
    if entry.state == RETIRED:
        raise Conflict(f"L-{number} is retired already.", code="already_decided")
    chunks.remove_chunks(entry)
    conflicts.forget_conflicts(entry)
    entry.state, entry.retired_at = RETIRED, timezone.now()
    save_revision(entry, actor, reason)
    spaces.mark_longterm(space)
    record_activity(space, actor, "longterm.retire", "retired", entry, adds=f": “{reason[:200]}”" if reason else "")
    return entry


def restore(space: Space, actor: Actor, number: int) -> LongtermEntry:
    """Brings a retired entry back into answers."""
    require(actor, "promote")
    for _ in range(TRIES):
        seen = get(space, number)
        if seen.state != RETIRED:
            raise Conflict(f"L-{number} is not retired.", code="already_decided")
        cut = chunks.cut_chunks(space, seen.content)
        with suppress(statements.NotHeld), transaction.atomic():
            return _bring_back(space, actor, lock_unchanged(space, seen), cut)
    raise Conflict(CHANGED_TOO_OFTEN)


def _bring_back(space: Space, actor: Actor, entry: LongtermEntry, cut: chunks.Cut) -> LongtermEntry:
    """The entry, found again as it was cut (in the caller's transaction)."""
    entry.state, entry.retired_at = ACTIVE, None
    save_revision(entry, actor, "restored")
    index(space, entry, cut)
    record_activity(space, actor, "longterm.restore", "restored", entry)
    return entry


def replaced_by(entry: LongtermEntry) -> str:
    return f"replaced by L-{entry.number}"


def retire_all(space: Space, actor: Actor, entry: LongtermEntry, gone: Iterable[LongtermEntry]) -> None:
    """Retires what an entry took the place of (in the caller's transaction)."""
    for one in gone:
        if one.state != RETIRED and one.pk != entry.pk:
            retire(space, actor, one.number, reason=replaced_by(entry))


@transaction.atomic
def take_back(space: Space, actor: Actor, number: int, reason: str = "the promotion was undone") -> LongtermEntry:
    """Undoes a promotion: the entry is retired, and what it replaced or took in is found again."""
    require(actor, "promote")
    lock_space(space)
    entry = lock_entry(space, number)
    if entry.state != RETIRED:
        entry = retire(space, actor, number, reason)
    replaced = EntryRevision.objects.within(space).filter(reason=replaced_by(entry), state=RETIRED)
    for one in entries_of(space).filter(state=RETIRED, pk__in=replaced.values("entry_id")).order_by("number"):
        if replaced.filter(entry_id=one.pk, number=one.revision).exists():  # nobody decided about it since
            restore(space, actor, one.number)
    return entry


@spaces.on_event("promotion_undone")
def take_back_promoted(space: Space, actor: Actor, label: str) -> None:
    """The entry that a record was promoted to goes, because a person undid the promotion."""
    take_back(space, actor, by_label(space, label).number)


@spaces.on_event("promotion_redone")
def restore_promoted(space: Space, actor: Actor, label: str) -> None:
    """The entry that a record was promoted to comes back, because a person undid what followed on the promotion."""
    restore(space, actor, by_label(space, label).number)
