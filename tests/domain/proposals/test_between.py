"""What happens between the moment when somebody looks at a proposal and their decision."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, files, notify, prompts, proposals, spaces
from memoryhub.errors import HubError
from memoryhub.models import HUB, ActivityLine, Actor, Mount, Proposal, Revision, Space, Webhook, WebhookNotice

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/memories/notes/rules.md"
TEXT = "- Run the tests with `pytest -q`.\n- Staging deploys from main.\n"


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

    def member(self, name: str, role: str) -> Actor:
        person = accounts.create_person(HUB, f"{name}-{self.space.slug}")
        spaces.add_member(self.space, HUB, person, role)
        return Actor.of_person(person, role)

    def ask(self, old: str, new: str) -> Proposal:
        change = {"old_string": old, "new_string": new}
        return proposals.propose(self.space, self.forge, kind="edit", path=PATH, change=change)

    def seen_now(self) -> str:
        return proposals.result(proposals.get(self.space, self.asked.number)).seen

    def approve(self, seen: str) -> Proposal:
        # As another request has it: what it chose may be another by now.
        return proposals.approve(Space.objects.get(pk=self.space.pk), self.rk, self.asked.number, seen=seen)

    def texts(self) -> list[str]:
        found = Revision.objects.within(self.space).order_by("number", "pk").values_list("content", flat=True)
        return [bytes(text).decode() for text in found]

    def outcome(self, seen: str) -> str:
        """The state after a decision, or why it was refused. What is stored and told agrees with it."""
        try:
            said = self.approve(seen).state
        except HubError as refusal:
            said = refusal.details.get("state") if refusal.code == "changed_since_seen" else refusal.code
            said = said or refusal.code
        state = proposals.get(self.space, self.asked.number).state
        assert said not in ("approved", "pending", "outdated") or said == state
        lines = ActivityLine.objects.within(self.space).filter(verb="proposals.approve", actor_name=self.rk.name)
        assert lines.count() == (said in ("approved", "pending"))
        told = WebhookNotice.objects.within(self.space).filter(event="proposal.approved").count()
        assert told == (said == "approved" and Webhook.objects.within(self.space).exists())
        return said


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene("books", tmp_path)


def reject(scene: Scene) -> None:
    proposals.reject(scene.space, scene.ops, scene.asked.number, note="Too vague.")


def move_the_mount(scene: Scene) -> None:
    Mount.objects.within(scene.space).update(prefix="/elsewhere/")


def mount_nearer(scene: Scene) -> None:
    (scene.folder / "nearer").mkdir()
    where = str(scene.folder / "nearer")
    files.add_mount(scene.space, HUB, "/memories/notes/", store="filesystem", directory=where)


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


HAPPENS: dict[str, tuple[Callable[[Scene], Any], str]] = {
    "nothing changes": (lambda scene: None, "approved"),
    "it is rejected": (reject, "already_decided"),
    "it is approved": (
        lambda scene: proposals.approve(scene.space, scene.ops, scene.asked.number, seen=scene.seen_now()),
        "already_decided",
    ),
    "it is taken back": (
        lambda scene: proposals.withdraw(scene.space, scene.forge, scene.asked.number), "already_decided",
    ),
    "its date passes": (end, "already_decided"),
    "two have to agree": (ask_for_two, "pending"),
    "others have to decide": (let_others_decide, "own_proposal"),
    "the agent goes": (take_the_agent_away, "approved"),
    "the file changes elsewhere": (write_there, "changed_since_seen"),
    "the file loses the place": (write_it_away, "outdated"),
    "the file goes": (lambda scene: files.delete(scene.space, HUB, PATH), "outdated"),
    "the file moves": (lambda scene: files.move(scene.space, HUB, PATH, "/memories/other.md"), "outdated"),
    "somebody asks for more of it": (ask_for_more, "approved"),
    "somebody wants notices": (
        lambda scene: notify.add_webhook(scene.space, HUB, "https://example.org/hook"), "approved",
    ),
    "the mount goes": (move_the_mount, "outdated"),
    "a nearer mount comes": (mount_nearer, "approved"),  # the text goes there
    "the mount changes": (lambda scene: Mount.objects.within(scene.space).update(policy="trusted"), "approved"),
}  # fmt: skip


@pytest.mark.parametrize("store", ["database", "filesystem"])
@pytest.mark.parametrize("happens", HAPPENS)
def test_what_happens_between_the_look_and_the_decision_counts(tmp_path, happens, store) -> None:
    scene = Scene("books", tmp_path, store)
    seen, before = scene.seen_now(), scene.texts()
    act, expected = HAPPENS[happens]
    act(scene)
    meanwhile = scene.texts()
    assert scene.outcome(seen) == expected
    if expected == "approved":
        assert scene.texts() == [*before, TEXT.replace("pytest -q", "make test-fast")]
    else:
        assert scene.texts() == meanwhile, "a refusal writes nothing"


def test_what_was_refused_is_approved_after_another_look(scene) -> None:
    seen = scene.seen_now()
    write_there(scene)
    assert scene.outcome(seen) == "changed_since_seen"
    assert scene.outcome(scene.seen_now()) == "approved"
