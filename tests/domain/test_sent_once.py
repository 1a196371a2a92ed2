"""Notices and digests go out once, also where the process that sends one was paused for longer than its lease."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core import mail

from memoryhub.db import locks
from memoryhub.domain import accounts, files, jobs, notify, prompts, proposals, spaces
from memoryhub.domain.jobs import queue
from memoryhub.domain.notify import daily_mail
from memoryhub.domain.notify.webhooks import SEND_JOB
from memoryhub.models import HUB, Job, WebhookNotice

pytestmark = pytest.mark.django_db(transaction=True)  # the lock stands on another connection


@pytest.fixture
def receiver():
    """An address that counts what it gets."""
    got: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            got.append(self.headers["X-Memoryhub-Notice"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", got
    server.shutdown()


@pytest.fixture
def space():
    made = spaces.create(HUB, "team")
    files.add_mount(made, HUB, "/memories/", store="database", policy="review")
    return made


@pytest.fixture
def asked(space):
    agent = prompts.create_agent(space, HUB, "forge")
    return proposals.propose(space, agent, kind="write", path="/memories/a.md", change={"content": "one\n"})


def test_a_notice_is_sent_by_one_process(space, receiver, settings):
    settings.OUTBOUND = ("loopback",)
    url, got = receiver
    hook = notify.add_webhook(space, HUB, url)
    notify.ping_webhook(space, HUB, hook.pk)
    notice = WebhookNotice.objects.get()
    paused = queue.claim([SEND_JOB])
    with locks.exclusive(f"{SEND_JOB} {notice.pk}"):  # as the paused process holds it
        queue.run(paused)
    assert got == []
    row = Job.objects.get(kind=SEND_JOB)
    assert (row.state, row.last_error) == (Job.WAITING, "another process sends it")
    for _ in range(2):  # once by each of two processes
        jobs.kinds[SEND_JOB](row, lambda done, total: None)
    assert got == [str(notice.pk)]


def test_a_digest_is_sent_by_one_process(space, asked):
    person = accounts.create_person(HUB, "rk", email="rk@example.org")
    spaces.add_member(space, HUB, person, "reviewer")
    job = jobs.enqueue(daily_mail.DAILY_MAIL_JOB, space=space)
    with locks.exclusive(f"{daily_mail.DAILY_MAIL_JOB} {job.pk}"):
        queue.run(queue.claim([daily_mail.DAILY_MAIL_JOB]))
    assert mail.outbox == []
    as_claimed_before = Job.objects.get(pk=job.pk)
    for _ in range(2):
        jobs.kinds[daily_mail.DAILY_MAIL_JOB](as_claimed_before, lambda done, total: None)
    assert [one.to for one in mail.outbox] == [["rk@example.org"]]
