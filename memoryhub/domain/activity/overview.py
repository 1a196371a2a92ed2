"""What the overview page shows of a space: the figures of today, what waits for people, what expires soon."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from memoryhub import detectors
from memoryhub.db import statements
from memoryhub.db.prepared import prepared
from memoryhub.domain.activity.log import shorten, start_of_day
from memoryhub.languages import translated
from memoryhub.models import Proposal, Space, WorkingEntry

FIGURES = """
WITH newest AS MATERIALIZED (
  SELECT s.state FROM "quarantine"."state" s, (
    SELECT id FROM "quarantine"."record" WHERE space_id = %(space)s AND created_at >= %(today)s ORDER BY created_at LIMIT 1
  ) first WHERE s.space_id = %(space)s AND s.is_newest AND s.record_id >= first.id
  ORDER BY s.record_id DESC LIMIT %(max)s
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
  (SELECT count(*) FROM (
     SELECT created_at FROM memoryhub_longtermentry WHERE space_id = %(space)s ORDER BY number DESC LIMIT %(max)s
   ) e WHERE created_at >= %(today)s),
  (SELECT count(*) FROM memoryhub_longtermentry WHERE space_id = %(space)s AND state = 'active' AND review_by <= %(day)s),
  (SELECT count(*) FROM memoryhub_proposal WHERE space_id = %(space)s AND state IN ('pending', 'outdated') AND kind <> 'promotion'),
  (SELECT count(*) FROM memoryhub_proposal WHERE space_id = %(space)s AND state IN ('pending', 'outdated') AND kind = 'promotion'),
  (SELECT count(DISTINCT (agent_id, thread_id)) FROM memoryhub_delivery WHERE space_id = %(space)s AND last_at >= %(today)s),
  (SELECT count(*) FROM memoryhub_delivery WHERE space_id = %(space)s AND first_at >= %(today)s),
  (SELECT count(*) FROM memoryhub_mount WHERE space_id = %(space)s AND problem <> '')
"""
SILENT_WEBHOOKS = """
SELECT count(*) FROM memoryhub_webhook w WHERE space_id = %s AND is_on AND (
  SELECT delivered_at IS NULL AND tries > 0 FROM memoryhub_webhooknotice n
   WHERE n.space_id = w.space_id AND n.webhook_id = w.id ORDER BY n.id DESC LIMIT 1)
"""  # who did not take their newest notice


HELD_REASONS = """
SELECT reason, count(*) FROM (
    SELECT reason FROM "quarantine"."state" WHERE space_id = %s AND is_newest AND state = 'held' ORDER BY record_id DESC LIMIT %s
) held GROUP BY reason ORDER BY count(*) DESC, reason
"""
# One of what waits, by the figure that counts it.
OLDEST_DUE = """
SELECT left(content, 200) FROM memoryhub_longtermentry WHERE space_id = %s AND state = 'active' AND review_by <= %s
 ORDER BY review_by, number LIMIT 1
"""
FIRST_MISSING = """
SELECT s.path FROM memoryhub_source s WHERE s.space_id = %s AND s.is_on AND NOT EXISTS (
   SELECT 1 FROM memoryhub_file f WHERE f.space_id = s.space_id AND f.path = s.path AND NOT f.is_deleted AND f.thread_id = '')
 ORDER BY s.path LIMIT 1
"""
MAX_COUNTED = 10_000  # records of a day, and the newest entries; beyond this they are not counted exactly


@dataclass(frozen=True)
class Figures:
    """The figures of today, in the order of the columns of FIGURES."""

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
    threads: int  # threads that asked for a prompt
    new_texts: int  # prompts that a thread got for the first time
    away: int  # mounted directories that cannot be read

    @property
    def is_cut(self) -> bool:
        """Whether more was logged today than is counted."""
        return self.logged >= MAX_COUNTED


def midnight() -> datetime:
    """When today began in the time zone of the person who asks."""
    return start_of_day(timezone.localdate())


def figures(space: Space) -> Figures:
    """All figures of today, in one statement."""
    now = timezone.now()
    values = {
        "space": space.pk,
        "today": midnight(),
        "now": now,
        "soon": now + timedelta(hours=1),
        "day": timezone.localdate(),
        "max": MAX_COUNTED,
    }
    return Figures(*(int(figure) for figure in statements.row(FIGURES, values)))


def pipe_width(count: int) -> float:
    """How wide the drawing shows a pipe through which so many went: from 2 to 20, growing with the logarithm."""
    return round(min(20.0, 2 + 3 * math.log2(1 + count) / 1.5), 1)


@dataclass
class WaitingItem:
    """One line of what waits for somebody who may act on it."""

    glyph: str
    title: str
    url: str
    detail: str = ""
    layer: str = ""
    tag: str = ""
    loud: bool = False
    since: datetime | None = None
    mono: str = ""


KIND_SENTENCES = {
    "edit": gettext_lazy("%(agent)s edits %(thing)s"), "write": gettext_lazy("%(agent)s writes %(thing)s"),
    "insert": gettext_lazy("%(agent)s adds to %(thing)s"), "delete": gettext_lazy("%(agent)s deletes %(thing)s"),
    "move": gettext_lazy("%(agent)s moves %(thing)s"), "promotion": gettext_lazy("%(agent)s promotes %(thing)s"),
    "template": gettext_lazy("%(agent)s wants to use %(thing)s"),
}  # fmt: skip
CHANGES = gettext_lazy("%(agent)s changes %(thing)s")


def sentence_of(kind: str, agent: str, thing: str) -> str:
    """What an agent asks for by a proposal of this kind: Scout edits AGENTS.md."""
    return KIND_SENTENCES.get(kind, CHANGES) % {"agent": agent, "thing": thing}


RISKIEST = prepared(
    lambda space: (
        Proposal.objects.within(space)
        .filter(state__in=("pending", "outdated"))
        .select_related("agent")
        .defer("content")
        .order_by("-risk", "created_at")[:3]
    )
)


# What waits beside proposals, by the figure that counts it: glyph, sentence, page, what it means, layer.
WAITS = {
    "held": (
        "quarantine",
        ngettext_lazy("%(count)s record held in quarantine", "%(count)s records held in quarantine", "n"),
        "quarantine/?state=held", "", "quarantine",
    ),
    "due": (
        "longterm",
        ngettext_lazy("%(count)s long-term entry is due for review", "%(count)s long-term entries are due for review", "n"),
        "longterm/?due=1", gettext_lazy("oldest: “%(text)s”"), "longterm",
    ),
    "unwritten": (
        "disk", ngettext_lazy("%(count)s file is not written to disk", "%(count)s files are not written to disk", "n"),
        "files/?show=unwritten", gettext_lazy("the disk has another text than the hub"), "source",
    ),
    "away": (
        "disk",
        ngettext_lazy("%(count)s mounted directory cannot be read", "%(count)s mounted directories cannot be read", "n"),
        "files/", gettext_lazy("agents get the texts that the hub has"), "source",
    ),
    "silent": (
        "warn", ngettext_lazy("%(count)s webhook does not answer", "%(count)s webhooks do not answer", "n"),
        "settings/webhooks/", gettext_lazy("notices are tried again for some hours"), "",
    ),
    "missing": (
        "source", ngettext_lazy("%(count)s source is missing", "%(count)s sources are missing", "n"),
        "sources/", gettext_lazy("%(text)s is left out of prompts"), "source",
    ),
}  # fmt: skip


def waiting_items(space: Space, now: Figures, *, manages: bool) -> list[WaitingItem]:
    """What waits in a space, the riskiest first: proposals, held records, entries to check, what does not work. Webhooks are named
    to those alone who `manages` says may open their page."""
    items = [waiting_proposal(proposal) for proposal in RISKIEST(space.pk)]
    if more := now.proposals + now.promotions - len(items):
        title = ngettext("%(count)s more proposal", "%(count)s more proposals", more) % {"count": f"{more:,}"}
        items.append(WaitingItem("proposal", title, "proposals/", _("sorted by age and risk")))
    counts = vars(now) | {"silent": statements.row(SILENT_WEBHOOKS, [space.pk])[0] if manages else 0}
    for figure, (glyph, sentence, url, meaning, layer) in WAITS.items():
        if count := counts[figure]:
            title = sentence % {"n": count, "count": f"{count:,}"}
            items.append(WaitingItem(glyph, title, url, detail_of(space, figure, str(meaning)), layer))
    return items


def detail_of(space: Space, figure: str, meaning: str) -> str:
    """What stands below the count: the reasons of held records, `meaning` with one of what is counted, or `meaning`."""
    if figure == "held":
        return held_reasons(space)
    if figure not in ("due", "missing"):
        return meaning
    found = (
        statements.rows(OLDEST_DUE, [space.pk, timezone.localdate()])
        if figure == "due"
        else statements.rows(FIRST_MISSING, [space.pk])
    )
    return meaning % {"text": shorten(" ".join(str(found[0][0]).split()), 60)} if found else ""


def held_reasons(space: Space) -> str:
    """Why records are held, as text, the commonest reason first: 28 incoherent, 9 injection."""
    found = statements.rows(HELD_REASONS, [space.pk, MAX_COUNTED])
    counted = [(reason.partition(":")[0], count) for reason, count in found]
    named = [
        f"{count:,} {translated(detectors.IN_LISTS.get(reason, reason or 'to look at'))}" for reason, count in counted
    ]
    return _(", ").join(named[:4])


def waiting_proposal(proposal: Proposal) -> WaitingItem:
    high = [f for f in proposal.findings if f.get("severity") == "high"]
    name = _("an answer") if proposal.kind == Proposal.Kind.PROMOTION else translated(proposal.thing).rsplit("/", 1)[-1]
    agent = proposal.agent.name if proposal.agent else proposal.agent_name
    return WaitingItem(
        glyph="warn" if proposal.risk > 1 else "proposal",
        title=sentence_of(proposal.kind, agent, name),
        url=f"proposals/{proposal.number}/",
        detail=proposal.reason[:90],
        mono=f"#{proposal.number}",
        tag=high[0].get("code", "") if high else ("outdated" if proposal.state == "outdated" else ""),
        loud=proposal.risk > 1,
        since=proposal.created_at,
    )


def expiring_entries(space: Space) -> QuerySet[WorkingEntry]:
    """Four working entries that expire within the hour, soonest first."""
    now = timezone.now()
    expiring = WorkingEntry.objects.within(space).filter(
        is_pinned=False, expires_at__gt=now, expires_at__lt=now + timedelta(hours=1)
    )
    return expiring.order_by("expires_at")[:4]


def page_version(space: Space, *parts: object) -> str:
    """A hash of everything the page shows: while it stays, a renewal of the page is answered without content."""
    return hashlib.sha256(json.dumps([space.revision, *parts], default=str).encode()).hexdigest()[:16]
