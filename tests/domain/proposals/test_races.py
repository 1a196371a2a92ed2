"""Deciding under PostgreSQL's real locks: many at once, killed at each step, the database going away."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import accounts, files, jobs, notify, prompts, proposals, spaces
from memoryhub.domain.files import change, revisions
from memoryhub.domain.files.disk import sync as disk
from memoryhub.domain.notify import daily_mail, http
from memoryhub.domain.proposals import decide, kinds, waiting
from memoryhub.errors import HubError
from memoryhub.models import HUB, ActivityLine, Actor, File, Job, Mount, Proposal, Revision, Webhook, WebhookNotice
from memoryhub.stores.filesystem import FilesystemStore

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/memories/AGENTS.md"


EVERY_STORE = pytest.mark.parametrize("space", ["filesystem", "database"], indirect=True)


@pytest.fixture
def space(request, tmp_path):
    space, store = spaces.create(HUB, "books"), getattr(request, "param", "filesystem")
    where = {"directory": str(tmp_path)} if store == "filesystem" else {}
    files.add_mount(space, HUB, "/memories/", store=store, policy="review", **where)
    return space


@pytest.fixture
def forge(space):
    return prompts.create_agent(space, HUB, "forge")


def reviewer(space, name):
    person = accounts.create_person(HUB, name)
    spaces.add_member(space, HUB, person, "reviewer")
    return Actor.of_person(person, "reviewer")


def ask(space, forge, old, new):
    return proposals.propose(space, forge, kind="edit", path=PATH, change={"old_string": old, "new_string": new})


def at_once(acts: list[Callable[[], Any]]) -> list[Any]:
    """Runs them in threads that start together; answers or refusals in order."""
    answers: list[Any] = [None] * len(acts)
    gate = threading.Barrier(len(acts))

    def run(number: int) -> None:
        try:
            gate.wait()
            answers[number] = acts[number]()
        except Exception as error:
            answers[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not any(thread.is_alive() for thread in threads), "one waits for a lock that the test itself has"
    return answers


@EVERY_STORE
def test_of_sixteen_reviewers_one_succeeds(space, forge):
    files.write(space, HUB, PATH, b"- one\n")
    seen = proposals.result(ask(space, forge, "one", "uno")).seen
    actors = [reviewer(space, f"r{n}") for n in range(16)]
    answers = at_once([lambda actor=actor: proposals.approve(space, actor, 1, seen=seen) for actor in actors])
    assert sum(isinstance(one, Proposal) for one in answers) == 1
    assert {one.code for one in answers if isinstance(one, HubError)} == {"already_decided"}
    assert Revision.objects.count() == 2
    assert ActivityLine.objects.filter(verb="proposals.approve").count() == 1
    assert files.read(space, PATH).content == b"- uno\n"


@EVERY_STORE
def test_half_approve_and_half_reject_and_one_wins(space, forge):
    files.write(space, HUB, PATH, b"- one\n")
    seen = proposals.result(ask(space, forge, "one", "uno")).seen
    actor = reviewer(space, "rk")
    acts = [
        lambda: proposals.approve(space, actor, 1, seen=seen),
        lambda: proposals.reject(space, actor, 1, note="no"),
    ] * 6
    answers = at_once(acts)
    assert sum(isinstance(one, Proposal) for one in answers) == 1
    applied = Proposal.objects.get().state == "approved"
    assert (files.read(space, PATH).content == b"- uno\n") is applied


def before_the_lock(monkeypatch, act: Callable[[], Any], step: str = "_lock") -> None:
    """Lets somebody else do something after a decision began, and before it locks the proposal, or takes another step."""
    real = getattr(decide, step)

    def lock(*args: Any) -> Any:
        monkeypatch.setattr(decide, step, real)
        (answer,) = at_once([act])
        assert not isinstance(answer, Exception), answer
        return real(*args)

    monkeypatch.setattr(decide, step, lock)


@pytest.fixture
def seen_sha(space, forge):
    files.write(space, HUB, PATH, b"- one\n")
    return proposals.result(ask(space, forge, "one", "uno")).seen


def test_who_was_quicker_is_told_to_the_second(space, seen_sha, monkeypatch):
    one, other = reviewer(space, "rk"), reviewer(space, "mk")
    before_the_lock(monkeypatch, lambda: proposals.approve(space, other, 1, seen=seen_sha))
    with pytest.raises(HubError) as refusal:
        proposals.approve(space, one, 1, seen=seen_sha)
    assert (refusal.value.code, refusal.value.details["decided_by"]) == ("already_decided", "mk")
    assert Revision.objects.count() == 2
    assert ActivityLine.objects.filter(verb="proposals.approve").count() == 1


def test_what_was_rejected_in_between_is_not_applied(space, seen_sha, monkeypatch):
    before_the_lock(monkeypatch, lambda: proposals.reject(space, reviewer(space, "mk"), 1, note="no"))
    with pytest.raises(HubError) as refusal:
        proposals.approve(space, reviewer(space, "rk"), 1, seen=seen_sha)
    assert refusal.value.code == "already_decided"
    assert (Proposal.objects.get().state, Revision.objects.count()) == ("rejected", 1)
    assert files.read(space, PATH).content == b"- one\n"


# On disk a file that was written a moment ago is looked at again, and its row locked, before the change is made.
@pytest.mark.parametrize(
    ("space", "step"), [("filesystem", "_lock"), ("database", "_lock"), ("database", "_apply")], indirect=["space"]
)
def test_a_file_that_moves_on_in_between_is_looked_at_again(space, seen_sha, monkeypatch, step):
    before_the_lock(monkeypatch, lambda: files.write(space, HUB, PATH, b"- one\n- two\n"), step)
    with pytest.raises(HubError) as refusal:
        proposals.approve(space, reviewer(space, "rk"), 1, seen=seen_sha)
    assert refusal.value.code == "changed_since_seen"
    assert Proposal.objects.get().state == "pending"
    assert files.read(space, PATH).content == b"- one\n- two\n"


def test_a_row_that_only_was_touched_in_between_stops_nobody(space, seen_sha, monkeypatch):
    before_the_lock(monkeypatch, lambda: File.objects.update(used_at=timezone.now()))
    assert proposals.approve(space, reviewer(space, "rk"), 1, seen=seen_sha).state == "approved"
    assert files.read(space, PATH).content == b"- uno\n"
    assert Revision.objects.count() == 2


def test_webhooks_are_told_of_a_decision_with_it_or_not_at_all(space, seen_sha, monkeypatch):
    notify.add_webhook(space, HUB, "http://127.0.0.1:9/", events=["proposal.approved"])
    monkeypatch.setattr(notify, "add_notice", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        proposals.approve(space, reviewer(space, "rk"), 1, seen=seen_sha)
    assert (Proposal.objects.get().state, Revision.objects.count()) == ("pending", 1)
    assert not ActivityLine.objects.filter(verb="proposals.approve").exists()


def test_a_file_that_no_mount_leads_to_is_gone_for_a_decision(space, seen_sha):
    files.remove_mount(space, HUB, Mount.objects.get())
    with pytest.raises(HubError) as refusal:
        proposals.approve(space, reviewer(space, "rk"), 1, seen=seen_sha)
    assert refusal.value.details["state"] == "outdated"
    assert Revision.objects.count() == 1


def test_a_decision_whose_connection_breaks_is_not_done_and_not_sent_again(space, seen_sha, monkeypatch):
    real, sent = statements.execute, []

    def cut(wrapper: Any, sql: str, *rest: Any, **more: Any) -> Any:
        found = real(wrapper, sql, *rest, **more)
        if "INSERT INTO memoryhub_revision" in sql:
            sent.append(sql)
            wrapper.connection.close()
            raise OperationalError("the server closed the connection unexpectedly")
        return found

    actor = reviewer(space, "rk")
    monkeypatch.setattr(statements, "execute", cut)
    with pytest.raises(OperationalError):
        proposals.approve(space, actor, 1, seen=seen_sha)
    connections.close_all()
    assert (Proposal.objects.get().state, Revision.objects.count(), len(sent)) == ("pending", 1, 1)
    assert files.read(space, PATH).content == b"- one\n"


@EVERY_STORE
def test_what_a_decision_leaves_behind(space, seen_sha, tmp_path):
    proposals.approve(space, reviewer(space, "rk"), 1, seen=seen_sha)
    told = ActivityLine.objects.order_by("id").values_list("actor_name", "verb", "thing", "adds", "path")
    assert list(told)[-2:] == [
        ("forge", "files.edit", PATH, "", PATH),
        ("rk", "proposals.approve", "proposal 1", f"to {PATH} by forge", PATH),
    ]
    file = File.objects.get()
    assert (file.revision, file.written_revision) == (2, 2)
    if Mount.objects.get().store == "filesystem":
        assert (tmp_path / "AGENTS.md").read_bytes() == b"- uno\n"
        assert file.written_sha256 == file.sha256
        assert Job.objects.get(kind="files.forget").payload["name"] in os.listdir(tmp_path)


def test_a_save_beside_a_decision_waits_for_it_and_meets_what_it_made(space, seen_sha, monkeypatch):
    """The decision locks the file and looks whether it still has the text that it looked at before it changes it."""
    real, saved = decide.close, []

    def save() -> None:
        try:
            files.write(space, HUB, PATH, b"- two\n", if_match=hashlib.sha256(b"- one\n").hexdigest())
        except HubError as refusal:
            saved.append(refusal.code)
        finally:
            connections.close_all()

    thread = threading.Thread(target=save)

    def close(*args: Any, **more: Any) -> None:
        thread.start()
        thread.join(0.3)
        assert thread.is_alive(), "it did not wait"
        real(*args, **more)

    actor = reviewer(space, "rk")
    monkeypatch.setattr(decide, "close", close)
    assert proposals.approve(space, actor, 1, seen=seen_sha).state == "approved"
    thread.join()
    assert saved == ["precondition_failed"] and files.read(space, PATH).content == b"- uno\n"


def test_moves_that_cross_wait_for_each_other_in_turn(space, forge, tmp_path):
    """Each holds a file that the other is to be named; a change on disk lets both come to the space's row while they look."""
    for name in ("a", "b"):
        files.write(space, HUB, f"/memories/{name}.md", name.encode())
    seen = {}
    for number, (name, to) in enumerate([("a", "b2"), ("b", "a2")], 1):
        path, change = f"/memories/{name}.md", {"to": f"/memories/{to}.md"}
        seen_sha = proposals.propose(space, forge, kind="move", path=path, change=change)
        seen[number] = proposals.result(seen_sha).seen
    actor = reviewer(space, "rk")
    acts = [lambda n=n: proposals.approve(space, actor, n, seen=seen[n]).state for n in seen]
    assert at_once(acts) == ["approved", "approved"]
    assert sorted(os.listdir(tmp_path))[-2:] == ["a2.md", "b2.md"]


def test_past_the_date_everybody_finds_it_expired_and_one_writes_it_down(space, forge, tmp_path):
    files.write(space, HUB, PATH, b"- one\n")
    seen = proposals.result(ask(space, forge, "one", "uno")).seen
    Proposal.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    actor = reviewer(space, "rk")
    acts = [lambda: proposals.approve(space, actor, 1, seen=seen), waiting.expire,
            lambda: proposals.expire_late(space), lambda: proposals.reject(space, actor, 1, note="no")] * 3  # fmt: skip
    answers = at_once(acts)
    refusals = [one for one in answers if isinstance(one, Exception)]
    assert {getattr(one, "code", one) for one in refusals} == {"already_decided"} and len(refusals) == 6
    assert proposals.get(space, 1).state == "expired"
    assert ActivityLine.objects.filter(verb="proposals.expire").count() == 1
    assert (tmp_path / "AGENTS.md").read_bytes() == b"- one\n"


@EVERY_STORE
def test_thirty_pending_edits_from_four_browsers(space, forge):
    files.write(space, HUB, PATH, "".join(f"- item {n:02} is old\n\n" for n in range(30)).encode())
    for n in range(30):
        ask(space, forge, f"item {n:02} is old", f"item {n:02} is new")

    def browse(actor: Actor, seed: int) -> int:
        mine, numbers = 0, list(range(1, 31))
        random.Random(seed).shuffle(numbers)
        for number in numbers:
            for _ in range(60):
                found = proposals.get(space, number)
                if found.state != "pending":
                    break
                try:
                    proposals.approve(space, actor, number, seen=proposals.result(found).seen)
                    mine += 1
                    break
                except HubError as refusal:
                    if refusal.code not in ("changed_since_seen", "already_decided"):
                        raise
        return mine

    actors = [reviewer(space, f"r{n}") for n in range(4)]
    answers = at_once([lambda n=n: browse(actors[n], n) for n in range(4)])
    assert sum(answers) == 30, answers
    text = "".join(f"- item {n:02} is new\n\n" for n in range(30)).encode()
    assert files.read(space, PATH).content == text
    assert File.objects.get().revision == 31
    assert sorted(Revision.objects.exclude(proposal=None).values_list("proposal", flat=True)) == list(range(1, 31))


def test_the_same_request_from_many_threads_is_one_proposal(space, forge):
    files.write(space, HUB, PATH, b"- one\n")
    answers = at_once([lambda: ask(space, forge, "one", "uno").number for _ in range(12)])
    assert set(answers) == {1}
    assert Proposal.objects.count() == 1


def test_numbers_have_no_gaps(space, forge):
    files.write(space, HUB, PATH, b"- one\n")
    answers = at_once([lambda n=n: ask(space, forge, "one", f"one and {n}").number for n in range(12)])
    assert sorted(answers) == list(range(1, 13))


# ---- killed in the middle

STEPS = {
    "before anything is locked": (decide, "_lock", "before"),
    "after all was locked": (decide, "_lock", "after"),
    "after the result was made": (decide, "result", "after"),
    "before the change": (kinds.ChangeKind, "apply", "before"),
    "before the revision": (change, "save_text", "before"),
    "after the revision": (revisions, "record_revision", "after"),
    "after the text was put": (change, "save_text", "after"),
    "before the proposal is closed": (decide, "close", "before"),
    "after the proposal was closed": (decide, "close", "after"),
    "after all was recorded": (decide, "_approve", "after"),
    "after the commit": (disk, "push_revision", "before"),
    "before the file is put in place": (FilesystemStore, "put", "before"),
    "after the file was put in place": (FilesystemStore, "put", "after"),
    "after the write was marked": (disk, "push_revision", "after"),
    "at the very end": (decide, "outdate_waiting", "before"),
}


def die(*args: Any, **kwargs: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(real: Callable[..., Any], when: str) -> Callable[..., Any]:
    def act(*args: Any, **kwargs: Any) -> Any:
        if when == "before":
            die()
        answer = real(*args, **kwargs)
        die()
        return answer

    return act


@pytest.mark.parametrize("disk", ["as it was written", "touched just now"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_while_approving_the_change_is_there_once_or_not_at_all(space, forge, tmp_path, step, disk):
    files.write(space, HUB, PATH, b"- one\n")
    if disk == "as it was written":  # else the disk is looked at again
        os.utime(tmp_path / "AGENTS.md", (1, 1))
        files.read(space, PATH)
    seen = proposals.result(ask(space, forge, "one", "uno")).seen
    ask(space, forge, "one", "due")  # another one, to be looked at after the decision
    actor = reviewer(space, "rk")
    connections.close_all()
    pid = os.fork()
    if pid == 0:
        home, name, when = STEPS[step]
        setattr(home, name, dying(getattr(home, name), when))
        try:
            proposals.approve(space, actor, 1, seen=seen)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"nothing was killed: {step} was never reached"
    approved = Proposal.objects.get(number=1).state == "approved"
    text = files.read(space, PATH).content  # the next touch mends what was left
    assert text == (b"- uno\n" if approved else b"- one\n")
    assert Revision.objects.filter(proposal=1).count() == int(approved)
    if not approved:
        proposals.approve(space, actor, 1, seen=proposals.result(proposals.get(space, 1)).seen)
    assert files.read(space, PATH).content == b"- uno\n"
    assert (tmp_path / "AGENTS.md").read_bytes() == b"- uno\n"
    assert Revision.objects.filter(proposal=1).count() == 1


def the_connection_breaks() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = cursor.fetchone()[0]
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend])
    other.close()


def test_the_database_going_away_in_the_middle_changes_nothing(space, forge, tmp_path, monkeypatch):
    files.write(space, HUB, PATH, b"- one\n")
    seen = proposals.result(ask(space, forge, "one", "uno")).seen
    actor = reviewer(space, "rk")
    real = decide.close

    def cut(*args: Any, **kwargs: Any) -> Any:
        the_connection_breaks()
        return real(*args, **kwargs)

    monkeypatch.setattr(decide, "close", cut)
    with pytest.raises(OperationalError):
        proposals.approve(space, actor, 1, seen=seen)
    connections.close_all()
    assert Proposal.objects.get().state == "pending"
    assert files.read(space, PATH).content == b"- one\n"


@pytest.mark.parametrize("status", [200, 500])
def test_a_notice_is_sent_once_though_the_database_goes_away_meanwhile(space, forge, monkeypatch, status):
    notify.add_webhook(space, HUB, "http://127.0.0.1:9/")
    notify.ping_webhook(space, HUB, Webhook.objects.get().pk)
    sent = []

    def post(*args: Any, **more: Any) -> Any:
        sent.append(args)
        the_connection_breaks()
        return SimpleNamespace(status_code=status)

    monkeypatch.setattr(http, "post_json", post)
    jobs.run(jobs.claim())
    notice = WebhookNotice.objects.get()
    assert (len(sent), notice.tries, notice.status, bool(notice.delivered_at)) == (1, 1, status, status == 200)
    assert Job.objects.get(kind="webhooks.send").state == ("done" if status == 200 else "waiting")


def test_a_digest_is_sent_once_though_the_database_goes_away_meanwhile(space, forge, monkeypatch):
    for name in ("an", "zoe"):
        person = accounts.create_person(HUB, name, email=f"{name}@example.org")
        spaces.add_member(space, HUB, person, "reviewer")
    proposals.propose(space, forge, kind="write", path=PATH, content=b"- two\n")
    jobs.enqueue(daily_mail.DAILY_MAIL_JOB, space=space)
    sent = []

    def send(letter: Any) -> None:
        sent.append(letter.to)
        the_connection_breaks()

    monkeypatch.setattr("django.core.mail.EmailMessage.send", send)
    jobs.run(jobs.claim())
    assert sent.count(["an@example.org"]) == sent.count(["zoe@example.org"]) == 1
    assert Job.objects.get(kind=daily_mail.DAILY_MAIL_JOB).state == "done"
