"""Long-term memory: what people found worth keeping. Entries are corrected, checked and retired, never lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.detectors import secrets
from memoryhub.domain import activity
from memoryhub.errors import NotFound
from memoryhub.models import Actor, EntryRevision, LongtermEntry, Space

ACTIVE, RETIRED, WAITING = "active", "retired", "waiting"
GROUP, AGENT = "group", "agent"
LIVE = (ACTIVE, WAITING)

BEGINNING = 400  # characters of an entry that a list may need
WHOLE = 2000  # bytes; up to so many are sent sooner than their characters are counted
LISTED = f"""
SELECT e.review_by::text, date_part('epoch', e.created_at), date_part('epoch', e.checked_at), e.number,
    CASE WHEN octet_length(e.content) <= {WHOLE} THEN e.content ELSE left(e.content, {BEGINNING}) END,
    e.actor_kind, e.actor_name, e.session_id, e.scope,
    CASE WHEN e.agent_id IS NOT NULL THEN (SELECT name FROM memoryhub_agent WHERE id = e.agent_id) END, e.state
FROM memoryhub_longtermentry e
WHERE e.space_id = %s AND e.number < %s AND e.state <> 'retired' ORDER BY e.number DESC LIMIT %s
"""  # noqa: S608 (only a number of ours is put in)
CHANGED_TOO_OFTEN = "The data changed repeatedly while this was computed. Try again."
TRIES = 5  # what was worked out from what is another meanwhile is worked out again, but not for ever


def entries_of(space: Space) -> QuerySet[LongtermEntry]:
    return LongtermEntry.objects.within(space)


def get(space: Space, number: int) -> LongtermEntry:
    entry = entries_of(space).select_related("agent").filter(number=number).first()
    if entry is None:
        raise NotFound(f"There is no long-term entry L-{number} in this space.")
    return entry


def by_label(space: Space, label: str) -> LongtermEntry:
    """The entry that `L-312` names."""
    number = label.removeprefix("L-")
    if not number.isdecimal():
        raise NotFound(f"There is no long-term entry {label} in this space.")
    return get(space, int(number))


def lock_space(space: Space) -> None:
    """First of all locks, always: whoever changes what finds changes the space's counts too, and must not wait crosswise."""
    Space.objects.select_for_update().only("pk").get(pk=space.pk)


def lock_entry(space: Space, number: int) -> LongtermEntry:
    entry = entries_of(space).select_for_update().filter(number=number).first()
    return entry or get(space, number)


def history(entry: LongtermEntry) -> QuerySet[EntryRevision]:
    """What the entry said and was, newest first."""
    return EntryRevision.objects.within(entry.space_id).filter(entry_id=entry.pk).order_by("-number")


def write_revision(entry: LongtermEntry, actor: Actor, reason: str) -> None:
    """The entry as it is now, as a row of its history."""
    EntryRevision.objects.create(
        space_id=entry.space_id, entry_id=entry.pk, number=entry.revision, content=entry.content, state=entry.state,
        reason=secrets.redact(reason)[0][:500], **actor.as_fields(),
    )  # fmt: skip


def save_revision(entry: LongtermEntry, actor: Actor, reason: str) -> None:
    """One revision further: the entry as it is now goes into its history."""
    entry.revision += 1
    entry.modified_at = timezone.now()
    entry.save()
    write_revision(entry, actor, reason)


def due(space: Space) -> QuerySet[LongtermEntry]:
    """Entries whose day to be checked has come, the longest due first."""
    return entries_of(space).filter(state__in=LIVE, review_by__lte=timezone.localdate()).order_by("review_by", "number")


COUNTED = {
    "live": "longtermentry WHERE state IN ('active', 'waiting')",
    "pinned": "longtermentry WHERE pin IS NOT NULL",
    "due": "longtermentry WHERE state IN ('active', 'waiting') AND review_by <= %(today)s",
    "retired": "longtermentry WHERE state = 'retired'",
    "waiting": "longtermentry WHERE state = 'waiting'",
    "duplicate": "entrypair WHERE settled_at IS NULL AND kind = 'duplicate'",
    "contradiction": "entrypair WHERE settled_at IS NULL AND kind = 'contradiction'",
}
# Each counted by itself, since each has an index of its own.
COUNTS = f"SELECT {', '.join(f'(SELECT count(*) FROM memoryhub_{rows} AND space_id = %(space)s)' for rows in COUNTED.values())}"  # noqa: S608


def counts_by_filter(space: Space) -> dict[str, int]:
    """How many entries, or open pairs of entries, each filter of the list shows."""
    found = statements.row(COUNTS, {"space": space.pk, "today": timezone.localdate()})
    return dict(zip(COUNTED, found, strict=True))


@dataclass(slots=True)
class ListedEntry:
    """An entry as lists show it: of a long one its beginning alone."""

    number: int
    content: str
    actor_kind: str
    actor_name: str
    session_id: str
    scope: str
    agent_name: str | None
    state: str
    review_by: date | None
    created_at: datetime
    checked_at: datetime | None


def newest(space: Space, limit: int, *, before: int | None = None) -> list[ListedEntry]:
    """The entries that agents may find, newest first."""
    return [_listed(found) for found in statements.rows(LISTED, [space.pk, before or 2**62, limit])]


def _listed(found: tuple[Any, ...]) -> ListedEntry:
    review_by, created_at, checked_at, *rest = found
    moments: list[Any] = [
        date.fromisoformat(review_by) if review_by else None,
        datetime.fromtimestamp(created_at, UTC),
        datetime.fromtimestamp(checked_at, UTC) if checked_at else None,
    ]
    return ListedEntry(*(rest + moments))


def title_of_entry(content: str, length: int = 100) -> str:
    """An entry's first line, for lists."""
    first = next((line.strip("#*- \t") for line in content.splitlines() if line.strip("#*- \t")), content.strip())
    return activity.shorten(" ".join(first.split()), length)


def record_activity(space: Space, actor: Actor, verb: str, says: str, entry: LongtermEntry, **more: Any) -> None:
    activity.record_line(activity_line(space, actor, verb, says, entry, **more))


def activity_line(
    space: Space, actor: Actor, verb: str, says: str, entry: LongtermEntry, *, adds: str = "", aside: str = "",
    details: dict[str, Any] | None = None,
) -> activity.Line:  # fmt: skip
    """A line about an entry, not written yet."""
    return activity.make_line(
        space, actor, verb, says, f"“{title_of_entry(entry.content, 80)}”", url=f"longterm/{entry.number}/", adds=adds,
        aside=aside or f"L-{entry.number}", details={"number": entry.number, **(details or {})},
    )  # fmt: skip
