"""Notices and digests go out once, also where the process that sends one was paused for longer than its lease."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.core import mail
from django.core.mail.backends.filebased import EmailBackend as FileBackend
from django.db import connection
from django.utils import timezone

from memoryhub.db import locks
from memoryhub.domain import accounts, files, jobs, notify, prompts, proposals, spaces
from memoryhub.domain.jobs import queue
from memoryhub.domain.notify import daily_mail
from memoryhub.domain.notify.webhooks import SEND_JOB
from memoryhub.models import HUB, Job, WebhookNotice
from tests.cluster import soon

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
def pending(space):
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


def test_a_digest_is_sent_by_one_process(space, pending):
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


@pytest.fixture
def slow_receiver():
    """An address that answers when it is told to, counts what it gets, and says when something has arrived."""
    got: list[str] = []
    arrived, may_answer = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            got.append(self.headers["X-Memoryhub-Notice"])
            arrived.set()
            may_answer.wait(30)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", got, arrived, may_answer
    may_answer.set()
    server.shutdown()


@contextlib.contextmanager
def background_process(kind: str):
    """Another process that claims a job of this kind and runs it; it ends by itself."""
    child = os.fork()
    if not child:
        theirs = connection.connection  # of the parent: kept, since closing it would end the parent's
        connection.connection = None
        try:
            queue.run(queue.claim([kind]))
        finally:
            os._exit(0 if theirs else 1)
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)
        os.waitpid(child, 0)


def lease_is_over() -> None:
    Job.objects.filter(state=Job.RUNNING).update(run_after=timezone.now() - timedelta(seconds=1))
    assert queue.release_lost() == 1


def test_a_notice_goes_out_once_where_its_process_is_stopped_beyond_its_lease(space, slow_receiver, settings):
    settings.OUTBOUND = ("loopback",)
    url, got, arrived, may_answer = slow_receiver
    hook = notify.add_webhook(space, HUB, url)
    notify.ping_webhook(space, HUB, hook.pk)
    with background_process(SEND_JOB) as child:
        assert arrived.wait(20)
        os.kill(child, signal.SIGSTOP)
        lease_is_over()
        queue.run(queue.claim([SEND_JOB]))  # by this process
        assert Job.objects.get(kind=SEND_JOB).last_error == "another process sends it"
        may_answer.set()
        os.kill(child, signal.SIGCONT)
    Job.objects.filter(kind=SEND_JOB).update(run_after=timezone.now())
    while job := queue.claim([SEND_JOB]):
        queue.run(job)
    notice = WebhookNotice.objects.get()
    assert got == [str(notice.pk)]
    assert notice.delivered_at


def test_a_digest_goes_out_once_where_its_process_is_stopped_beyond_its_lease(space, pending, settings, tmp_path):
    """The mail server takes the mail and is slow to say so."""
    settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = "tests.domain.test_sent_once.SlowFiles", str(tmp_path)
    person = accounts.create_person(HUB, "rk", email="rk@example.org")
    spaces.add_member(space, HUB, person, "reviewer")
    jobs.enqueue(daily_mail.DAILY_MAIL_JOB, space=space)
    with background_process(daily_mail.DAILY_MAIL_JOB) as child:
        assert soon(lambda: list(tmp_path.glob("*.log")))
        os.kill(child, signal.SIGSTOP)
        lease_is_over()
        queue.run(queue.claim([daily_mail.DAILY_MAIL_JOB]))
        assert Job.objects.get(kind=daily_mail.DAILY_MAIL_JOB).last_error == "another process sends it"
        (tmp_path / "go on").touch()
        os.kill(child, signal.SIGCONT)
    Job.objects.filter(kind=daily_mail.DAILY_MAIL_JOB).update(run_after=timezone.now())
    while job := queue.claim([daily_mail.DAILY_MAIL_JOB]):
        queue.run(job)
    sent = "".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert sent.count("To: rk@example.org") == 1


class SlowFiles(FileBackend):
    """Writes mails into files, and is done with one when a file named "go on" is there."""

    def send_messages(self, messages):
        count = super().send_messages(messages)
        soon(lambda: (Path(self.file_path) / "go on").exists(), 30)
        return count
