"""Deciding under PostgreSQL's real locks: many at once, killed at each step, the database going away."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from memoryhub.domain import agents, files, mounts, people, proposals, spaces, syncing
from memoryhub.domain.access import HUB, Actor
from memoryhub.domain.proposals import deciding, desk
from memoryhub.errors import HubError
from memoryhub.models import File, Proposal, Revision
from memoryhub.stores.filesystem import FilesystemStore

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/memories/AGENTS.md"


@pytest.fixture
def space(tmp_path):
    space = spaces.create(HUB, "books")
    mounts.add(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path), policy="review")
    return space


@pytest.fixture
def forge(space):
    return agents.create(space, HUB, "forge")


def reviewer(space, name):
    person = people.create(HUB, name)
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
    [thread.join() for thread in threads]
    return answers


def test_of_sixteen_reviewers_one_succeeds(space, forge, tmp_path):
    files.write(space, HUB, PATH, b"- one\n")
    seen = proposals.result(ask(space, forge, "one", "uno")).seen
    actors = [reviewer(space, f"r{n}") for n in range(16)]
    answers = at_once([lambda actor=actor: proposals.approve(space, actor, 1, seen=seen) for actor in actors])
    assert sum(isinstance(one, Proposal) for one in answers) == 1
    assert {one.code for one in answers if isinstance(one, HubError)} == {"already_decided"}
    assert Revision.objects.count() == 2
    assert (tmp_path / "AGENTS.md").read_bytes() == b"- uno\n"


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


def test_thirty_pending_edits_from_four_browsers(space, forge, tmp_path):
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
    assert (tmp_path / "AGENTS.md").read_bytes() == text
    assert File.objects.get().revision == 31
    assert sorted(Revision.objects.exclude(proposal=None).values_list("proposal", flat=True)) == list(range(1, 31))


def test_the_same_wish_from_many_threads_is_one_proposal(space, forge):
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
    "before it is taken": (deciding, "take", "before"),
    "after it was taken": (deciding, "take", "after"),
    "after looking": (desk.Desk, "result", "after"),
    "before the revision": (files, "put_text", "before"),
    "after the revision": (files, "put_text", "after"),
    "after the commit": (syncing, "push", "before"),
    "before the file is put in place": (FilesystemStore, "put", "before"),
    "after the file was put in place": (FilesystemStore, "put", "after"),
    "after the write was marked": (syncing, "push", "after"),
    "at the very end": (deciding, "mark_those_that_no_longer_apply", "before"),
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
    if disk == "as it was written":  # then one statement does it all, else the disk is asked first
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


def test_the_database_going_away_in_the_middle_changes_nothing(space, forge, tmp_path, monkeypatch):
    files.write(space, HUB, PATH, b"- one\n")
    seen = proposals.result(ask(space, forge, "one", "uno")).seen
    actor = reviewer(space, "rk")
    real = deciding.closing

    def cut(*args: Any, **kwargs: Any) -> Any:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backend = cursor.fetchone()[0]
        other = connection.copy()
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [backend])
        other.close()
        return real(*args, **kwargs)

    monkeypatch.setattr(deciding, "closing", cut)
    os.utime(tmp_path / "AGENTS.md", (1, 1))
    files.read(space, PATH)
    with pytest.raises(OperationalError):
        proposals.approve(space, actor, 1, seen=seen)
    connections.close_all()
    assert Proposal.objects.get().state == "pending"
    assert files.read(space, PATH).content == b"- one\n"
