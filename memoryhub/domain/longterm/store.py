"""New entries of long-term memory, and what they take the place of."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext, suppress
from datetime import date
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.detectors import secrets
from memoryhub.domain import activity, retrieval, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.longterm import chunks
from memoryhub.domain.longterm.changes import edit, retire_all
from memoryhub.domain.longterm.entries import (
    AGENT,
    CHANGED_TOO_OFTEN,
    GROUP,
    TRIES,
    activity_line,
    get,
    lock_space,
)
from memoryhub.domain.longterm.indexing import index_changes, reload_settings, state_of_cut
from memoryhub.errors import Conflict, Invalid
from memoryhub.models import Actor, Agent, LongtermEntry, Space
from memoryhub.text import input_checks

# The lock of all that changes what finds, and the number of a new entry; where the embedder is still the one that was asked.
NUMBER = f"""
UPDATE memoryhub_space SET last_entry = last_entry + 1, {spaces.LONGTERM_MARKS},
    settings = settings || %s
WHERE id = %s AND coalesce(settings ->> 'embedder', '') = %s RETURNING last_entry
"""  # noqa: S608 (a word of ours is put in)
INSERT = """
INSERT INTO memoryhub_longtermentry (number, {columns}) SELECT held.last_entry, {values} FROM held
RETURNING id, content, state, reason, created_at, actor_kind, actor_id, actor_name
"""
FIRST_REVISION = """
INSERT INTO memoryhub_entryrevision (space_id, entry_id, number, content, state, reason, created_at, actor_kind, actor_id, actor_name)
SELECT %s, id, 1, content, state, left(reason, 500), created_at, actor_kind, actor_id, actor_name FROM entry
"""
ITS_LINE = (
    "jsonb_build_object('url', 'longterm/' || held.last_entry || '/', 'aside', 'L-' || held.last_entry, "
    "'details', %s || jsonb_build_object('number', held.last_entry))"
)
STORED = "SELECT held.last_entry, entry.id FROM held, entry"
COLUMNS = [field.attname for field in LongtermEntry._meta.concrete_fields]


def store(
    space: Space,
    actor: Actor,
    content: str,
    *,
    scope: str = GROUP,
    agent: Agent | None = None,
    record_id: int | None = None,
    session_id: str = "",
    proposal: int | None = None,
    reason: str = "",
    review_by: date | None = None,
    replaces: Iterable[int] = (),
    merges: Iterable[int] = (),
    metadata: dict[str, Any] | None = None,
) -> LongtermEntry:
    """Keeps a text for good: cut, listed by its words, embedded; entries that it replaces or takes in are retired."""
    require(actor, "promote")
    content, reason = spaces.check_secrets(space, content), secrets.redact(reason)[0]
    agent = _checked_scope(space, scope, agent)
    its = {
        "scope": scope, "agent_id": agent.pk if agent else None, "record_id": record_id, "session_id": session_id,
        "proposal": proposal, "reason": reason[:2000], "review_by": review_by, "metadata": metadata or {},
    }  # fmt: skip
    merges = list(dict.fromkeys(merges))
    gone = list(dict.fromkeys([*merges, *replaces]))
    for _ in range(TRIES):
        text = input_checks.check_content(_merged_text(content, space, merges))
        cut = chunks.cut_chunks(space, text)  # the embedder may be far away: nobody waits for it behind a lock
        with suppress(statements.NotHeld), transaction.atomic() if gone else nullcontext():
            if gone:
                lock_space(space)
            if merges and text != _merged_text(content, space, merges):
                continue
            taken = [get(space, number) for number in gone]
            entry = _insert(space, actor, text, cut, its)
            retire_all(space, actor, entry, taken)
            return entry
        reload_settings(space)
    raise Conflict(CHANGED_TOO_OFTEN)


def _merged_text(content: str, space: Space, merges: list[int]) -> str:
    """A text with those of the entries that it takes in below it."""
    return "\n\n".join([content, *(get(space, number).content for number in merges)])


def _insert(space: Space, actor: Actor, text: str, cut: chunks.Cut, its: dict[str, Any]) -> LongtermEntry:
    """A new entry with all that finds it, in one statement; not where another embedder serves than the one that was asked."""
    now, by = timezone.now(), actor.as_fields()
    row = {
        "space_id": space.pk, "content": text, "revision": 1, "state": state_of_cut(cut), "checked_by": "", **its, **by,
        "created_at": now, "modified_at": now,
    }  # fmt: skip
    entry = LongtermEntry.from_db(DEFAULT_DB_ALIAS, COLUMNS, [row.get(name) for name in COLUMNS])
    entry.space = space
    came_from = {"proposal": its["proposal"], "record": its["record_id"]}
    sql = INSERT.format(columns=", ".join(row), values=", ".join(["%s"] * len(row)))
    values = [statements.as_json(value) if isinstance(value, dict) else value for value in row.values()]
    entry.number, entry.pk = statements.together(
        statements.Change(sql, values, "entry", follows=True),
        statements.Change(FIRST_REVISION, [space.pk], follows=True),
        *index_changes(space, entry, cut),
        activity.lines_as_change(
            activity_line(space, actor, "longterm.store", "promoted", entry),
            of="held",
            over=ITS_LINE,
            params=[statements.Json(came_from)],
        ),
        held=_next_number(space),
        answer=STORED,
    )
    return entry


def _next_number(space: Space) -> statements.Change:
    """Locks and raises a space for a new entry, which with the first one writes down the embedder that it began with: a new
    setting switches nothing."""
    chosen = space.settings.get("embedder") or ""
    writes = {} if chosen else {"embedder": retrieval.embedder_choice(space)}
    space.settings |= writes
    return statements.Change(NUMBER, [statements.Json(writes), space.pk, chosen])


@transaction.atomic
def absorb(
    space: Space, actor: Actor, number: int, *, replaces: Iterable[int] = (), merges: Iterable[int] = ()
) -> LongtermEntry:
    """Lets an entry take the place of others: their texts come below its own where they are merged; all of them are retired."""
    require(actor, "promote")
    lock_space(space)
    taken_in = [get(space, one) for one in dict.fromkeys(merges)]
    entry = get(space, number)
    if taken_in:
        text = "\n\n".join([entry.content, *(one.content for one in taken_in)])
        entry = edit(
            space, actor, number, text, reason="merged with " + ", ".join(f"L-{one.number}" for one in taken_in)
        )
    retire_all(space, actor, entry, [*taken_in, *(get(space, one) for one in dict.fromkeys(replaces))])
    return entry


def _checked_scope(space: Space, scope: str, agent: Agent | None) -> Agent | None:
    if scope not in (GROUP, AGENT):
        raise Invalid("The scope is group or agent.", code="unknown_scope", field="scope")
    if scope == AGENT and (agent is None or agent.space_id != space.pk):
        raise Invalid("Choose whose memory this is: an agent of this space.", code="invalid", field="agent")
    return agent
