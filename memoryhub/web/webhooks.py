"""Notifications: webhooks for proposals with the log of what was sent, and the daily mail."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.domain import notify
from memoryhub.errors import HubError
from memoryhub.forms import WebhookForm
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import parse_number
from memoryhub.web.notices import done

NOTICES_SHOWN = 20


@space_page("manage", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    return show(request, WebhookForm())


def show(request: HttpRequest, form: WebhookForm, status: int = 200, secret: str = "") -> HttpResponse:
    logs = notify.newest_notices(request.space, NOTICES_SHOWN)
    hooks = [(hook, logs.get(hook.pk, [])) for hook in notify.webhooks_of_space(request.space)]
    mailed, without_address = notify.mail_recipients(request.space)
    context = {
        "mailed": mailed, "without_address": without_address, "form": form, "hooks": hooks, "secret": secret, "hours": range(24),
        "mail_hour": notify.mail_hour(request.space), "zone": timezone.get_current_timezone_name(),
    }  # fmt: skip
    return render(request, "webhooks/page.html", context, status=status)


@post_only("manage")
def add(request: HttpRequest) -> HttpResponse:
    """Adds a webhook. Its secret is shown once, on the page that answers."""
    form = WebhookForm(request.POST)
    if form.is_valid():
        try:
            made = notify.add_webhook(request.space, request.actor, **form.cleaned_data)
        except HubError as error:
            form.refuse(error)
        else:
            return show(request, WebhookForm(), secret=made.secret)
    return show(request, form, 422)


@post_only("manage")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    notify.remove_webhook(request.space, request.actor, pk)
    return redirect_with_notice(request, _("Webhook removed, with its log."))


@post_only("manage")
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    hook = notify.switch_webhook(request.space, request.actor, pk, request.POST.get("on") == "yes")
    return redirect_with_notice(
        request, _("Resumed.") if hook.is_on else _("Paused: nothing is sent until you resume it.")
    )


@post_only("manage")
def ping(request: HttpRequest, pk: int) -> HttpResponse:
    notify.ping_webhook(request.space, request.actor, pk)
    return redirect_with_notice(request, _("A test is being sent. The log shows the result."))


@post_only("manage")
def send_again(request: HttpRequest, pk: int) -> HttpResponse:
    notify.send_notice_again(request.space, request.actor, pk)
    return redirect_with_notice(request, _("Sending again."))


@post_only("manage")
def set_digest(request: HttpRequest) -> HttpResponse:
    given = parse_number(request.POST.get("digest"), 24)
    hour = given if given < 24 else None
    zone = timezone.get_current_timezone_name()
    if notify.set_mail_hour(request.space, request.actor, hour, zone, timezone.now()):
        message = _("Sent daily at %(hour)s:00, %(zone)s.") % {"hour": hour, "zone": zone}
    else:
        message = _("No mail is sent.")
    return redirect_with_notice(request, message)


def redirect_with_notice(request: HttpRequest, says: str) -> HttpResponse:
    done(request, says)
    return redirect("webhooks.page", request.space.slug)
