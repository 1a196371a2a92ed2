"""The rows that are a target's own: records become tombstones, entries go, proposals and comments lose their words."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from memoryhub.db.append_only import unlocked
from memoryhub.domain import longterm, spaces
from memoryhub.domain.erasure.words import Words
from memoryhub.models import (
    HUB,
    EntryRevision,
    LongtermEntry,
    Proposal,
    ProposalComment,
    Record,
    RecordState,
    Space,
    WorkingEntry,
    WorkingRevision,
)
from memoryhub.text.needles import MARK

BATCH = 500
CHANGE_TEXTS = ("old_string", "new_string", "text")  # what an agent's request for a change says
TOMBSTONE = """
UPDATE "quarantine"."record" SET content = %s, session_id = %s, node_id = %s, metadata = '{}', findings = '[]', codes = '{}',
  sha256 = '', words = NULL WHERE space_id = %s AND id = ANY(%s) AND (content, session_id) <> (%s, %s)
"""
REASONS = 'UPDATE "quarantine"."state" SET reason = %s WHERE space_id = %s AND {column} = ANY(%s) AND reason NOT IN (\'\', %s)'
# Lines of activity that name one of the rows by its number or id: what they quote goes, what happened stays.
LINES = """
UPDATE "activity"."line" SET thing = CASE WHEN thing = '' THEN '' ELSE %(mark)s END, aside = CASE WHEN aside = '' THEN '' ELSE %(mark)s END,
  adds = CASE WHEN adds = '' OR adds LIKE '; the gate%%' THEN adds ELSE %(mark)s END
WHERE space_id = %(space)s AND verb LIKE %(verbs)s AND coalesce(details->>'number', details->>'id') = ANY(%(ids)s)
  AND (thing NOT IN ('', %(mark)s) OR aside NOT IN ('', %(mark)s))
"""
REMARKS = """
UPDATE "activity"."line" SET aside = %(mark)s
WHERE space_id = %(space)s AND verb LIKE 'proposals.%%' AND actor_kind = 'person' AND actor_name = %(person)s
  AND aside NOT IN ('', %(mark)s)
"""


def erase_own_rows(space: Space, words: Words, tally: Callable[[Counter[str]], None]) -> None:
    """Erases the own rows of one space, a few at a time; `tally` hears of each few in their own transaction, by table. What is
    erased already is passed over."""
    for model, ids, erase in (
        (Record, words.records, _erase_records),
        (LongtermEntry, words.entries, _erase_entries),
        (WorkingEntry, words.working, _erase_working),
        (Proposal, words.proposals, _erase_proposals),
    ):
        # Of working entries whose time was over, old texts and lines of activity are left.
        mine = model.objects.within(space).filter(pk__in=ids).order_by("pk").values_list("pk", flat=True)
        every = sorted(set(ids)) if model is WorkingEntry else list(mine)
        for at in range(0, len(every), BATCH):
            _in_one(space, tally, erase, every[at : at + BATCH])
    _in_one(space, tally, _erase_remarks, words)


def stop_imports(space: Space, session: str, tally: Callable[[Counter[str]], None]) -> None:
    """Drops files that would bring entries of a session in later."""
    with transaction.atomic():
        spaces.mark_longterm(space)  # holds the space, so that no batch of them is under way
        tally(Counter({"made": len(longterm.imports_with_session(space, session))}))
        longterm.drop_imports_with_session(space, session)


def _in_one(space: Space, tally: Callable[[Counter[str]], None], erase: Callable[..., None], what: Any) -> None:
    counts: Counter[str] = Counter()
    with transaction.atomic():
        erase(space, what, counts)
        tally(counts)


def _erase_records(space: Space, ids: list[int], counts: Counter[str]) -> None:
    """Tombstones: the rows stay, discarded, with their agent and time, and without a word."""
    with unlocked(space.pk), connection.cursor() as cursor:
        # States before the space, as everywhere (`spaces.space.LOCKED_BEFORE_SPACE`).
        newest = RecordState.objects.within(space).select_for_update().filter(record_id__in=ids, is_newest=True)
        states = {one.record_id: one for one in newest.order_by("pk")}
        cursor.execute(TOMBSTONE, [MARK, MARK, MARK, space.pk, ids, MARK, MARK])
        counts["quarantine.record"] += cursor.rowcount
        cursor.execute(REASONS.format(column="record_id"), [MARK, space.pk, ids, MARK])
        counts["quarantine.state"] += cursor.rowcount
        for record_id, state in states.items():
            if (state.state, state.actor_kind) != (RecordState.DISCARDED, "hub"):
                RecordState.objects.within(space).filter(pk=state.pk).update(is_newest=False)
                RecordState.objects.create(
                    space_id=space.pk, record_id=record_id, state=RecordState.DISCARDED, reason=MARK, **HUB.as_fields()
                )
        _erase_lines(space, "quarantine.%", ids, counts)


def _erase_entries(space: Space, ids: list[int], counts: Counter[str]) -> None:
    """Entries of long-term memory go with their chunks, vectors, words, pairs and old texts."""
    with unlocked(space.pk):
        spaces.mark_longterm(space)  # locks the space, as every change of long-term memory does
        found = list(LongtermEntry.objects.within(space).select_for_update().filter(pk__in=ids))
        for entry in found:
            longterm.remove_chunks(entry)
            longterm.forget_conflicts(entry)
            counts["entryrevision"] += EntryRevision.objects.within(space).filter(entry_id=entry.pk).delete()[0]
            entry.delete()
        counts["longtermentry"] += len(found)
        _erase_lines(space, "longterm.%", [entry.number for entry in found], counts)


@transaction.atomic
def drop_empty_words(space: Space, tally: Callable[[Counter[str]], None]) -> None:
    """Deletes the words that no chunk has any more: nothing else would ever do so."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memoryhub_lexemecount WHERE space_id = %s AND chunks <= 0", [space.pk])
        tally(Counter({"lexemecount": cursor.rowcount}))


def _erase_working(space: Space, ids: list[int], counts: Counter[str]) -> None:
    with unlocked(space.pk):
        spaces.mark_setup(space)
        counts["workingrevision"] += WorkingRevision.objects.within(space).filter(entry_id__in=ids).delete()[0]
        counts["workingentry"] += WorkingEntry.objects.within(space).filter(pk__in=ids).delete()[0]
        _erase_lines(space, "working.%", ids, counts)


def _erase_proposals(space: Space, ids: list[int], counts: Counter[str]) -> None:
    """Proposals keep their number, path and decision; one that waits is withdrawn."""
    with unlocked(space.pk):
        for one in Proposal.objects.within(space).select_for_update().filter(pk__in=ids).order_by("number"):
            if one.reason == MARK and one.content in (None, MARK.encode()) and not one.findings:
                continue
            one.change = {key: MARK if key in CHANGE_TEXTS else value for key, value in one.change.items()} | (
                {"session_id": ""} if one.change.get("session_id") else {}
            )
            one.content = None if one.content is None else MARK.encode()
            one.reason, one.tool_call_id, one.thread_id, one.findings = MARK, "", "", []
            one.same_as = secrets.token_hex(32)  # it was a digest of the words
            if one.state in (Proposal.State.PENDING, Proposal.State.OUTDATED):
                one.state, one.note = Proposal.State.WITHDRAWN, MARK
            one.updated_at = timezone.now()
            one.save()
            counts["proposal"] += 1


def _erase_remarks(space: Space, words: Words, counts: Counter[str]) -> None:
    """Comments, notes of decisions and reasons of a person."""
    with unlocked(space.pk), connection.cursor() as cursor:
        cursor.execute(REASONS.format(column="id"), [MARK, space.pk, words.states, MARK])
        counts["quarantine.state"] += cursor.rowcount
        comments = ProposalComment.objects.within(space).filter(pk__in=words.comments).exclude(text=MARK)
        counts["proposalcomment"] += comments.update(text=MARK)
        decided = Proposal.objects.within(space).filter(pk__in=words.decided).exclude(note=MARK)
        counts["proposal"] += decided.update(note=MARK)
        if words.person:
            cursor.execute(REMARKS, {"mark": MARK, "space": space.pk, "person": words.person})
            counts["activity.line"] += cursor.rowcount
        corrected = EntryRevision.objects.within(space).filter(pk__in=words.entry_revisions).exclude(content=MARK)
        counts["entryrevision"] += corrected.update(content=MARK, reason=MARK)


def _erase_lines(space: Space, verbs: str, ids: list[int], counts: Counter[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(LINES, {"mark": MARK, "space": space.pk, "verbs": verbs, "ids": [str(one) for one in ids]})
        counts["activity.line"] += cursor.rowcount
