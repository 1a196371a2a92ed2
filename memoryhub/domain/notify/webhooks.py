"""Webhooks: who is told of proposals and decisions; signed notices, sent by a job, tried again with growing pauses, logged."""

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

from django.db import transaction
from django.db.models import Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import activity, jobs
from memoryhub.domain.accounts import require
from memoryhub.domain.notify import http
from memoryhub.errors import HubError, Invalid, NotFound, Unavailable
from memoryhub.models import Actor, Job, Space, Webhook, WebhookNotice

EVENTS = (
    "proposal.created", "proposal.approved", "proposal.rejected", "proposal.withdrawn", "proposal.outdated",
    "proposal.expiring", "proposal.expired", "proposal.commented", "proposal.undone", "proposal.reopened",
)  # fmt: skip
SECONDS = 10
SEND = "webhooks.send"
KEEP = timedelta(days=30)
MOST_HELD = 1000


def webhooks_of_space(space: Space) -> QuerySet[Webhook]:
    return Webhook.objects.within(space).order_by("pk")


def get(space: Space, pk: int) -> Webhook:
    found = Webhook.objects.within(space).filter(pk=pk).first()
    if found is None:
        raise NotFound("There is no such webhook in this space.")
    return found


@transaction.atomic
def add_webhook(
    space: Space, actor: Actor, url: str, *, shape: str = "hub", events: list[str] | None = None
) -> Webhook:
    """Tells an address of what happens to proposals; its secret signs every notice."""
    require(actor, "manage")
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or len(url) > 500:
        raise Invalid("Give a whole address that begins with https:// or http://.", field="url")
    if shape not in ("hub", "slack"):
        raise Invalid("A notice has the shape hub or slack.", field="shape")
    wanted = [event for event in EVENTS if events is None or event in events]
    if not wanted:
        raise Invalid("Choose at least one event.", field="events")
    made = Webhook.objects.create(
        space=space, url=url.strip(), shape=shape, events=wanted, secret=secrets.token_urlsafe(32)
    )
    activity.record(space, actor, "webhooks.add", "added a webhook to", parts.hostname, url="settings/webhooks/")
    return made


@transaction.atomic
def remove_webhook(space: Space, actor: Actor, pk: int) -> None:
    """Stops telling an address, and forgets its log."""
    require(actor, "manage")
    hook = get(space, pk)
    host = urlsplit(hook.url).hostname or ""
    activity.record(space, actor, "webhooks.remove", "took away the webhook to", host, url="settings/webhooks/")
    hook.delete()


@transaction.atomic
def switch_webhook(space: Space, actor: Actor, pk: int, on: bool) -> Webhook:
    """Pauses a webhook or lets it go on."""
    require(actor, "manage")
    hook = get(space, pk)
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
    hook = get(space, pk)
    (made,) = _enqueue(hook, "ping", [({"space": space.slug, "by": actor.name}, f"A trial notice of {space.name}")])
    return made


@transaction.atomic
def send_notice_again(space: Space, actor: Actor, notice_pk: int) -> WebhookNotice:
    """Tries a notice of the log once more."""
    require(actor, "manage")
    notice = WebhookNotice.objects.within(space).select_related("webhook").filter(pk=notice_pk).first()
    if notice is None:
        raise NotFound("There is no such notice in this space.")
    jobs.enqueue(SEND, {"notice": notice.pk}, space=space, asked_by=actor.name)
    return notice


def notify(space: Space, event: str, body: dict[str, Any], *, says: str) -> None:
    """Puts the event on the list of every webhook that wants it, in the caller's transaction."""
    notify_all(space, event, [(body, says)])


def notify_all(space: Space, event: str, told: list[tuple[dict[str, Any], str]]) -> None:
    """The same for an event that happened to several."""
    for hook in webhooks_for(space, event):
        _enqueue(hook, event, told)


HAS_ANY = "SELECT id FROM memoryhub_webhook WHERE space_id = %s AND is_on LIMIT 1"


def webhooks_for(space: Space, event: str) -> list[Webhook]:
    """The webhooks that want this event. Most spaces have none, which every change of a proposal asks."""
    if not statements.rows(HAS_ANY, [space.pk]):
        return []
    return [hook for hook in Webhook.objects.within(space).filter(is_on=True) if event in hook.events]


def _enqueue(hook: Webhook, event: str, told: list[tuple[dict[str, Any], str]]) -> list[WebhookNotice]:
    made = [
        WebhookNotice(space_id=hook.space_id, webhook=hook, event=event, body=_shaped(hook, event, body, says))
        for body, says in told
    ]
    WebhookNotice.objects.bulk_create(made)
    jobs.enqueue_all(SEND, [{"notice": one.pk} for one in made], space=hook.space)
    return made


def _shaped(hook: Webhook, event: str, body: dict[str, Any], says: str) -> dict[str, Any]:
    if hook.shape == "slack":
        return {"text": _plain(says, 300), "blocks": _slack(says, body)}
    return {"event": event, "at": timezone.now().isoformat(), "says": says, **body}


def _slack(says: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Blocks as chat programs of that family draw them. What agents and reviewers wrote stands in quotes, every line of it,
    and calls nobody and links nowhere."""
    told = [f"*{_plain(says, 300)}*"]
    for key in ("reason", "note"):
        told += [f"> {line}" for line in _plain(str(body.get(key) or ""), 1000).splitlines()[:5]]
    if str(body.get("url", "")).startswith("http"):
        told.append(f"<{body['url']}|Look at it>")
    # Verbatim: else the program itself makes links of addresses, and calls of names, in what they wrote.
    return [{"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(told), "verbatim": True}}]


def _plain(text: str, most: int) -> str:
    """A text in which such a program sees no command (`<!channel>`, `<http://…|here>`); too long a block is refused whole."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped if len(escaped) <= most else re.sub(r"&[a-z]*$", "", escaped[: most - 1]) + "…"


def signature(secret: str, stamp: str, body: bytes) -> str:
    """What the receiver computes as well: HMAC-SHA256 over the time stamp, a dot and the body."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


@jobs.job(SEND, sends=True)
def send(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    """Sends one notice; an address that does not answer is tried again by the job's own back-off."""
    notice = WebhookNotice.objects.select_related("webhook").filter(pk=job.payload["notice"]).first()
    if notice is None or not notice.webhook.is_on or notice.delivered_at:
        return {}
    import httpx  # a tenth of a second that every start of the hub would pay

    try:
        status = _post(notice)
    except (httpx.HTTPError, OSError, HubError) as error:
        _log(notice, None, f"{type(error).__name__}: {error}")
        _hold_back(notice.webhook, job)
        raise Unavailable(f"{urlsplit(notice.webhook.url).hostname} did not answer") from error
    _log(notice, status, "" if 200 <= status < 300 else f"answered {status}")
    if not 200 <= status < 300:
        raise Unavailable(f"{urlsplit(notice.webhook.url).hostname} answered {status}")
    return {"status": status}


def _hold_back(hook: Webhook, job: Job) -> None:
    """While an address does not answer, its other notices wait as long as this one: it is asked once, not once for each."""
    mine = WebhookNotice.objects.filter(webhook=hook, delivered_at=None).values_list("pk", flat=True)
    until = timezone.now() + jobs.wait_after(job.tries)
    jobs.hold_back(SEND, Q(payload__notice__in=list(mine[:MOST_HELD])), until)


def _post(notice: WebhookNotice) -> int:
    hook = notice.webhook
    body = json.dumps(notice.body, ensure_ascii=False).encode()
    stamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json", "User-Agent": "memoryhub", "X-Memoryhub-Event": notice.event,
        "X-Memoryhub-Notice": str(notice.pk), "X-Memoryhub-Timestamp": stamp,
        "X-Memoryhub-Signature": signature(hook.secret, stamp, body),
    }  # fmt: skip
    return http.post_json(hook.url, content=body, headers=headers, seconds=SECONDS).status_code


# Whole values, so it may be sent again: the connection may have gone away while the address was asked, and what is not
# written down would be sent, and counted there, once more.
LOG = "UPDATE memoryhub_webhooknotice SET tries = %s, status = %s, error = %s, delivered_at = %s WHERE id = %s"


def _log(notice: WebhookNotice, status: int | None, error: str) -> None:
    delivered_at = timezone.now() if not error else None
    statements.rows(LOG, [notice.tries + 1, status, error[:300], delivered_at, notice.pk])


def newest_notices(space: Space, limit: int) -> dict[int, list[WebhookNotice]]:
    """The newest notices of every address of the space, in one query."""
    place = Window(RowNumber(), partition_by="webhook_id", order_by="-pk")
    logs: dict[int, list[WebhookNotice]] = {}
    for notice in WebhookNotice.objects.within(space).annotate(place=place).filter(place__lte=limit).order_by("-pk"):
        logs.setdefault(notice.webhook_id, []).append(notice)
    return logs


@jobs.periodic("webhooks.forget", every=timedelta(hours=12))
def forget_old() -> None:
    """The log goes back thirty days."""
    WebhookNotice.objects.filter(created_at__lt=timezone.now() - KEEP).delete()
