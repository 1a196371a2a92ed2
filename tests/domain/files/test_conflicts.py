"""Two texts of one file, the hub's that waits to be written and the disk's: whose words each revision is."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.models import HUB, Actor, File, Revision

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"


@pytest.fixture
def space():
    return spaces.create(HUB, "ledger")


@pytest.fixture
def rk(space):
    person = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, person, "owner")
    return Actor.of_person(person, "owner")


@pytest.fixture
def root(space, rk, tmp_path, django_capture_on_commit_callbacks):
    """A file that lies on disk; what is written after it waits, as what is done after a commit does not happen in a test."""
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path))
    with django_capture_on_commit_callbacks(execute=True):
        files.write(space, rk, PATH, b"a\nb\nc\nd\n")
    return tmp_path


def history(space):
    rows = Revision.objects.within(space).filter(path=PATH).order_by("number")
    return [(one.actor_kind, one.actor_name, None if one.is_deleted else bytes(one.content)) for one in rows][1:]


def on_disk(root):
    place = root / "AGENTS.md"
    return place.read_bytes() if place.exists() else None


def write_by_a_person(space, rk):
    files.write(space, rk, PATH, b"ours\n")
    return "person", "rk"


def write_by_an_agent(space, rk):
    forge = prompts.create_agent(space, HUB, "forge")
    asked = proposals.propose(space, forge, kind="write", path=PATH, content=b"ours\n")
    proposals.approve(space, rk, asked.number, seen=proposals.result(asked).seen)
    return "agent", "forge"


@pytest.mark.parametrize("write", [write_by_a_person, write_by_an_agent])
def test_a_text_that_stays_on_top_is_still_its_authors(space, rk, root, write):
    author = write(space, rk)
    (root / "AGENTS.md").write_bytes(b"theirs\n")
    files.retry_disk(space, PATH)
    assert history(space) == [(*author, b"ours\n"), ("disk", "disk", b"theirs\n"), (*author, b"ours\n")]
    found = files.read(space, PATH)
    assert ((found.author_kind, found.author_name), found.content) == (author, b"ours\n")
    assert on_disk(root) == b"ours\n"


def test_a_deletion_that_stays_is_still_its_authors(space, rk, root):
    files.delete(space, rk, PATH)
    (root / "AGENTS.md").write_bytes(b"theirs\n")
    files.retry_disk(space, PATH)
    assert history(space) == [("person", "rk", None), ("disk", "disk", b"theirs\n"), ("person", "rk", None)]
    assert on_disk(root) is None
    assert not files.exists(space, PATH)


def test_two_texts_that_do_not_touch_are_put_together_by_the_hub(space, rk, root):
    files.write(space, rk, PATH, b"A\nb\nc\nd\n")
    (root / "AGENTS.md").write_bytes(b"a\nb\nc\nD\n")
    files.retry_disk(space, PATH)
    assert history(space) == [
        ("person", "rk", b"A\nb\nc\nd\n"), ("disk", "disk", b"a\nb\nc\nD\n"), ("hub", "hub", b"A\nb\nc\nD\n")
    ]  # fmt: skip
    assert on_disk(root) == b"A\nb\nc\nD\n"


def test_what_was_deleted_on_disk_meanwhile_comes_again(space, rk, root):
    files.write(space, rk, PATH, b"ours\n")
    (root / "AGENTS.md").unlink()
    files.retry_disk(space, PATH)
    assert history(space) == [("person", "rk", b"ours\n"), ("disk", "disk", None), ("person", "rk", b"ours\n")]
    assert on_disk(root) == b"ours\n"
    assert File.objects.get().problem == ""
