"""Telling people and programs outside: webhooks, mail, and the HTTP client for both."""

from memoryhub.domain.notify.http import post_json, public_url
from memoryhub.domain.notify.webhooks import (
    add_webhook,
    newest_notices,
    notify,
    notify_all,
    ping_webhook,
    remove_webhook,
    send_notice_again,
    switch_webhook,
    webhooks_for,
    webhooks_of_space,
)

__all__ = [
    "add_webhook",
    "newest_notices",
    "notify",
    "notify_all",
    "ping_webhook",
    "post_json",
    "public_url",
    "remove_webhook",
    "send_notice_again",
    "switch_webhook",
    "webhooks_for",
    "webhooks_of_space",
]
