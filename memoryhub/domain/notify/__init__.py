"""Notices to people and programs outside: webhooks, the daily mail, and outgoing HTTP."""

from memoryhub.domain.notify.addresses import addresses_of, check_url
from memoryhub.domain.notify.daily_mail import mail_recipients
from memoryhub.domain.notify.http import absolute_url, failures, post_json
from memoryhub.domain.notify.mail_hour import mail_hour, set_mail_hour
from memoryhub.domain.notify.webhooks import (
    EVENTS,
    add_notice,
    add_notice_later,
    add_webhook,
    enqueue_notice,
    newest_notices,
    ping_webhook,
    remove_webhook,
    send_notice_again,
    switch_webhook,
    webhooks_of_space,
)
