"""Webhooks: addresses that get signed notices of proposals and decisions. What happens puts a notice on the list in its own
transaction; a job sends it, with retries and a log, so that no slow address delays a decision."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub import languages
from memoryhub.db import locks, statements
from memoryhub.domain import activity, jobs
from memoryhub.domain.accounts import require
from memoryhub.domain.notify import addresses, http
from memoryhub.errors import Invalid, NotFound, Unavailable
from memoryhub.models import Actor, Job, Proposal, Space, Webhook, WebhookNotice
from memoryhub.text.input_checks import check_text
from memoryhub.text.unseen import spelled_out

EVENTS = (
    "proposal.created", "proposal.approved", "proposal.rejected", "proposal.withdrawn", "proposal.outdated",
    "proposal.expiring", "proposal.expired", "proposal.commented", "proposal.undone", "proposal.reopened",
    "file.changed_on_disk",
)  # fmt: skip
TIMEOUT_SECONDS = 10
SEND_JOB = "webhooks.send"
PROPOSALS_JOB = "proposals.tell"
KEEP_NOTICES = timedelta(days=30)
MAX_POSTPONED = 1000


def webhooks_of_space(space: Space) -> QuerySet[Webhook]:
    """All webhooks of a space, paused ones included."""
    return Webhook.objects.within(space).order_by("pk")


def get_webhook(space: Space, pk: int) -> Webhook:
    found = Webhook.objects.within(space).filter(pk=pk).first()
    if found is None:
        raise NotFound("There is no such webhook in this space.")
    return found


@transaction.atomic
def add_webhook(
    space: Space, actor: Actor, url: str, *, shape: str = "hub", events: list[str] | None = None
) -> Webhook:
    """Adds an address that gets notices of these events (all by default); its secret signs every notice."""
    require(actor, "manage")
    url = check_text(url, "url", 500).strip()
    addresses.check_url(url)
    if shape not in ("hub", "slack"):
        raise Invalid("A notice has the shape hub or slack.", field="shape")
    chosen = [event for event in EVENTS if events is None or event in events]
    if not chosen:
        raise Invalid("Choose at least one event.", field="events")
    hook = Webhook.objects.create(space=space, url=url, shape=shape, events=chosen, secret=secrets.token_urlsafe(32))
    activity.record(
        space, actor, "webhooks.add", "added a webhook to", urlsplit(url).hostname or "", url="settings/webhooks/"
    )
    return hook


@transaction.atomic
def remove_webhook(space: Space, actor: Actor, pk: int) -> None:
    """Removes a webhook with the log of its notices."""
    require(actor, "manage")
    hook = get_webhook(space, pk)
    host = urlsplit(hook.url).hostname or ""
    activity.record(space, actor, "webhooks.remove", "removed the webhook to", host, url="settings/webhooks/")
    hook.delete()


@transaction.atomic
def switch_webhook(space: Space, actor: Actor, pk: int, on: bool) -> Webhook:
    """Pauses a webhook or switches it on again."""
    require(actor, "manage")
    hook = get_webhook(space, pk)
    hook.is_on = on
    hook.save(update_fields=["is_on"])
    activity.record(
        space, actor, "webhooks.switch", "let go on" if on else "paused", "a webhook", url="settings/webhooks/"
    )
    return hook


@transaction.atomic
def ping_webhook(space: Space, actor: Actor, pk: int) -> WebhookNotice:
    """Sends a trial notice to one webhook."""
    require(actor, "manage")
    hook = get_webhook(space, pk)
    (notice,) = _make_notices(
        hook, "ping", [({"space": space.slug, "by": actor.name}, f"A trial notice of {space.name}")]
    )
    return notice


@transaction.atomic
def send_notice_again(space: Space, actor: Actor, notice_pk: int) -> WebhookNotice:
    """Sends a notice of the log once more."""
    require(actor, "manage")
    notice = WebhookNotice.objects.within(space).select_related("webhook").filter(pk=notice_pk).first()
    if notice is None:
        raise NotFound("There is no such notice in this space.")
    jobs.enqueue(SEND_JOB, {"notice": notice.pk}, space=space, asked_by=actor.name)
    return notice


def add_notice(proposal: Proposal, event: str, **more: Any) -> None:
    """Notes the event for every webhook that wants it; nothing is sent here, so a slow address delays no decision."""
    if webhooks_for_event(proposal.space, event):
        enqueue_notice(proposal.space, event, proposal_body(proposal, **more), says=proposal_sentence(proposal, event))


def add_notice_later(space: Space, numbers: list[int], event: str) -> None:
    """Notes the event for several proposals, by a job: nobody who looks at a list waits for that."""
    if webhooks_for_event(space, event):
        jobs.enqueue(PROPOSALS_JOB, {"numbers": numbers, "event": event}, space=space)


@jobs.job(PROPOSALS_JOB)
@transaction.atomic
def add_notices(job: Job, progress: jobs.Progress) -> None:
    """Notes an event for several proposals. Begun again after a crash it notes nothing twice: the job forgets them with it."""
    space, event = Space.objects.get(pk=job.space_id), job.payload["event"]
    found = Proposal.objects.within(space).filter(number__in=job.payload["numbers"]).defer("content")
    noted = [
        (proposal_body(one), proposal_sentence(one, event)) for one in found.select_related("space").order_by("number")
    ]
    enqueue_notices(space, event, noted)
    Job.objects.filter(pk=job.pk).update(payload={"numbers": [], "event": event})


def proposal_body(proposal: Proposal, **more: Any) -> dict[str, Any]:
    return {
        "space": proposal.space.slug,
        "number": proposal.number,
        "state": proposal.state,
        "changes_requested": proposal.changes_requested,
        "kind": proposal.kind,
        "path": proposal.path,
        "agent": proposal.agent_name,
        "reason": proposal.reason,
        "risk": ("low", "mid", "high")[proposal.risk],
        "findings": sorted({one["code"] for one in proposal.findings}),
        "decided_by": proposal.decided_by_name or None,
        "note": proposal.note,
        "expires_at": proposal.expires_at.isoformat() if proposal.expires_at else None,
        "url": http.absolute_url(f"/s/{proposal.space.slug}/proposals/{proposal.number}/"),
        **more,
    }


def proposal_sentence(proposal: Proposal, event: str) -> str:
    """The event in a sentence, for a chat."""
    what = event.removeprefix("proposal.")
    where = proposal.thing
    if what == "created" and proposal.from_disk:
        return f"{where} changed on disk and waits for a decision (proposal {proposal.number})"
    if what == "created":
        return f"{proposal.agent_name} asks to change {where} (proposal {proposal.number})"
    if what == "expiring":
        return f"Proposal {proposal.number} for {where} expires soon if nobody decides"
    who = f" by {proposal.decided_by_name}" if proposal.decided_by_name else ""
    if what == "rejected" and proposal.changes_requested:
        return f"Changes to proposal {proposal.number} for {where} were requested{who}"
    return f"Proposal {proposal.number} for {where} was {what}{who}"


def enqueue_notice(space: Space, event: str, body: dict[str, Any], *, says: str) -> None:
    """Adds a notice for every webhook that wants the event, in the caller's transaction; `says` is its sentence."""
    enqueue_notices(space, event, [(body, says)])


def enqueue_notices(space: Space, event: str, notices: list[tuple[dict[str, Any], str]]) -> None:
    """Adds several notices of one event, each given as its body and its sentence."""
    for hook in webhooks_for_event(space, event):
        _make_notices(hook, event, notices)


HAS_ANY = "SELECT id FROM memoryhub_webhook WHERE space_id = %s AND is_on LIMIT 1"


def webhooks_for_event(space: Space, event: str) -> list[Webhook]:
    """The webhooks of a space that are on and want this event. Most spaces have none, so that is asked cheaply first."""
    if not statements.rows(HAS_ANY, [space.pk]):
        return []
    return [hook for hook in Webhook.objects.within(space).filter(is_on=True) if event in hook.events]


def _make_notices(hook: Webhook, event: str, notices: list[tuple[dict[str, Any], str]]) -> list[WebhookNotice]:
    made = [
        WebhookNotice(space_id=hook.space_id, webhook=hook, event=event, body=_notice_body(hook, event, body, says))
        for body, says in notices
    ]
    WebhookNotice.objects.bulk_create(made)
    jobs.enqueue_all(SEND_JOB, [{"notice": notice.pk} for notice in made], space=hook.space)
    return made


def _notice_body(hook: Webhook, event: str, body: dict[str, Any], says: str) -> dict[str, Any]:
    with languages.speaking(settings.HUB_LANGUAGE):  # nobody in particular reads it
        says = languages.translated(says)
    if hook.shape == "slack":
        return {"text": _escaped(says, 300), "blocks": _slack_blocks(says, body)}
    return {"event": event, "at": timezone.now().isoformat(), "says": says, **body}


def _slack_blocks(says: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The notice as blocks of Slack and programs like it. Every line that agents or reviewers wrote is quoted, and neither
    mentions anybody nor links anywhere."""
    lines = [f"*{_escaped(says, 300)}*"]
    for key in ("reason", "note"):
        lines += [f"> {line}" for line in _escaped(str(body.get(key) or ""), 1000).splitlines()[:5]]
    if str(body.get("url", "")).startswith("http"):
        with languages.speaking(settings.HUB_LANGUAGE):
            lines.append(f"<{body['url']}|{_('Look at it')}>")
    # Verbatim: else the program itself turns addresses into links, and names into mentions.
    return [{"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(lines), "verbatim": True}}]


def _escaped(text: str, limit: int) -> str:
    """A text without commands of Slack (`<!channel>`, `<http://…|here>`) and with unseen characters spelled out, cut to `limit`:
    a block that is too long is refused."""
    escaped = spelled_out(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped if len(escaped) <= limit else re.sub(r"&[a-z]*$", "", escaped[: limit - 1]) + "…"


def signature(secret: str, stamp: str, body: bytes) -> str:
    """The signature that receivers check: HMAC-SHA256 over the time stamp, a dot and the body."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


@jobs.job(SEND_JOB, outgoing=True)
def send_notice(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    """Sends one notice; when the address does not answer, the job tries again later.

    The lock lasts as long as the process that sends has its connection: one that was paused for longer than its lease goes on
    alone, and what another took over meanwhile waits for it.
    """
    with locks.try_exclusive(f"{SEND_JOB} {job.payload['notice']}") as is_free:
        if not is_free:
            raise Unavailable("another process sends it")
        return _send(job)


def _send(job: Job) -> dict[str, Any]:
    notice = WebhookNotice.objects.select_related("webhook").filter(pk=job.payload["notice"]).first()
    if notice is None or not notice.webhook.is_on or notice.delivered_at:
        return {}
    try:
        status = _post(notice)
    except http.failures() as error:
        _note_try(notice, None, f"{type(error).__name__}: {error}")
        _postpone_others(notice.webhook, job)
        raise Unavailable(f"{urlsplit(notice.webhook.url).hostname} did not answer") from error
    _note_try(notice, status, "" if 200 <= status < 300 else f"answered {status}")
    if not 200 <= status < 300:
        raise Unavailable(f"{urlsplit(notice.webhook.url).hostname} answered {status}")
    return {"status": status}


def _postpone_others(hook: Webhook, job: Job) -> None:
    """Lets the other notices of an address that does not answer wait as long as this one, so that one at a time tries."""
    undelivered = WebhookNotice.objects.filter(webhook=hook, delivered_at=None).values_list("pk", flat=True)
    until = timezone.now() + jobs.retry_delay(job.tries)
    jobs.postpone(SEND_JOB, Q(payload__notice__in=list(undelivered[:MAX_POSTPONED])), until)


def _post(notice: WebhookNotice) -> int:
    hook = notice.webhook
    body = json.dumps(notice.body, ensure_ascii=False).encode()
    stamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json", "User-Agent": "memoryhub", "X-Memoryhub-Event": notice.event,
        "X-Memoryhub-Notice": str(notice.pk), "X-Memoryhub-Timestamp": stamp,
        "X-Memoryhub-Signature": signature(hook.secret, stamp, body),
    }  # fmt: skip
    return http.post_json(hook.url, content=body, headers=headers, seconds=TIMEOUT_SECONDS).status_code


# It sets whole values, so it may run twice: the connection may break while the address is asked, and is then retried. A try
# that is not noted would be sent once more.
NOTE_TRY = "UPDATE memoryhub_webhooknotice SET tries = %s, status = %s, error = %s, delivered_at = %s WHERE id = %s"


def _note_try(notice: WebhookNotice, status: int | None, error: str) -> None:
    delivered_at = timezone.now() if not error else None
    statements.rows(NOTE_TRY, [notice.tries + 1, status, error[:300], delivered_at, notice.pk])


def newest_notices(space: Space, limit: int) -> dict[int, list[WebhookNotice]]:
    """The newest `limit` notices of each webhook of the space, by its id, in one query."""
    place = Window(RowNumber(), partition_by="webhook_id", order_by="-pk")
    logs: dict[int, list[WebhookNotice]] = {}
    for notice in WebhookNotice.objects.within(space).annotate(place=place).filter(place__lte=limit).order_by("-pk"):
        logs.setdefault(notice.webhook_id, []).append(notice)
    return logs


@jobs.periodic("webhooks.forget", every=timedelta(hours=12))
def delete_old_notices() -> None:
    """Deletes notices after thirty days."""
    WebhookNotice.objects.filter(created_at__lt=timezone.now() - KEEP_NOTICES).delete()
