"""What a process keeps of a proposal that somebody looks at: it makes their decision quicker, and never another one."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import accounts, files, notify, prompts, proposals, spaces
from memoryhub.domain.proposals import decide, results, snapshot
from memoryhub.errors import HubError, Unavailable
from memoryhub.models import HUB, ActivityLine, Actor, Mount, Proposal, Revision, Space, WebhookNotice

from .test_proposals_races import dying

write_module = importlib.import_module("memoryhub.domain.files.write")

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/memories/notes/rules.md"
TEXT = "- Run the tests with `pytest -q`.\n- Staging deploys from main.\n"


@pytest.fixture(autouse=True)
def nothing_kept():
    snapshot._kept.clear()


class Scene:
    """A space with one proposal that waits."""

    def __init__(self, slug: str, folder: Path, store: str = "database") -> None:
        self.folder = folder / slug
        self.folder.mkdir()
        self.space = spaces.create(HUB, slug)
        where = {"directory": str(self.folder)} if store == "filesystem" else {}
        files.add_mount(self.space, HUB, "/memories/", store=store, policy="review", **where)
        self.forge = prompts.create_agent(self.space, HUB, f"forge-{slug}")
        self.rk, self.ops = self.member("rk", "owner"), self.member("ops", "reviewer")
        files.write(self.space, HUB, PATH, TEXT.encode())
        self.asked = self.ask("pytest -q", "make test-fast")
        self.other: Proposal | None = None

    def member(self, name: str, role: str) -> Actor:
        person = accounts.create_person(HUB, f"{name}-{self.space.slug}")
        spaces.add_member(self.space, HUB, person, role)
        return Actor.of_person(person, role)

    def ask(self, old: str, new: str) -> Proposal:
        change = {"old_string": old, "new_string": new}
        return proposals.propose(self.space, self.forge, kind="edit", path=PATH, change=change)

    def look(self) -> str:
        return proposals.looked(proposals.get(self.space, self.asked.number)).seen

    def approve(self, seen: str) -> Proposal:
        # As another request has it: what it chose may be another by now.
        return proposals.approve(Space.objects.get(pk=self.space.pk), self.rk, self.asked.number, seen=seen)

    def outcome(self, seen: str) -> list[Any]:
        """All that a decision is seen by."""
        try:
            said: Any = self.approve(seen).state
        except HubError as refusal:
            said = (refusal.code, refusal.message.replace(self.space.slug, ""))
        states = Proposal.objects.within(self.space).order_by("number").values_list("state", "applied_revision", "note")
        lines = ActivityLine.objects.within(self.space).order_by("id").values_list("verb", flat=True)
        notices = WebhookNotice.objects.within(self.space).values_list("event", flat=True)
        texts = Revision.objects.within(self.space).order_by("number").values_list("path", "content")
        return [said, list(states), list(lines), list(notices), [(path, bytes(text)) for path, text in texts]]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene("books", tmp_path)


def reject(scene: Scene) -> None:
    proposals.reject(scene.space, scene.ops, scene.asked.number, note="Too vague.")


def move_the_mount(scene: Scene) -> None:
    Mount.objects.within(scene.space).update(prefix="/elsewhere/")


def mount_nearer(scene: Scene) -> None:
    files.add_mount(scene.space, HUB, "/memories/notes/", store="filesystem", directory=str(scene.folder))


def ask_for_more(scene: Scene) -> None:
    scene.ask("`pytest -q`", "`make all`")


def end(scene: Scene) -> None:
    Proposal.objects.within(scene.space).update(expires_at=timezone.now() - timedelta(seconds=1))


def take_the_agent_away(scene: Scene) -> None:
    Proposal.objects.within(scene.space).update(agent=None)


def ask_for_two(scene: Scene) -> None:
    Proposal.objects.within(scene.space).update(reviewers=2)


def let_others_decide(scene: Scene) -> None:
    spaces.change_settings(scene.space, HUB, {"who_decides": "others"})
    accounts.create_token(scene.space, scene.rk, agent=scene.forge)


def write_there(scene: Scene) -> None:
    files.write(scene.space, HUB, PATH, b"- Another first line.\n" + TEXT.encode())


def write_it_away(scene: Scene) -> None:
    files.write(scene.space, HUB, PATH, b"- Nothing of it is left.\n")


CHANGES: dict[str, Callable[[Scene], Any]] = {
    "nothing changes": lambda scene: None,
    "it is rejected": reject,
    "it is approved": lambda scene: proposals.approve(scene.space, scene.ops, scene.asked.number, seen=scene.look()),
    "it is taken back": lambda scene: proposals.withdraw(scene.space, scene.forge, scene.asked.number),
    "its date passes": end,
    "two have to agree": ask_for_two,
    "others have to decide": let_others_decide,
    "the agent goes": take_the_agent_away,
    "the file changes elsewhere": write_there,
    "the file loses the place": write_it_away,
    "the file goes": lambda scene: files.delete(scene.space, HUB, PATH),
    "the file moves": lambda scene: files.move(scene.space, HUB, PATH, "/memories/other.md"),
    "somebody asks for more of it": ask_for_more,
    "somebody wants notices": lambda scene: notify.add_webhook(scene.space, HUB, "https://example.org/hook"),
    "the mount goes": move_the_mount,
    "a nearer mount comes": mount_nearer,
    "a nearer mount comes alone": lambda scene: Mount.objects.create(space=scene.space, prefix="/memories/notes/"),
    "the mount changes": lambda scene: Mount.objects.within(scene.space).update(policy="trusted"),
}


@pytest.mark.parametrize("happens", CHANGES)
def test_a_decision_after_a_look_is_the_one_that_would_be_taken_without(tmp_path, monkeypatch, happens) -> None:
    kept, plain = Scene("kept", tmp_path), Scene("plain", tmp_path)
    seen = kept.look()
    assert len(snapshot._kept) == 1 and plain.look() == seen
    own = dict(snapshot._kept)
    for scene in (kept, plain):
        CHANGES[happens](scene)
    snapshot._kept.clear()
    looks: list[int] = []
    monkeypatch.setattr(decide, "look", lambda space, number: looks.append(number) or snapshot.look(space, number))
    expected = plain.outcome(seen)
    assert len(looks) == 1
    snapshot._kept.update({key: one for key, one in own.items() if key[0] == kept.space.pk})
    assert kept.outcome(seen) == expected
    assert len(looks) == (1 if happens == "nothing changes" else 2), "what was kept decided on its own"
    assert not snapshot._kept


def test_what_was_kept_refuses_nobody(scene) -> None:
    scene.look()
    files.write(scene.space, HUB, PATH, b"- Another first line.\n" + TEXT.encode())
    scene.approve(results.result(scene.asked).seen)  # as another process shows it

    scene.asked = scene.ask("Staging", "Production")
    seen = scene.look()
    snapshot._kept[
        scene.space.pk, scene.asked.number
    ].proposal.expires_at = timezone.now()  # it was given more time since
    assert scene.approve(seen).state == "approved"


def test_a_lost_answer_is_not_asked_for_again(scene, monkeypatch) -> None:
    seen = scene.look()

    def lose(*_: Any, **__: Any) -> None:
        raise Unavailable("The database went away before it answered.")

    monkeypatch.setattr(write_module, "put_text", lose)
    monkeypatch.setattr(decide, "look", lambda *_: pytest.fail("it may have been done"))
    with pytest.raises(Unavailable):
        scene.approve(seen)


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_beside_its_one_statement_all_is_done_or_nothing(scene, when) -> None:
    seen = scene.look()
    connections.close_all()
    pid = os.fork()
    if pid == 0:
        try:
            statements.together = dying(statements.together, when)  # type: ignore[assignment]
            snapshot.look = snapshot.look = None  # type: ignore[assignment]  # what was kept decides
            scene.approve(seen)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    number = 1 if when == "before" else 2
    assert Proposal.objects.get().state == ("pending" if when == "before" else "approved")
    assert Revision.objects.count() == files.read(scene.space, PATH).revision == number
    assert ActivityLine.objects.filter(verb="proposals.approve").count() == number - 1


def test_only_what_cannot_change_unseen_is_kept(tmp_path, scene, monkeypatch) -> None:
    with transaction.atomic():  # its own later changes would look the same
        scene.look()
    assert not snapshot._kept
    on_disk = Scene("disk", tmp_path, "filesystem")
    monkeypatch.setattr(snapshot, "_agrees", lambda *_: True)
    on_disk.look()
    assert not snapshot._kept
    builds_on = scene.ask("make test-fast", "make all")
    assert builds_on.stacked_on == scene.asked.number
    proposals.looked(builds_on)
    scene.look()  # another waits for the same path
    assert not snapshot._kept
    scene.approve(results.result(scene.asked).seen)
    proposals.looked(proposals.get(scene.space, builds_on.number))  # what it stands on is no row of its desk
    assert not snapshot._kept


def test_what_is_kept_is_bounded(scene, monkeypatch) -> None:
    monkeypatch.setattr(snapshot, "MOST", 3)
    first = scene.asked
    scene.look()
    for number in range(3):
        path = f"/memories/{number}.md"
        files.write(scene.space, HUB, path, b"- one\n")
        change = {"old_string": "one", "new_string": "two"}
        scene.asked = proposals.propose(scene.space, scene.forge, kind="edit", path=path, change=change)
        scene.look()
        proposals.looked(proposals.get(scene.space, first.number))  # what is looked at again is the newest
    assert [key[1] for key in snapshot._kept] == [scene.asked.number - 1, scene.asked.number, first.number]
    monkeypatch.setattr(snapshot, "LARGEST", 5)
    snapshot._kept.clear()
    scene.look()
    assert not snapshot._kept


def test_a_look_says_what_the_whole_way_says(tmp_path) -> None:
    for store in ("database", "filesystem"):
        scene = Scene(store, tmp_path, store)
        asked = proposals.get(scene.space, scene.asked.number)
        assert proposals.looked(asked) == results.result(asked)
