"""Taking back for good what must not be kept: all that a session said, where somebody has a right to that.

Quarantine refuses every DELETE; this is the one door besides erasing a whole space. It opens for one transaction and one
space, and a line in the hub's own activity says who used it, when, and how much went.
"""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction

from memoryhub.domain import activity, longterm, spaces
from memoryhub.domain.accounts import require
from memoryhub.errors import Invalid, NotFound
from memoryhub.models import (
    Actor,
    EntryRevision,
    LongtermEntry,
    Record,
    RecordState,
    Space,
    WorkingEntry,
    WorkingRevision,
)
from memoryhub.text import input_checks

# The lines of activity that quote what goes: each names it by the id or number in its details.
LINES = """
DELETE FROM "activity"."line" WHERE space_id = %s AND verb LIKE %s
AND coalesce(details->>'number', details->>'id') = ANY(%s)
"""


def erasure_extent(space: Space, session_id: str) -> dict[str, int]:
    """What an erasure of this session would take, so that a person sees it first."""
    return {
        "records": Record.objects.within(space).filter(session_id=session_id).count(),
        "working entries": WorkingEntry.objects.within(space).filter(session_id=session_id).count(),
        "corrected texts": WorkingRevision.objects.within(space).filter(session_id=session_id).count(),
        "long-term entries": LongtermEntry.objects.within(space).filter(session_id=session_id).count(),
        "files on their way into long-term memory": len(longterm.imports_with_session(space, session_id)),
    }


@transaction.atomic
def erase(space: Space, actor: Actor, session_id: str, *, confirm: str) -> dict[str, int]:
    """Deletes everything a session left in the three layers, with its history; this cannot be undone."""
    require(actor, "manage")
    session_id = input_checks.check_text(session_id, "session_id", 200)
    if confirm != session_id:
        raise Invalid(
            "Type the session's name to confirm; this cannot be undone.", code="not_confirmed", field="confirm"
        )
    hold_states(space, session_id)
    space = Space.objects.select_for_update().get(pk=space.pk)
    gone = erasure_extent(space, session_id)
    if not any(gone.values()):
        raise NotFound("This session left nothing here.")
    quoted = {"longterm.": erase_entries(space, session_id), "working.": erase_working(space, session_id)}
    erase_records(space, session_id, quoted)
    longterm.drop_imports_with_session(space, session_id)
    spaces.mark_longterm(space)
    note(space, actor, gone)
    return gone


def hold_states(space: Space, session_id: str) -> None:
    """Waits for decisions on the session's records: they lock the record, then the space (`spaces.space.LOCKED_BEFORE_SPACE`)."""
    mine = Record.objects.within(space).filter(session_id=session_id)
    held = RecordState.objects.within(space).select_for_update().filter(record_id__in=mine.values("pk"), is_newest=True)
    list(held.order_by("pk").values_list("pk"))


def erase_entries(space: Space, session_id: str) -> list[int]:
    numbers = []
    for entry in LongtermEntry.objects.within(space).select_for_update().filter(session_id=session_id):
        longterm.remove_chunks(entry)
        longterm.forget_conflicts(entry)
        EntryRevision.objects.within(space).filter(entry_id=entry.pk).delete()
        numbers.append(entry.number)
        entry.delete()
    return numbers


def erase_working(space: Space, session_id: str) -> list[int]:
    entries = WorkingEntry.objects.within(space).filter(session_id=session_id)
    corrected = WorkingRevision.objects.within(space).filter(session_id=session_id)  # of entries that are gone, too
    ids = {*entries.values_list("pk", flat=True), *corrected.values_list("entry_id", flat=True)}
    entries.delete()
    corrected.delete()
    return sorted(ids)


def erase_records(space: Space, session_id: str, quoted: dict[str, list[int]]) -> None:
    """The records, their states, and the lines of activity that quote them; the door closes again behind them."""
    ids = list(Record.objects.within(space).filter(session_id=session_id).values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('memoryhub.erasing', %s, true)", [str(space.pk)])
        for verbs, numbers in {**quoted, "quarantine.": ids}.items():
            cursor.execute(LINES, [space.pk, f"{verbs}%", [str(number) for number in numbers]])
        cursor.execute('DELETE FROM "quarantine"."state" WHERE space_id = %s AND record_id = ANY(%s)', [space.pk, ids])
        cursor.execute('DELETE FROM "quarantine"."record" WHERE space_id = %s AND id = ANY(%s)', [space.pk, ids])
        cursor.execute("SELECT set_config('memoryhub.erasing', '', true)")


def note(space: Space, actor: Actor, gone: dict[str, int]) -> None:
    """Says what was done without saying what it was: in the space, and in the hub's own log."""
    told = ", ".join(f"{count} {name}" for name, count in gone.items() if count)
    details: dict[str, Any] = {"space": space.slug, **gone}
    for where in (space, None):
        activity.record(
            where, actor, "erasure.erase", "erased a session", adds=f"of {space.name}: {told}", details=details
        )
