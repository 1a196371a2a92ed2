"""The digest: once a day a mail to those who may decide, when something waits or is about to expire."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.core.mail import EmailMessage
from django.utils import timezone

from memoryhub.domain import jobs, spaces
from memoryhub.domain.access import may
from memoryhub.domain.proposals import title_of
from memoryhub.models import Job, Proposal, Space

MOST_TOLD = 20
KIND = "digests.send"
log = logging.getLogger("memoryhub.digests")


@jobs.periodic("digests.plan", every=timedelta(hours=1))
def plan() -> dict[str, int]:
    """Asks for a digest of each space that wants one, once a day, at the hour it chose."""
    hour = timezone.localtime().hour
    asked = 0
    for space in Space.objects.exclude(settings__digest=None):
        wanted = spaces.get_setting(space, "digest")
        if wanted.isdecimal() and int(wanted) == hour and not _sent_today(space):
            jobs.enqueue(KIND, space=space)
            asked += 1
    return {"asked": asked}


def _sent_today(space: Space) -> bool:
    return Job.objects.within(space).filter(kind=KIND, created_at__gte=timezone.now() - timedelta(hours=20)).exists()


@jobs.job(KIND, sends=True)
def send(job: Job, progress: jobs.Progress) -> dict[str, int]:
    """Sends the digest of one space to each of its reviewers and owners that has an address."""
    space = Space.objects.get(pk=job.space_id)
    waiting = list(_waiting(space))
    if not waiting:
        return {"sent": 0}
    addresses = [
        one.person.email
        for one in spaces.members(space)
        if one.person.email and one.person.is_active and may(one.role, "decide")
    ]
    for address in addresses:
        EmailMessage(subject_of(space, waiting), text_of(space, waiting), to=[address]).send()
    return {"sent": len(addresses)}


def _waiting(space: Space) -> list[Proposal]:
    found = Proposal.objects.within(space).filter(state__in=[Proposal.State.PENDING, Proposal.State.OUTDATED])
    return list(found.select_related("space").order_by("-risk", "created_at"))


def subject_of(space: Space, waiting: list[Proposal]) -> str:
    many = f"{len(waiting)} proposals wait" if len(waiting) != 1 else "1 proposal waits"
    return f"{space.name}: {many} for a decision"


def text_of(space: Space, waiting: list[Proposal]) -> str:
    """Plain text: what waits, the riskiest first, and what ends soon."""
    soon = timezone.now() + timedelta(days=spaces.get_setting(space, "warn_days"))
    lines = [subject_of(space, waiting) + ".", ""]
    for one in waiting[:MOST_TOLD]:
        ends = "  (expires soon, unapplied)" if one.expires_at and one.expires_at <= soon else ""
        lines.append(f"{one.number:>5}  {one.agent_name}: {title_of(one)}{ends}")
        lines.append(f"       {one.path or 'long-term memory'}")
    if len(waiting) > MOST_TOLD:
        lines.append(f"       and {len(waiting) - MOST_TOLD} more")
    lines += ["", f"Decide on them at /s/{space.slug}/proposals/ of your hub. Silence never approves."]
    return "\n".join(lines)
