"""Working memory: what agents learned lately. The newest 50 of each group, each for 24 hours; then it is gone unless kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.db.prepared import prepared
from memoryhub.domain import activity, jobs, spaces
from memoryhub.domain.accounts import require
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import Actor, Agent, Space, WorkingEntry, WorkingRevision
from memoryhub.text import input_checks

MAX_ENTRIES = 50
GONE = "This entry of working memory is gone: expired, deleted, pushed out by newer ones, or never here."
GROUP, AGENT = "group", "agent"

ENTER = """
INSERT INTO memoryhub_workingentry
    (space_id, agent_key, agent_name, expires_at, seen_by, times, agent_id, scope, content, metadata, findings, record_id,
     session_id, created_at, is_pinned)
SELECT %s, %s, %s, %s, %s, {times}, {output}, false{source}
RETURNING id
"""
GIVEN_OUTPUT = ", ".join(["%s"] * 8)
OUTPUT_OF_RECORD = "agent_id, scope, content, metadata, findings, id, session_id, created_at"
# An entry that the new one says again gives way to it. What a person pinned, corrected or looked at stays: by another wording an
# agent must not take away what a person let on.
TAKE_OVER = """
DELETE FROM memoryhub_workingentry w WHERE id = %s AND space_id = %s AND NOT is_pinned AND removed_at IS NULL AND seen_by = ''
  AND NOT EXISTS (SELECT FROM memoryhub_workingrevision r WHERE r.space_id = w.space_id AND r.entry_id = w.id)
RETURNING times
"""
# What the new entry pushes over the limit, which is one less as the statement does not see that one; pinned entries apart.
TRIM = """
DELETE FROM memoryhub_workingentry
WHERE space_id = %s AND agent_key = %s AND NOT is_pinned AND removed_at IS NULL AND id <= (
    SELECT id FROM memoryhub_workingentry
    WHERE space_id = %s AND agent_key = %s AND NOT is_pinned AND removed_at IS NULL
    ORDER BY id DESC OFFSET %s LIMIT 1
)
"""
TRIM_ALL = """
DELETE FROM memoryhub_workingentry WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY agent_key ORDER BY id DESC) AS place FROM memoryhub_workingentry
        WHERE space_id = %s AND NOT is_pinned AND removed_at IS NULL AND expires_at > now()
    ) placed WHERE place > %s
)
"""
# One key, one walk along the index; an array of keys would be sorted first. A moment as a number is read ten times quicker.
NEWEST = """
SELECT {columns} FROM memoryhub_workingentry
WHERE space_id = {space} AND agent_key = {key} AND (expires_at > now() OR is_pinned) AND removed_at IS NULL{older}
ORDER BY id DESC LIMIT {most}
"""
COLUMNS = "id, content, metadata, date_part('epoch', created_at), date_part('epoch', expires_at), agent_name, scope, is_pinned, times"
OF_ONE = NEWEST.format(columns=COLUMNS, space="%s", key="%s", older=" AND id < %s", most="%s")
AFTER_ALL = 2**63 - 1  # larger than the id of any entry


def newest_of(columns: str, space: str, key: str, most: str) -> str:
    """The SQL for the newest of the group (key 0) or of one agent's own."""
    return NEWEST.format(columns=columns, space=space, key=key, older="", most=most)


def newest_of_both(columns: str, space: str, agent: str, most: str, older: str = "") -> str:
    """The SQL for the newest that an agent may read, of the group's and its own; the id comes first among the columns."""
    given = {"columns": columns, "space": space, "older": older, "most": most}
    group, own = (NEWEST.format(key=key, **given) for key in ("0", agent))
    return f"({group}) UNION ALL ({own}) ORDER BY id DESC LIMIT {most}"


OF_BOTH = newest_of_both(COLUMNS, "%(space)s", "%(agent)s", "%(most)s", " AND id < %(before)s")


@dataclass(slots=True)
class WorkingItem:
    """A live entry as agents get it."""

    id: int
    content: str
    metadata: dict[str, Any]
    created_at: datetime
    expires_at: datetime
    agent: str
    scope: str
    is_pinned: bool
    times: int


@dataclass(slots=True)
class Output:
    """What is to enter: built for every output, where a model's row would cost as much again."""

    content: str
    scope: str
    metadata: dict[str, Any]
    findings: list[dict[str, Any]]
    session_id: str
    created_at: datetime
    record_id: int | None = None
    seen_by: str = ""


def enter(space: Space, agent: Agent | None, one: Output) -> int:
    """Puts an output into working memory by one statement, and gives the entry's id."""
    key = 0 if one.seen_by and one.scope == GROUP else _reader_key(space, agent, one.scope)
    given = [
        agent.pk if agent else None, one.scope, one.content, statements.as_json(one.metadata), statements.as_json(one.findings),
        one.record_id, one.session_id, one.created_at,
    ]  # fmt: skip
    first = [*_first_values(space, agent, key, one.created_at), one.seen_by[:150]]
    entry = statements.Change(ENTER.format(times="1", output=GIVEN_OUTPUT, source=""), first + given, "entered")
    (entry_id,) = statements.together(_trim(space, key), entry, answer="SELECT id FROM entered")
    return entry_id


def entering(
    space: Space, agent: Agent | None, scope: str, at: datetime, copy_of: int | None
) -> tuple[statements.Change, statements.Change]:
    """A new entry, named `entered`, and what it pushes out, or takes over where it is the copy of an entry; as changes beside one
    named `record`, whose row the entry is made from."""
    key = _reader_key(space, agent, scope)
    times = "(SELECT coalesce(max(times), 0) + 1 FROM copied)" if copy_of else "1"
    sql = ENTER.format(times=times, output=OUTPUT_OF_RECORD, source=" FROM record")
    entry = statements.Change(sql, [*_first_values(space, agent, key, at), ""], "entered")
    gone = statements.Change(TAKE_OVER, [copy_of, space.pk], "copied") if copy_of else _trim(space, key)
    # In this order: where the table has copies on several servers, who deletes after an insert waits for whoever else does so.
    return gone, entry


def _reader_key(space: Space, agent: Agent | None, scope: str) -> int:
    """Who reads an entry that no person has seen: 0 is the group, else one agent."""
    alone = scope == AGENT or space.settings["logs_reach_others"] == "person"
    return agent.pk if agent and alone else 0


def _first_values(space: Space, agent: Agent | None, key: int, at: datetime) -> list[Any]:
    return [space.pk, key, agent.slug if agent else "", at + _lifetime(space)]


def _trim(space: Space, key: int) -> statements.Change:
    return statements.Change(TRIM, [space.pk, key, space.pk, key, space.settings["working_limit"] - 1])


def newest(
    space: Space, *, agent: Agent | None = None, limit: int = 10, scope: str | None = None, before: int = AFTER_ALL
) -> list[WorkingItem]:
    """The newest live entries that an agent (or, without one, the group) may read; `before`: those with a smaller id."""
    keys = _agent_keys(agent, scope)
    if not keys or not limit:
        return []
    if len(keys) == 1:
        rows = statements.rows(OF_ONE, [space.pk, keys[0], before, limit])
    else:
        given = {"space": space.pk, "agent": keys[1], "before": before, "most": limit}
        rows = statements.rows(OF_BOTH, given)
    return [_item(found) for found in rows]


def _item(found: tuple[Any, ...]) -> WorkingItem:
    """A row as agents get it; a moment as a number costs a tenth of reading its text, and Django leaves JSON to its fields."""
    pk, content, metadata, created_at, expires_at, *rest = found
    parsed = {} if metadata == "{}" else json.loads(metadata)
    return WorkingItem(
        pk, content, parsed, datetime.fromtimestamp(created_at, UTC), datetime.fromtimestamp(expires_at, UTC), *rest
    )


def _agent_keys(agent: Agent | None, scope: str | None) -> list[int]:
    """Whose entries are meant: 0 is the group, an agent's own carry its id."""
    own = [agent.pk] if agent else []
    return {GROUP: [0], AGENT: own}.get(scope or "", [0, *own])


def live(space: Space) -> QuerySet[WorkingEntry]:
    """Every entry that still counts, newest first, for the page of people."""
    found = WorkingEntry.objects.within(space).filter(removed_at=None)
    return found.filter(Q(expires_at__gt=timezone.now()) | Q(is_pinned=True)).order_by("-id")


LIVE = prepared(
    lambda space, now: (
        WorkingEntry.objects.within(space)
        .filter(Q(expires_at__gt=now) | Q(is_pinned=True), removed_at=None)
        .order_by("-id")
    )
)


def listed(space: Space) -> list[WorkingEntry]:
    """Every entry that still counts, newest first."""
    return LIVE(space.pk, timezone.now())


def get(space: Space, entry_id: int) -> WorkingEntry:
    entry = WorkingEntry.objects.within(space).filter(pk=entry_id).first()
    if entry is None:
        raise NotFound(GONE)
    return entry


def _lock(space: Space, actor: Actor, entry_id: int) -> WorkingEntry:
    require(actor, "edit")
    entry = WorkingEntry.objects.within(space).select_for_update().filter(pk=entry_id).first()
    return entry or get(space, entry_id)


def _lock_present(space: Space, actor: Actor, entry_id: int) -> WorkingEntry:
    """The entry under its lock, unless somebody deleted it meanwhile: a change of it would reach nobody."""
    entry = _lock(space, actor, entry_id)
    if entry.removed_at:
        raise NotFound(GONE)
    return entry


@transaction.atomic
def add(space: Space, actor: Actor, content: str) -> WorkingEntry:
    """A person puts something into the group's working memory."""
    require(actor, "edit")
    content = spaces.check_secrets(space, input_checks.check_content(content))
    one = Output(content, GROUP, {"added_by": actor.name}, [], "", timezone.now())
    entry = get(space, enter(space, None, one))
    _record_activity(space, actor, "working.add", "added to working memory", entry)
    return entry


@transaction.atomic
def edit(space: Space, actor: Actor, entry_id: int, content: str) -> WorkingEntry:
    """Corrects what an entry says; its time goes on, and what it said before is kept whole."""
    entry = _lock_present(space, actor, entry_id)
    if entry.expires_at <= timezone.now() and not entry.is_pinned:
        raise NotFound(GONE)  # its row stays for an hour, but nobody is given what it says
    before, entry.content = (
        entry.content,
        spaces.check_secrets(space, input_checks.check_content(content), before=entry.content),
    )
    if before == entry.content:
        return entry
    entry.findings = spaces.ask_event("findings_of_entry", space, content)
    entry.seen_by, entry.agent_key = actor.name[:150], 0 if entry.scope == GROUP else entry.agent_key
    entry.save(update_fields=["content", "findings", "seen_by", "agent_key"])
    WorkingRevision.objects.create(
        space_id=space.pk, entry_id=entry.pk, session_id=entry.session_id, content=before, **actor.as_fields()
    )
    _record_activity(space, actor, "working.edit", "corrected in working memory", entry, url=f"working/{entry.pk}/")
    return entry


@transaction.atomic
def pin(space: Space, actor: Actor, entry_id: int, pinned: bool = True) -> WorkingEntry:
    """Keeps an entry until it is unpinned; then it has a whole time to live again if its own is over."""
    entry = _lock_present(space, actor, entry_id)
    if (
        pinned
        and WorkingEntry.objects.within(space).filter(is_pinned=True, removed_at=None).count() >= MAX_ENTRIES // 2
    ):
        raise Conflict(
            f"{MAX_ENTRIES // 2} entries are pinned already; unpin one first, or promote what should be kept permanently."
        )
    entry.is_pinned = pinned
    if not pinned and entry.expires_at <= timezone.now():
        entry.expires_at = timezone.now() + _lifetime(space)
    entry.save(update_fields=["is_pinned", "expires_at"])
    _record_activity(space, actor, "working.pin", "pinned" if pinned else "unpinned", entry, details={"by": actor.name})
    return entry


@transaction.atomic
def extend(space: Space, actor: Actor, entry_id: int) -> WorkingEntry:
    """Gives an entry its whole time again from now."""
    entry = _lock_present(space, actor, entry_id)
    entry.expires_at = timezone.now() + _lifetime(space)
    entry.save(update_fields=["expires_at"])
    _record_activity(space, actor, "working.extend", "extended", entry)
    return entry


@transaction.atomic
def remove(space: Space, actor: Actor, entry_id: int) -> WorkingEntry:
    """Takes an entry out of working memory at once; it can be put back until its time is over."""
    entry = _lock(space, actor, entry_id)
    entry.removed_at = timezone.now()
    entry.save(update_fields=["removed_at"])
    _record_activity(space, actor, "working.remove", "deleted from working memory", entry)
    return entry


@transaction.atomic
def put_back(space: Space, actor: Actor, entry_id: int) -> WorkingEntry:
    """Undoes a deletion."""
    entry = _lock(space, actor, entry_id)
    if entry.removed_at is None:
        return entry
    entry.removed_at = None
    entry.save(update_fields=["removed_at"])
    _record_activity(space, actor, "working.put_back", "put back into working memory", entry)
    return entry


def _lifetime(space: Space) -> timedelta:
    return timedelta(hours=space.settings["working_hours"])


@spaces.on_event("working_limit_lowered")
def trim_to_limit(space: Space) -> None:
    """Lets go what a lower limit has no place for (in the caller's transaction)."""
    statements.rows(TRIM_ALL, [space.pk, space.settings["working_limit"]])


@jobs.periodic("working.sweep", every=timedelta(minutes=10))
def sweep() -> int:
    """Deletes rows whose time is over; reads have not shown them since."""
    over = Q(expires_at__lte=timezone.now() - timedelta(hours=1), is_pinned=False)
    return WorkingEntry.objects.filter(over).delete()[0]


def _record_activity(
    space: Space, actor: Actor, verb: str, says: str, entry: WorkingEntry, *, url: str = "",
    details: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    spaces.mark_setup(space)  # what agents add is seen by its id; what people change is seen by this alone
    thing = activity.shorten(" ".join(entry.content.split()), 80)
    activity.record(
        space, actor, verb, says, thing, url=url or f"working/#w{entry.pk}", details={"id": entry.pk, **(details or {})}
    )
