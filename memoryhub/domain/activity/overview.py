"""The state of a space at one look: what flowed today, what waits, what leaves soon."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.detectors import titles
from memoryhub.models import Proposal, Space, WorkingEntry

FIGURES = """
WITH newest AS MATERIALIZED (
  SELECT s.state FROM "quarantine"."state" s, (
    SELECT id FROM "quarantine"."record" WHERE space_id = %(space)s AND created_at >= %(today)s ORDER BY created_at LIMIT 1
  ) first WHERE s.space_id = %(space)s AND s.is_newest AND s.record_id >= first.id
  ORDER BY s.record_id DESC LIMIT %(most)s
)
SELECT
  (SELECT count(*) FROM memoryhub_revision WHERE space_id = %(space)s AND created_at >= %(today)s),
  (SELECT count(*) FROM memoryhub_revision WHERE space_id = %(space)s AND created_at >= %(today)s AND proposal IS NOT NULL),
  (SELECT count(*) FROM memoryhub_source s WHERE s.space_id = %(space)s AND s.is_on AND NOT EXISTS (
     SELECT 1 FROM memoryhub_file f WHERE f.space_id = %(space)s AND f.path = s.path AND NOT f.is_deleted AND f.thread_id = '')),
  (SELECT count(*) FROM memoryhub_file WHERE space_id = %(space)s AND (written_revision < revision OR problem <> '')),
  (SELECT count(*) FROM newest),
  (SELECT count(*) FROM newest WHERE state = 'held'),
  (SELECT count(*) FROM newest WHERE state = 'admitted'),
  (SELECT count(*) FROM "quarantine"."state" WHERE space_id = %(space)s AND is_newest AND state = 'held'),
  (SELECT count(*) FROM memoryhub_workingentry WHERE space_id = %(space)s AND NOT is_pinned
     AND expires_at > %(now)s AND expires_at < %(soon)s),
  (SELECT count(*) FROM memoryhub_longtermentry WHERE space_id = %(space)s AND created_at >= %(today)s),
  (SELECT count(*) FROM memoryhub_longtermentry WHERE space_id = %(space)s AND state = 'active' AND review_by <= %(day)s),
  (SELECT count(*) FROM memoryhub_proposal WHERE space_id = %(space)s AND state IN ('pending', 'outdated') AND kind <> 'promotion'),
  (SELECT count(*) FROM memoryhub_proposal WHERE space_id = %(space)s AND state IN ('pending', 'outdated') AND kind = 'promotion'),
  (SELECT count(DISTINCT (agent_id, thread_id)) FROM memoryhub_delivery WHERE space_id = %(space)s AND last_at >= %(today)s),
  (SELECT count(*) FROM memoryhub_delivery WHERE space_id = %(space)s AND first_at >= %(today)s)
"""


HELD_REASONS = """
SELECT reason, count(*) FROM (
    SELECT reason FROM "quarantine"."state" WHERE space_id = %s AND is_newest AND state = 'held' ORDER BY record_id DESC LIMIT %s
) held GROUP BY reason ORDER BY count(*) DESC, reason
"""
MAX_COUNTED = 10_000  # records of a day that the drawing counts; more are more


@dataclass(frozen=True)
class Figures:
    """Today's figures, in the order of the statement."""

    revisions: int
    approved: int
    missing: int
    unwritten: int
    logged: int
    held_today: int
    admitted: int
    held: int
    leaving: int
    promoted: int
    due: int
    proposals: int
    promotions: int
    threads: int  # that asked for a prompt
    new_texts: int  # that some thread got for the first time

    @property
    def is_cut(self) -> bool:
        """Whether more was logged today than is counted."""
        return self.logged >= MAX_COUNTED


def midnight() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def figures(space: Space) -> Figures:
    """Everything the drawing says, in one statement."""
    now = timezone.now()
    values = {
        "space": space.pk,
        "today": midnight(),
        "now": now,
        "soon": now + timedelta(hours=1),
        "day": timezone.localdate(),
        "most": MAX_COUNTED,
    }
    with connection.cursor() as cursor:
        cursor.execute(FIGURES, values)
        return Figures(*(int(figure) for figure in cursor.fetchone()))


def pipe_width(flowed: int) -> float:
    """How wide a pipe is drawn for what went through: never nothing, growing ever more slowly, at most 20."""
    return round(min(20.0, 2 + 3 * math.log2(1 + flowed) / 1.5), 1)


@dataclass
class WaitingItem:
    """One thing that waits for somebody who may act on it."""

    glyph: str
    title: str
    url: str
    detail: str = ""
    layer: str = ""
    tag: str = ""
    loud: bool = False
    since: datetime | None = None
    mono: str = ""


@dataclass
class Waits:
    items: list[WaitingItem] = field(default_factory=list)

    def add(self, *args: object, **kwargs: object) -> None:
        self.items.append(WaitingItem(*args, **kwargs))  # type: ignore[arg-type]


KIND_VERBS = {
    "edit": "edits",
    "write": "writes",
    "insert": "adds to",
    "delete": "deletes",
    "move": "moves",
    "promotion": "promotes",
}


def waiting_items(space: Space, now: Figures) -> list[WaitingItem]:
    """What waits, the riskiest first: proposals, held records, entries due, files that need a hand."""
    out = Waits()
    pending = Proposal.objects.within(space).filter(state__in=("pending", "outdated")).defer("content", "change")
    for proposal in pending.order_by("-risk", "created_at")[:3]:
        out.items.append(waiting_proposal(proposal))
    if more := now.proposals + now.promotions - len(out.items):
        title = f"{more:,} more proposal{'s' if more != 1 else ''}"
        out.add("proposal", title, "proposals/", "by age and risk in the inbox")
    if now.held:
        title = f"{now.held:,} record{'s' if now.held != 1 else ''} held in quarantine"
        out.add("quarantine", title, "quarantine/?state=held", held_reasons(space), "quarantine")
    if now.due:
        said = ("entry is", "entries are")[now.due != 1]
        out.add(
            "longterm",
            f"{now.due:,} long-term {said} due for a check",
            "longterm/?due=1",
            "is it still true?",
            "longterm",
        )
    if now.unwritten:
        said = ("file needs", "files need")[now.unwritten != 1]
        out.add(
            "disk",
            f"{now.unwritten:,} {said} a hand",
            "files/?state=unwritten",
            "not on disk as the hub has it",
            "source",
        )
    if now.missing:
        said = ("source is", "sources are")[now.missing != 1]
        out.add("source", f"{now.missing:,} {said} missing", "sources/", "skipped, harmless", "source")
    return out.items


def held_reasons(space: Space) -> str:
    """Why records are held, the commonest reason first: 28 incoherent, 9 injection."""
    with connection.cursor() as cursor:
        cursor.execute(HELD_REASONS, [space.pk, MAX_COUNTED])
        counted = [(reason.partition(":")[0], count) for reason, count in cursor.fetchall()]
    told = [f"{count:,} {titles.TITLES.get(reason, reason or 'to look at')}" for reason, count in counted]
    return ", ".join(told[:4])


def waiting_proposal(proposal: Proposal) -> WaitingItem:
    high = [f for f in proposal.findings if f.get("severity") == "high"]
    name = proposal.path.rsplit("/", 1)[-1] or "an answer"
    return WaitingItem(
        glyph="warn" if proposal.risk > 1 else "proposal",
        title=f"{proposal.agent_name} {KIND_VERBS.get(proposal.kind, 'changes')} {name}",
        url=f"proposals/{proposal.number}/",
        detail=proposal.reason[:90],
        mono=f"#{proposal.number}",
        tag=high[0].get("code", "") if high else ("outdated" if proposal.state == "outdated" else ""),
        loud=proposal.risk > 1,
        since=proposal.created_at,
    )


def expiring_entries(space: Space, limit: int = 4) -> QuerySet[WorkingEntry]:
    """Working entries that go within the hour, soonest first."""
    now = timezone.now()
    mine = WorkingEntry.objects.within(space).filter(
        is_pinned=False, expires_at__gt=now, expires_at__lt=now + timedelta(hours=1)
    )
    return mine.order_by("expires_at")[:limit]


def page_version(space: Space, *parts: object) -> str:
    """A mark of what the page shows now: a renewal that would show the same is answered with nothing."""
    return hashlib.sha256(json.dumps([space.revision, *parts], default=str).encode()).hexdigest()[:16]
