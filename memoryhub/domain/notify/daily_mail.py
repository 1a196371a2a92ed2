"""The daily mail of a space to those who decide: sent by a job, with the proposals that wait."""

from __future__ import annotations

import logging
import smtplib
from datetime import UTC, datetime, timedelta

from django.core.mail import EmailMessage
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub import detectors, languages
from memoryhub.db import locks, statements
from memoryhub.domain import activity, jobs, spaces
from memoryhub.domain.accounts import may
from memoryhub.domain.notify import http
from memoryhub.domain.notify.mail_hour import mail_hour
from memoryhub.errors import Unavailable
from memoryhub.models import Agent, Job, Person, Proposal, Space
from memoryhub.text.unseen import spelled_out

MAX_LISTED = 20
DAILY_MAIL_JOB = "digests.send"
# It sets a whole value, so it may run twice: the connection may break while the mail server is asked, and is then retried.
NOTE_SENT = "UPDATE memoryhub_job SET payload = payload || jsonb_build_object('told', %s::jsonb) WHERE id = %s"
log = logging.getLogger("memoryhub.digests")


@jobs.periodic("digests.plan", every=timedelta(minutes=10))
def plan_daily_mails() -> dict[str, int]:
    """Enqueues the digest of each space whose hour has come, once a day."""
    with locks.exclusive("digests.plan"):  # else a process that was paused would plan them once more
        return {"asked": _plan()}


def _plan() -> int:
    now = statements.database_now()
    count = 0
    for space in Space.objects.exclude(settings__digest=None).exclude(settings__digest=""):
        chosen = mail_hour(space)
        if chosen and chosen.is_due(now, _last_planned(space, now)):
            jobs.enqueue(DAILY_MAIL_JOB, space=space)
            count += 1
    return count


def _last_planned(space: Space, now: datetime) -> datetime | None:
    """When the newest digest was planned; what a clock that was ahead left does not count."""
    planned = Job.objects.within(space).filter(kind=DAILY_MAIL_JOB, created_at__lte=now).order_by("-created_at")
    return planned.values_list("created_at", flat=True).first()


@jobs.job(DAILY_MAIL_JOB, outgoing=True)
def send_daily_mails(job: Job, progress: jobs.Progress) -> dict[str, int]:
    """Sends the digest of one space to each reviewer and owner who has an address. An address that the server refuses is
    passed over; the payload notes who got it, so that nobody gets it twice when the job is tried again.

    The lock is as for notices of webhooks: a process that was paused goes on alone."""
    with locks.try_exclusive(f"{DAILY_MAIL_JOB} {job.pk}") as is_free:
        if not is_free:
            raise Unavailable("another process sends it")
        job.payload = Job.objects.values_list("payload", flat=True).get(pk=job.pk)
        space = Space.objects.get(pk=job.space_id)
        chosen = mail_hour(space)
        with timezone.override(chosen.clock if chosen else UTC):
            return _send(job, space)


def _send(job: Job, space: Space) -> dict[str, int]:
    proposals = _open_proposals(space)
    if not proposals:
        return {"sent": 0}
    recipients, _without = mail_recipients(space)
    sent, refused = set(job.payload.get("told", [])), 0
    for person in recipients:
        if person.pk in sent:
            continue
        with languages.speaking(languages.of_person(person)):
            mail = EmailMessage(mail_subject(space, proposals), mail_text(space, proposals), to=[person.email])
        try:
            mail.send()
        except smtplib.SMTPRecipientsRefused:
            log.warning("The mail server refuses the address of %s; the others get the digest.", person.username)
            refused += 1
            continue
        sent.add(person.pk)
        statements.rows(NOTE_SENT, [statements.Json(sorted(sent)), job.pk])
    return {"sent": len(sent), "refused": refused}


def mail_recipients(space: Space) -> tuple[list[Person], list[Person]]:
    """The reviewers and owners of a space who get its daily mail, and those who do not because they gave no address."""
    members = [one.person for one in spaces.members(space) if one.person.is_active and may(one.role, "decide")]
    return [one for one in members if one.email], [one for one in members if not one.email]


def _open_proposals(space: Space) -> list[Proposal]:
    found = Proposal.objects.within(space).filter(state__in=[Proposal.State.PENDING, Proposal.State.OUTDATED])
    return list(found.select_related("space").order_by("-risk", "created_at"))


def mail_subject(space: Space, proposals: list[Proposal]) -> str:
    sentence = ngettext(
        "%(space)s: %(count)s proposal waits for a decision",
        "%(space)s: %(count)s proposals wait for a decision",
        len(proposals),
    )
    return spelled_out(sentence % {"space": space.name, "count": len(proposals)})


def mail_text(space: Space, proposals: list[Proposal]) -> str:
    """The mail as plain text: what expires soon, what needs attention, the rest, each with its change, findings and link."""
    soon = timezone.now() + timedelta(days=space.settings["warn_days"])
    groups: dict[str, list[Proposal]] = {_("Expiring soon"): [], _("Needs attention"): [], _("Routine"): []}
    expiring, attention, routine = groups.values()
    for proposal in proposals:
        group = expiring if _expires_by(proposal, soon) else attention if proposal.risk else routine
        group.append(proposal)
    names = dict(Agent.objects.within(space).values_list("slug", "name"))
    lines, room = [_("%(sentence)s.") % {"sentence": mail_subject(space, proposals)}], MAX_LISTED
    for title, group in groups.items():
        listed = group[:room]
        room -= len(listed)
        if listed:
            lines += ["", title]
        for proposal in listed:
            lines += ["", *_lines_of(space, proposal, names, ends=group is expiring)]
    if len(proposals) > MAX_LISTED:
        lines += ["", _("and %(count)s more") % {"count": len(proposals) - MAX_LISTED}]
    inbox = http.absolute_url(f"/s/{space.slug}/proposals/")
    place = inbox if inbox.startswith("http") else _("%(path)s of your hub") % {"path": inbox}
    lines += ["", _("Review them: %(place)s") % {"place": place}, _("Nothing is approved automatically.")]
    why = _("You get this mail because you can decide in %(space)s. Its hour is set under Settings, Notifications.")
    return spelled_out("\n".join([*lines, "", "-- ", why % {"space": space.name}]))


def _lines_of(space: Space, proposal: Proposal, names: dict[str, str], *, ends: bool) -> list[str]:
    agent = names.get(proposal.agent_name, proposal.agent_name)
    lines = [activity.sentence_of(proposal.kind, agent, languages.translated(proposal.thing))]
    codes = sorted({finding["code"] for finding in proposal.findings})
    if codes:
        found = _(", ").join(languages.translated(detectors.IN_LISTS.get(code, code)) for code in codes)
        lines.append(_("Found: %(codes)s") % {"codes": found})
    if ends and proposal.expires_at:
        moment = date_format(timezone.localtime(proposal.expires_at), _("j M H:i"))
        lines.append(_("Expires %(moment)s if nobody decides") % {"moment": moment})
    address = http.absolute_url(f"/s/{space.slug}/proposals/{proposal.number}/")
    if address.startswith("http"):
        lines.append(address)
    return [f"#{proposal.number}  {proposal.title}", *(f"    {line}" for line in lines)]


def _expires_by(proposal: Proposal, moment: datetime) -> bool:
    return proposal.expires_at is not None and proposal.expires_at <= moment
