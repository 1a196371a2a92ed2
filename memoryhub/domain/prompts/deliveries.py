"""Deliveries: which agent, on which thread, got which prompt, and when. Each distinct text is stored once."""

from __future__ import annotations

import json
import time
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from django.db.models import QuerySet
from django.utils import timezone

from memoryhub import dialects
from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.db.prepared import prepared
from memoryhub.detectors import secrets
from memoryhub.domain import jobs
from memoryhub.domain.prompts import agents_behind
from memoryhub.domain.prompts.agents_behind import BehindThread, ThreadStatus
from memoryhub.domain.prompts.assemble import Prompt, parts_json
from memoryhub.domain.prompts.requests import PromptRequest, as_stored, mask
from memoryhub.models import Agent, Delivery, PromptText, Space
from memoryhub.models.prompts import pack

MAX_THREAD_ID = 200
REPEAT_AFTER = 60.0  # seconds between two notes of the same bytes for the same agent and thread

# The commit does not wait for the disk, so that an agent does not: a crash can lose half a second of deliveries.
RECORD_DELIVERY = """
WITH quick AS (SELECT set_config('synchronous_commit', 'off', true)),
kept AS (
  INSERT INTO memoryhub_prompttext (space_id, sha256, text, tokens, parts, created_at)
  VALUES (%(space)s, %(sha256)s, %(text)s, %(tokens)s, %(parts)s::jsonb, clock_timestamp())
  ON CONFLICT DO NOTHING
)
INSERT INTO memoryhub_delivery AS d
       (space_id, agent_id, thread_id, sha256, dialect, revisions, asked, first_at, last_at, count)
SELECT %(space)s, %(agent)s, %(thread)s::text, %(sha256)s::text, %(dialect)s::text, %(revisions)s::jsonb, %(asked)s::jsonb,
       clock_timestamp(), clock_timestamp(), 1 FROM quick
ON CONFLICT (space_id, agent_id, thread_id, sha256) DO UPDATE
   SET last_at = excluded.last_at, count = d.count + 1, revisions = excluded.revisions, dialect = excluded.dialect,
       asked = excluded.asked
 WHERE excluded.last_at - d.last_at > interval '1 minute' OR d.revisions <> excluded.revisions OR d.asked <> excluded.asked
"""
COUNT_DELIVERY = """
UPDATE memoryhub_delivery SET last_at = statement_timestamp(), count = count + 1
  FROM (SELECT set_config('synchronous_commit', 'off', true)) quick
 WHERE space_id = %(space)s AND agent_id = %(agent)s AND thread_id = %(thread)s AND sha256 = %(sha256)s
   AND last_at < statement_timestamp() - interval '1 minute'
"""
# What the call named, where that is another than before; its delivery becomes the newest, so that pages show this call.
NOTE_DIALECT = """
WITH quick AS (SELECT set_config('synchronous_commit', 'off', true)),
named AS (
  UPDATE memoryhub_agent SET asked_dialect = %(dialect)s::text FROM quick WHERE id = %(agent)s AND space_id = %(space)s
)
UPDATE memoryhub_delivery SET last_at = statement_timestamp()
 WHERE space_id = %(space)s AND agent_id = %(agent)s AND thread_id = %(thread)s AND sha256 = %(sha256)s
"""


recent_deliveries: Cache[float] = Cache(
    "recorded deliveries", key="agent, thread, SHA-256, dialect, start of the server, the space's setup_mark",
    max_items=20_000, invalidated_by="a minute's end",
    saves="a statement for each repeat within the minute",
)  # fmt: skip


@lru_cache(maxsize=4096)
def redacted_thread(thread: str) -> str:
    """A thread id as deliveries store it, with secrets redacted."""
    return secrets.redact(thread)[0][:MAX_THREAD_ID] if thread else ""


def record_delivery(
    space_id: int, agent_id: int, thread: str, prompt: Prompt, asked: PromptRequest | None = None, mark: Hashable = None
) -> None:
    """Records that this agent and thread get these bytes: new bytes at once, repeats at most once a minute.

    `asked` is the call, by default one that names the prompt's dialect and nothing else. What was recorded under another
    `mark` is recorded anew: the database may have gone back since.
    """
    asked = asked or PromptRequest(prompt.dialect)
    thread = redacted_thread(thread)
    key = (space_id, agent_id, thread, prompt.sha256, prompt.ledger, asked.dialect, mark)
    recorded = recent_deliveries.get(key)
    if recorded is not None and time.monotonic() - recorded < REPEAT_AFTER:
        return
    values = {"space": space_id, "agent": agent_id, "thread": thread, "sha256": prompt.sha256}
    if recorded is None:
        values |= {
            "text": pack(mask(prompt.data, asked)),
            "tokens": prompt.tokens,
            "dialect": prompt.dialect,
            "revisions": prompt.ledger,
        }
        values["parts"] = json.dumps(parts_json(prompt))
        values["asked"] = json.dumps(as_stored(asked, prompt))
    statements.rows(RECORD_DELIVERY if recorded is None else COUNT_DELIVERY, values)
    recent_deliveries.put(key, time.monotonic())


def note_dialect(space_id: int, agent: Agent, prompt: Prompt, asked: PromptRequest) -> None:
    """Records the dialect that a call named ("" for none), where the call before named another."""
    named = "" if asked.dialect == dialects.AUTO else asked.dialect
    if asked.at or named == agent.asked_dialect:
        return
    values = {"space": space_id, "agent": agent.pk, "thread": redacted_thread(asked.thread), "sha256": prompt.sha256}
    statements.rows(NOTE_DIALECT, values | {"dialect": named})


def deliveries_of(agent: Agent) -> QuerySet[Delivery]:
    """What this agent got, the newest first."""
    return Delivery.objects.within(agent.space_id).filter(agent_id=agent.pk).order_by("-last_at", "-pk")


def delivered_text(space: Space, sha256: str) -> PromptText | None:
    """The bytes that were delivered, without secrets that the request itself brought."""
    return PromptText.objects.within(space).filter(sha256=sha256).first()


DELIVERED = prepared(
    lambda space, agent, sha256: (
        Delivery.objects.within(space).filter(agent_id=agent, sha256=sha256).order_by("-last_at", "-pk")[:1]
    )
)


def delivered_at(agent: Agent, sha256: str) -> Delivery | None:
    """The last time this agent got exactly these bytes, on whatever thread."""
    found: Delivery | None = DELIVERED.first(agent.space_id, agent.pk, sha256)
    return found


@dataclass(frozen=True, slots=True)
class AgentThread:
    """The last prompt of one thread, and whether it would get the same now."""

    thread_id: str
    delivery: Delivery
    standing: ThreadStatus
    behind: BehindThread | None


def threads_of(space: Space, agent: Agent) -> list[AgentThread]:
    """Up to 50 threads of the last days, latest first, each with what it got last."""
    found = agents_behind.thread_statuses(space, [agent])[:50]
    return [
        AgentThread(
            one.delivery.thread_id,
            one.delivery,
            one,
            agents_behind.as_behind(one, agent, one.delivery.thread_id, one.delivery.last_at)
            if one.is_behind
            else None,
        )
        for one in found
    ]


def expire_deliveries(space: Space) -> int:
    """Deletes deliveries older than the space's limit, and texts that no delivery names any more."""
    before = timezone.now() - timedelta(days=space.settings["delivery_days"])
    gone, _ = Delivery.objects.within(space).filter(last_at__lt=before).delete()
    if gone:
        left = Delivery.objects.within(space).values("sha256")
        PromptText.objects.within(space).filter(created_at__lt=before).exclude(sha256__in=left).delete()
    return gone


@jobs.periodic("deliveries.expire", every=timedelta(hours=6))
def expire_everywhere() -> None:
    """Every space by its own limit."""
    for space in Space.objects.order_by("pk").iterator():
        expire_deliveries(space)
