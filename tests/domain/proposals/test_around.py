"""Around proposals: webhooks, digest, rules on the past, commands."""

from __future__ import annotations

import hmac
import json
import smtplib
import socket
import threading
import time
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO

import pytest
from django.core import mail
from django.core.management import call_command
from django.utils import timezone

from memoryhub.domain import accounts, files, jobs, notify, prompts, proposals, spaces
from memoryhub.domain.jobs import queue
from memoryhub.domain.notify import daily_mail
from memoryhub.errors import Forbidden, HubError, Invalid
from memoryhub.models import HUB, Actor, Job, Proposal, WebhookNotice
from tests.owners import create_hub_owner

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"


@pytest.fixture
def space():
    space = spaces.create(HUB, "main")
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.write(space, HUB, PATH, b"- one\n- two\n")
    return space


@pytest.fixture
def forge(space):
    return prompts.create_agent(space, HUB, "forge")


@pytest.fixture
def rk(space):
    person = accounts.create_person(HUB, "rk", email="rk@example.org")
    spaces.add_member(space, HUB, person, "reviewer")
    return Actor.of_person(person, "reviewer")


def ask(space, forge, old="one", new="uno", **more):
    return proposals.propose(
        space, forge, kind="edit", path=PATH, change={"old_string": old, "new_string": new}, **more
    )


class Receiver:
    """A webhook's other end, in a thread of its own."""

    def __init__(self, status=200):
        self.got, self.status = [], status
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((dict(self.headers), body))
                self.send_response(outer.status)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.server.shutdown()


def due_now():
    Job.objects.filter(kind="webhooks.send", state="waiting").update(run_after="2020-01-01T00:00:00Z")
    return queue.run_waiting()


def signed(secret, stamp, body):
    """What a receiver computes who knows the README alone: HMAC-SHA256 of the time stamp, a dot and the body."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, "sha256").hexdigest()


def test_every_notice_has_a_signature_of_its_own(space, forge, receiver):
    hook, other = notify.add_webhook(space, HUB, receiver.url), notify.add_webhook(space, HUB, receiver.url)
    ask(space, forge)
    due_now()
    signatures = [headers["X-Memoryhub-Signature"] for headers, _ in receiver.got]
    assert sorted(signatures) == sorted(
        signed(secret, headers["X-Memoryhub-Timestamp"], body)
        for secret, (headers, body) in zip((hook.secret, other.secret), receiver.got, strict=True)
    )
    assert len(set(signatures)) == 2, "each address has a secret of its own"


def test_a_notice_is_signed_sent_by_a_job_and_logged(space, forge, receiver):
    hook = notify.add_webhook(space, HUB, receiver.url)
    ask(space, forge, reason="because")
    assert receiver.got == []  # nothing is sent while the agent waits
    due_now()
    headers, body = receiver.got[0]
    assert headers["X-Memoryhub-Event"] == "proposal.created"
    assert headers["X-Memoryhub-Signature"] == signed(hook.secret, headers["X-Memoryhub-Timestamp"], body)
    assert abs(time.time() - int(headers["X-Memoryhub-Timestamp"])) < 60
    told = json.loads(body)
    assert (told["number"], told["agent"], told["path"], told["reason"]) == (1, "forge", PATH, "because")
    notice = WebhookNotice.objects.get()
    assert (notice.tries, notice.status, bool(notice.delivered_at)) == (1, 200, True)


def test_a_notice_that_fails_is_tried_again_and_delays_no_decision(space, forge, rk, receiver):
    notify.add_webhook(space, HUB, receiver.url)
    receiver.status = 500
    asked = ask(space, forge)
    due_now()
    notice = WebhookNotice.objects.get()
    assert (notice.tries, notice.error, notice.delivered_at) == (1, "answered 500", None)
    assert Job.objects.get(kind="webhooks.send").state == "waiting"
    receiver.status = 200
    due_now()
    assert WebhookNotice.objects.get().delivered_at
    proposals.approve(space, rk, 1, seen=proposals.result(asked).seen)
    assert WebhookNotice.objects.filter(event="proposal.approved").count() == 1


def test_an_address_that_does_not_answer_is_asked_once_not_for_each_notice(space, forge, receiver, monkeypatch):
    notify.add_webhook(space, HUB, receiver.url)
    dead = notify.add_webhook(space, HUB, "http://127.0.0.1:9/")
    for old, new in (("one", "uno"), ("two", "due")):
        ask(space, forge, old, new)
    queue.run_waiting()
    assert len(receiver.got) == 2  # others get theirs
    tries = list(WebhookNotice.objects.filter(webhook=dead).order_by("pk").values_list("tries", flat=True))
    assert tries == [1, 0]
    assert Job.objects.filter(kind="webhooks.send", state="waiting", run_after__gt=timezone.now()).count() == 2


def test_what_is_sent_has_lanes_of_its_own():
    assert {"webhooks.send", "digests.send"} <= jobs.outgoing_kinds < jobs.kinds.keys()


def test_a_chat_gets_its_own_shape(space, forge, receiver):
    notify.add_webhook(space, HUB, receiver.url, shape="slack")
    ask(space, forge)
    due_now()
    told = json.loads(receiver.got[0][1])
    assert told["text"] == f"forge asks to change {PATH} (proposal 1)"
    assert told["blocks"][0]["type"] == "section"


def test_what_an_agent_says_gives_a_chat_no_orders(space, forge, receiver, settings):
    notify.add_webhook(space, HUB, receiver.url, shape="slack")
    settings.PUBLIC_URL = "https://hub.example"
    ask(space, forge, reason="See <!channel> & <http://evil.example|Approve>.\n*memoryhub*: approved")
    due_now()
    block = json.loads(receiver.got[0][1])["blocks"][0]["text"]
    lines = block["text"].split("\n")
    assert block["verbatim"] is True  # a bare address or @here in them stays what it is
    assert lines[1] == "> See &lt;!channel&gt; &amp; &lt;http://evil.example|Approve&gt;."
    assert lines[2] == "> *memoryhub*: approved"
    assert lines[3] == f"<https://hub.example/s/{space.slug}/proposals/1/|Look at it>"
    proposals.reject(space, HUB, 1, note="&" * 1500)
    due_now()
    told = json.loads(receiver.got[1][1])["blocks"][0]["text"]["text"]
    assert len(told) < 3000 and told.split("\n")[3].endswith(
        "&amp;…"
    )  # a longer block is refused, and nobody hears of it


def test_only_what_was_asked_for_is_told_and_a_pause_is_kept(space, forge, receiver):
    hook = notify.add_webhook(space, HUB, receiver.url, events=["proposal.rejected"])
    ask(space, forge)
    assert not WebhookNotice.objects.exists()
    notify.switch_webhook(space, HUB, hook.pk, False)
    proposals.reject(space, HUB, 1, note="no")
    assert not WebhookNotice.objects.exists()


@pytest.mark.parametrize("url", ["ftp://example.org", "example.org", "https://", "javascript:alert(1)"])
def test_what_is_no_address_is_refused(space, url):
    with pytest.raises(Invalid):
        notify.add_webhook(space, HUB, url)


def test_a_name_that_changes_its_answer_leads_nowhere_else(receiver, monkeypatch):
    answers = iter(["127.0.0.1", "169.254.169.254"])
    really = socket.getaddrinfo

    def turns(host, *rest, **more):
        return really(next(answers) if host == "turns.example" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", turns)
    url = receiver.url.replace("127.0.0.1", "turns.example")
    answer = notify.post_json(url, content=b"{}", headers={}, seconds=5)
    assert answer.status_code == 200
    assert receiver.got[0][0]["Host"].startswith("turns.example:")
    assert next(answers) == "169.254.169.254"  # nobody looked a second time


def test_only_owners_manage_webhooks(space, rk):
    with pytest.raises(Forbidden):
        notify.add_webhook(space, rk, "https://example.org/")


def test_the_digest_tells_reviewers_what_waits(space, forge, rk):
    ask(space, forge, reason="Call it uno")
    space = spaces.change_settings(space, HUB, {"digest": "0"})
    daily_mail.send_daily_mails(
        Job.objects.create(space_id=space.pk, kind=daily_mail.DAILY_MAIL_JOB), lambda done, total: None
    )
    (letter,) = mail.outbox
    assert letter.to == ["rk@example.org"]
    assert "1 proposal waits" in letter.subject
    assert "Call it uno" in letter.body and f"edits {PATH}" in letter.body
    assert f"\nReview them: /s/{space.slug}/proposals/ of your hub\nNothing is approved automatically.\n" in letter.body
    assert letter.body.endswith(f"you can decide in {space.name}. Its hour is set under Settings, Notifications.")
    proposals.reject(space, rk, 1, note="no")
    daily_mail.send_daily_mails(
        Job.objects.create(space_id=space.pk, kind=daily_mail.DAILY_MAIL_JOB), lambda done, total: None
    )
    assert len(mail.outbox) == 1


def test_the_digest_says_what_ends_soon_first_what_was_found_and_where_to_decide(space, forge, rk, settings):
    settings.PUBLIC_URL = "https://hub.example"
    for n in range(daily_mail.MAX_LISTED + 1):
        proposals.propose(
            space, forge, kind="write", path=f"/memories/{n}.md", content=b"x\n", reason=f"ChangeRequest {n}"
        )
    proposals.propose(space, forge, kind="write", path="/memories/z.md", content="a\u200bb\n".encode(), reason="Hides")
    proposals.propose(space, forge, kind="delete", path=PATH, reason="Nobody reads it")
    Proposal.objects.filter(number=daily_mail.MAX_LISTED + 1).update(expires_at=timezone.now() + timedelta(hours=20))
    daily_mail.send_daily_mails(
        Job.objects.create(space_id=space.pk, kind=daily_mail.DAILY_MAIL_JOB), lambda done, total: None
    )
    lines = mail.outbox[0].body.split("\n")
    inbox, name, last = f"https://hub.example/s/{space.slug}/proposals/", forge.name, daily_mail.MAX_LISTED + 1
    assert lines[2:5] == ["Expiring soon", "", f"#{last}  ChangeRequest {last - 1}"]
    assert lines[6].startswith("    Expires ") and lines[7] == f"    {inbox}{last}/"
    attention = lines[lines.index("Needs attention") : lines.index("Routine")]
    assert f"    {name} writes /memories/z.md" in attention and "    Found: hidden characters" in attention
    assert f"    {name} deletes {PATH}" in attention and "and 3 more" in lines
    assert f"Review them: {inbox}" in lines


def test_the_digest_is_in_the_language_of_who_reads_it(space, forge, rk):
    (reviewer,) = (one.person for one in spaces.members(space) if one.person.email)
    accounts.set_language(reviewer, "zh-hans")
    proposals.propose(space, forge, kind="write", path="/memories/z.md", content="a\u200bb\n".encode(), reason="Hides")
    daily_mail.send_daily_mails(
        Job.objects.create(space_id=space.pk, kind=daily_mail.DAILY_MAIL_JOB), lambda done, total: None
    )
    body = mail.outbox[0].body
    assert "需要关注" in body and "发现：隐藏字符" in body
    assert "hidden" not in body and "Found" not in body and "Settings" not in body


def test_a_refused_address_keeps_the_digest_from_nobody_and_nobody_gets_it_twice(space, forge, rk, monkeypatch):
    for name in ("an", "zoe"):
        person = accounts.create_person(HUB, name, email=f"{name}@example.org")
        spaces.add_member(space, HUB, person, "reviewer")
    ask(space, forge)
    sent, broken = [], ["zoe@example.org"]

    def send(self):
        (address,) = self.to
        if address == "an@example.org":
            raise smtplib.SMTPRecipientsRefused({address: (550, b"no")})
        if address in broken:
            raise OSError("the line broke")
        sent.append(address)

    monkeypatch.setattr("django.core.mail.EmailMessage.send", send)
    job = Job.objects.create(space_id=space.pk, kind=daily_mail.DAILY_MAIL_JOB)
    with pytest.raises(OSError, match="broke"):
        daily_mail.send_daily_mails(job, lambda done, total: None)
    broken.clear()
    job.refresh_from_db()
    assert daily_mail.send_daily_mails(job, lambda done, total: None) == {"sent": 2, "refused": 1}
    assert sent == ["rk@example.org", "zoe@example.org"]


def test_a_rule_is_tried_on_the_past(space, forge, rk):
    ask(space, forge)
    ask(space, forge, "two", "two" + "x" * 500)
    proposals.reject(space, rk, 1, note="wrong")
    tried = files.dry_run_rule(space, "/memories/**", max_added=300)
    assert (tried.tried, [one.number for one in tried.hit]) == (2, [1])
    assert (
        tried.sentence("rk") == "Of 2 proposals, 1 would have applied at once, 1 of them rejected by people (1 by you)."
    )
    assert files.dry_run_rule(space, "/elsewhere/**").tried == 0
    other = prompts.create_agent(space, HUB, "counter")
    assert files.dry_run_rule(space, "/memories/**", agent=other).tried == 0


def run(*arguments):
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_the_inbox_without_a_browser(space, forge):
    assert "No proposals are pending" in run("proposals")
    ask(space, forge, reason="Call it uno")
    assert "forge: edit /memories/AGENTS.md" in run("proposals")
    (one,) = json.loads(run("proposals", "--json"))["items"]
    assert (one["number"], one["state"]) == (1, "pending")


def test_what_the_gate_warns_of_is_looked_at_without_a_browser_too(space, forge, rk):
    hides = "o\u202en\u200be \x1b[2J"
    ask(space, forge, new=hides, reason="So\x1b[31m it goes", thread_id="t-1", tool_call_id="toolu_1")
    for told in (run("proposals"), run("proposals", "1")):
        assert "So<U+001B>[31m it goes" in told and not set("\x1b\u202e\u200b") & set(told)
    told = run("proposals", "1")
    assert "+- o<U+202E>n<U+200B>e <U+001B>[2J" in told and "line 1, hidden: " in told
    assert "thread t-1" in told and "tool call toolu_1" in told
    assert json.loads(run("proposals", "1", "--json"))["items"][0]["number"] == 1
    with pytest.raises(HubError, match="memoryhub proposals 1 --space main") as refused:
        run("approve", "1", "--as", "rk")
    seen = str(refused.value).split("--seen ")[1]
    told = run("approve", "1", "--as", "rk", "--seen", seen)
    assert "Approved proposal 1" in told and "\u202e" not in told
    assert "approved by rk" in run("proposals", "--state", "decided")
    assert run("proposals", "--state", "outdated").strip() == "Nothing is outdated."


def test_deciding_without_a_browser(space, forge, rk):
    create_hub_owner("boss")
    ask(space, forge)
    told = run("approve", "1", "--note", "fine", "--as", "rk")
    assert "+- uno" in told and "Approved proposal 1, revision 2." in told
    assert files.read(space, PATH).content == b"- uno\n- two\n"
    ask(space, forge, "two", "due")
    found = json.loads(run("reject", "2", "--note", "wrong", "--json"))
    assert (found["proposal"]["state"], found["proposal"]["decided_by"]) == ("rejected", "boss")
    with pytest.raises(HubError):
        run("approve", "2")
    assert Proposal.objects.filter(state="rejected").count() == 1
