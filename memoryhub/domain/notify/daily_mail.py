"""The digest: once a day a mail to those who may decide, when something waits or is about to expire."""

from __future__ import annotations

import logging
import smtplib
from datetime import datetime, timedelta

from django.core.mail import EmailMessage
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import jobs, spaces
from memoryhub.domain.accounts import may
from memoryhub.domain.notify import http
from memoryhub.models import Job, Proposal, Space

MAX_LISTED = 20
DAILY_MAIL_JOB = "digests.send"
# A whole value, so it may be sent again: the connection may have gone away while the mail server was asked.
NOTE_SENT = "UPDATE memoryhub_job SET payload = payload || jsonb_build_object('told', %s::jsonb) WHERE id = %s"
log = logging.getLogger("memoryhub.digests")


@jobs.periodic("digests.plan", every=timedelta(hours=1))
def plan_daily_mails() -> dict[str, int]:
    """Asks for a digest of each space that wants one, once a day, at the hour it chose."""
    hour = timezone.localtime().hour
    asked = 0
    for space in Space.objects.exclude(settings__digest=None):
        wanted = spaces.get_setting(space, "digest")
        if wanted.isdecimal() and int(wanted) == hour and not _sent_today(space):
            jobs.enqueue(DAILY_MAIL_JOB, space=space)
            asked += 1
    return {"asked": asked}


def _sent_today(space: Space) -> bool:
    return (
        Job.objects.within(space)
        .filter(kind=DAILY_MAIL_JOB, created_at__gte=timezone.now() - timedelta(hours=20))
        .exists()
    )


@jobs.job(DAILY_MAIL_JOB, sends=True)
def send_daily_mails(job: Job, progress: jobs.Progress) -> dict[str, int]:
    """Sends the digest of one space to each of its reviewers and owners that has an address. An address that the server
    refuses keeps it from nobody, and whoever has it does not get it again when the job is tried again."""
    space = Space.objects.get(pk=job.space_id)
    waiting = list(_open_proposals(space))
    if not waiting:
        return {"sent": 0}
    readers = [
        one.person
        for one in spaces.members(space)
        if one.person.email and one.person.is_active and may(one.role, "decide")
    ]
    told, refused = set(job.payload.get("told", [])), 0
    for person in readers:
        if person.pk in told:
            continue
        try:
            EmailMessage(mail_subject(space, waiting), mail_text(space, waiting), to=[person.email]).send()
        except smtplib.SMTPRecipientsRefused:
            log.warning("The mail server refuses the address of %s; the others get the digest.", person.username)
            refused += 1
            continue
        told.add(person.pk)
        statements.rows(NOTE_SENT, [statements.Json(sorted(told)), job.pk])
    return {"sent": len(told), "refused": refused}


def _open_proposals(space: Space) -> list[Proposal]:
    found = Proposal.objects.within(space).filter(state__in=[Proposal.State.PENDING, Proposal.State.OUTDATED])
    return list(found.select_related("space").order_by("-risk", "created_at"))


KIND_VERBS = {
    "edit": "edits", "write": "writes", "insert": "adds to", "delete": "deletes", "move": "moves",
    "promotion": "promotes to",
}  # fmt: skip


def mail_subject(space: Space, waiting: list[Proposal]) -> str:
    many = f"{len(waiting)} proposals wait" if len(waiting) != 1 else "1 proposal waits"
    return f"{space.name}: {many} for a decision"


def mail_text(space: Space, waiting: list[Proposal]) -> str:
    """Plain text: what waits, first what ends soon, then the riskiest, with what each does and what the gate found."""
    soon = timezone.now() + timedelta(days=spaces.get_setting(space, "warn_days"))
    lines = [mail_subject(space, waiting) + ".", ""]
    for one in sorted(waiting, key=lambda one: not _expires_by(one, soon))[:MAX_LISTED]:
        codes = ", ".join(sorted({finding["code"] for finding in one.findings}))
        lines.append(f"{one.number:>5}  {one.agent_name}: {one.title}")
        lines.append(
            f"       {KIND_VERBS[one.kind]} {one.path or 'long-term memory'}{', found: ' if codes else ''}{codes}"
        )
        if _expires_by(one, soon):
            lines.append(f"       ends {timezone.localtime(one.expires_at):%-d %b %H:%M}, unapplied")
    if len(waiting) > MAX_LISTED:
        lines.append(f"       and {len(waiting) - MAX_LISTED} more")
    inbox = http.absolute_url(f"/s/{space.slug}/proposals/")
    place = inbox if inbox.startswith("http") else f"{inbox} of your hub"
    lines += ["", f"Decide on them at {place}", "Silence never approves."]
    return "\n".join(lines)


def _expires_by(proposal: Proposal, moment: datetime) -> bool:
    return proposal.expires_at is not None and proposal.expires_at <= moment
