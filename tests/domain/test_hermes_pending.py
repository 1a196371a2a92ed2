"""Changes of memory that Hermes keeps until somebody decides: proposals here, and its own files afterwards as it would leave them."""

from __future__ import annotations

import json
import os

import pytest

from memoryhub.domain import accounts, coding_agents, files, proposals, spaces, write_hooks
from memoryhub.errors import Conflict, HubError, Invalid, TooLarge
from memoryhub.models import HUB, Actor, Proposal
from tests.domain.files.test_disk_secrets import KEY, assert_nowhere

HERMES = coding_agents.format_of("/h/.hermes/memories/MEMORY.md")
MEMORY = "Likes short answers.\n§\nUses uv, never pip."
PATH = "/hermes/memories/MEMORY.md"


def record(known_id, action="add", **payload):
    return {
        "id": known_id, "subsystem": "memory", "action": action, "summary": f"{action} to memory", "origin": "background_review",
        "created_at": 1_795_000_000.5, "payload": {"action": action, "target": "memory", "content": None, "old_text": None, **payload},
    }  # fmt: skip


@pytest.fixture
def space(transactional_db):
    return spaces.create(HUB, "laptop")


@pytest.fixture
def home(space, tmp_path):
    home = tmp_path / ".hermes"
    (home / "memories").mkdir(parents=True)
    (home / "pending" / "memory").mkdir(parents=True)
    (home / "memories" / "MEMORY.md").write_text(MEMORY)
    mount = files.add_mount(space, HUB, "/hermes/", store="filesystem", directory=str(home), takes="documents")
    files.take_in_mount(space, mount)
    return home


@pytest.fixture
def mia(space):
    person = accounts.create_person(HUB, "mia")
    spaces.add_member(space, HUB, person, "owner")
    return Actor.of_person(person, "owner")


def keep(home, known_id, action="add", **payload):
    path = home / "pending" / "memory" / f"{known_id}.json"
    path.write_text(json.dumps(record(known_id, action, **payload)))
    return path


def approve(space, mia, number):
    return proposals.approve(space, mia, number, seen=proposals.result(proposals.get(space, number)).seen)


def on_disk(home):
    return (home / "memories" / "MEMORY.md").read_text()


def test_what_waits_is_a_proposal_and_approving_is_what_hermes_would_do(space, home, mia):
    kept = keep(home, "0a1b2c3d", content=" Works at night. ")
    assert write_hooks.take_in_pending(space).count == write_hooks.take_in_pending(space).count == 1
    one = proposals.get(space, 1)
    assert (one.agent_name, one.path, one.reason) == ("hermes", PATH, "add to memory") and Proposal.objects.count() == 1
    assert on_disk(home) == MEMORY
    approve(space, mia, 1)
    assert on_disk(home) == f"{MEMORY}\n§\nWorks at night." and not kept.exists()


def test_rejecting_takes_it_out_of_its_folder(space, home, mia):
    kept = keep(home, "0a1b2c3d", content="Works at night.")
    write_hooks.take_in_pending(space)
    proposals.reject(space, mia, 1, note="")
    assert on_disk(home) == MEMORY and not kept.exists() and write_hooks.take_in_pending(space).count == 0


def test_two_that_wait_can_both_be_approved(space, home, mia):
    keep(home, "0a1b2c3d", content="First.")
    keep(home, "1a1b2c3d", content="Second.")
    keep(home, "2a1b2c3d", "replace", old_text="uv", content="Uses poetry.")
    keep(home, "3a1b2c3d", "remove", old_text="short answers")
    write_hooks.take_in_pending(space)
    for number in (1, 2, 3, 4):
        approve(space, mia, number)
    assert on_disk(home) == "Uses poetry.\n§\nFirst.\n§\nSecond." and os.listdir(home / "pending/memory") == []


def test_a_batch_is_one_decision(space, home, mia):
    steps = [{"action": "remove", "old_text": "uv"}, {"action": "add", "content": "Uses pip."}]
    keep(home, "0a1b2c3d", "batch", operations=steps)
    write_hooks.take_in_pending(space)
    approve(space, mia, 1)
    assert on_disk(home) == "Likes short answers.\n§\nUses pip."


def test_what_was_decided_in_hermes_waits_no_more(space, home):
    keep(home, "0a1b2c3d", content="Works at night.")
    write_hooks.take_in_pending(space)
    (home / "pending/memory/0a1b2c3d.json").unlink()
    write_hooks.take_in_pending(space)
    assert proposals.get(space, 1).state == "outdated" and "agent itself" in proposals.get(space, 1).note


def test_what_no_longer_fits_is_outdated_and_stays_with_hermes(space, home, mia):
    kept = keep(home, "2a1b2c3d", "replace", old_text="uv", content="Uses poetry.")
    write_hooks.take_in_pending(space)
    files.write(space, mia, PATH, b"Likes short answers.")
    write_hooks.take_in_pending(space)
    assert proposals.get(space, 1).state == "outdated" and kept.exists()
    files.write(space, mia, PATH, MEMORY.encode())
    write_hooks.take_in_pending(space)
    assert proposals.get(space, 1).state == "pending", "it fits again"


def test_a_decision_that_was_cut_off_is_finished_later(space, home, mia):
    keep(home, "0a1b2c3d", content="Works at night.")
    write_hooks.take_in_pending(space)
    approve(space, mia, 1)
    kept = keep(home, "0a1b2c3d", content="Works at night.")  # as if the hub had ended before it was removed
    write_hooks.take_in_pending(space)
    assert not kept.exists() and on_disk(home).count("Works at night.") == 1 and Proposal.objects.count() == 1


def test_another_change_of_the_same_name_is_decided_by_itself(space, home, mia):
    keep(home, "0a1b2c3d", content="First.")
    write_hooks.take_in_pending(space)
    proposals.reject(space, mia, 1, note="")
    kept = keep(home, "0a1b2c3d", content="Second.")
    assert write_hooks.take_in_pending(space).count == 1 and kept.exists()
    assert proposals.get(space, 2).state == "pending"


def test_a_secret_stays_out_and_is_told(space, home):
    kept = keep(home, "0a1b2c3d", content=f"The key is {KEY}")
    waiting = write_hooks.take_in_pending(space)
    assert waiting.count == 0 and waiting.refused[0][0].startswith("0a1b2c3d@") and "secret" in waiting.refused[0][1]
    assert kept.exists() and Proposal.objects.count() == 0
    assert_nowhere(KEY)


HOSTILE = {
    "no JSON": b"{",
    "a list": b"[]",
    "another id": json.dumps(record("ffffffff", content="x")).encode(),
    "a skill": json.dumps(record("0a1b2c3d", content="x") | {"subsystem": "skills"}).encode(),
    "another target": json.dumps(record("0a1b2c3d", content="x", target="../../etc/passwd")).encode(),
    "an unknown step": json.dumps(record("0a1b2c3d", "run", content="x")).encode(),
    "no text": json.dumps(record("0a1b2c3d")).encode(),
    "numbers": json.dumps(record("0a1b2c3d", content=7)).encode(),
    "half a character": json.dumps(record("0a1b2c3d", content="\ud800")).encode(),
    "an empty batch": json.dumps(record("0a1b2c3d", "batch", operations=[])).encode(),
    "a deep one": b"[" * 100_000,
    "a large one": b" " * (300 << 10),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_what_hermes_does_not_write_is_named_and_left(space, home, content):
    (home / "pending/memory/0a1b2c3d.json").write_bytes(content)
    assert [name for name, _ in write_hooks.take_in_pending(space).refused] == ["0a1b2c3d.json"]
    assert Proposal.objects.count() == 0 and (home / "pending/memory/0a1b2c3d.json").exists()


def test_links_and_pipes_are_not_opened(space, home, tmp_path):
    (tmp_path / "real.json").write_text(json.dumps(record("0a1b2c3d", content="x")))
    (home / "pending/memory/0a1b2c3d.json").symlink_to(tmp_path / "real.json")
    os.mkfifo(home / "pending/memory/1a1b2c3d.json")
    (home / "pending/memory/2a1b2c3d.json").mkdir()
    assert len(write_hooks.take_in_pending(space).refused) == 3 and (tmp_path / "real.json").exists()


def test_the_limit_of_the_program_is_kept():
    pending = coding_agents.parse_pending("0a1b2c3d", json.dumps(record("0a1b2c3d", content="x" * 2_300)).encode())
    with pytest.raises(TooLarge, match="2,200"):
        coding_agents.text_after_pending(HERMES, pending, MEMORY)


@pytest.mark.parametrize(("payload", "after"), [
    ({"action": "add", "content": "Uses uv, never pip."}, MEMORY), ({"action": "remove", "old_text": "uv"}, "Likes short answers."),
    ({"action": "replace", "old_text": "s", "content": "x"}, Conflict), ({"action": "remove", "old_text": "nothing"}, Conflict),
])  # fmt: skip
def test_steps_are_those_of_its_own_tool(payload, after):
    made = coding_agents.parse_pending("0a1b2c3d", json.dumps(record("0a1b2c3d", **payload)).encode())
    if isinstance(after, str):
        assert coding_agents.text_after_pending(HERMES, made, MEMORY) == after
    else:
        with pytest.raises(after):
            coding_agents.text_after_pending(HERMES, made, MEMORY)
    with pytest.raises(Invalid):
        coding_agents.parse_pending("0a1b2c3d", b"null")
    assert issubclass(Conflict, HubError)
