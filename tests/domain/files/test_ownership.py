"""A mounted directory where several nodes share the database: whose it is, and what the others make of it."""

from __future__ import annotations

import os
import subprocess
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, files, nodes, prompts, proposals, spaces
from memoryhub.domain.files.disk.handover import mounts_of_this_node, write_waiting
from memoryhub.errors import Conflict, Forbidden, NotFound
from memoryhub.models import HUB, Actor, File, Mount, Node
from tests.owners import create_hub_owner

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _here(settings):
    settings.SHARES_DATABASE, settings.NODE_ID, settings.NODE_NAME = True, "here", "here"
    nodes.Run().register()


@pytest.fixture
def space():
    return spaces.create(HUB, "books")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.md").write_text("one\n")
    os.utime(tmp_path / "a.md", (1, 1))  # of a file that was just written no mark is noted
    return tmp_path


@pytest.fixture
def mount(space, folder):
    made = files.add_mount(space, HUB, "/notes/", store="filesystem", directory=str(folder), policy="trusted")
    files.scan_all()
    return made


def give_to(mount: Mount, name: str, *, seen_ago: float = 0, **columns: object) -> None:
    """The mount is that of another node."""
    seen = timezone.now() - timedelta(seconds=seen_ago)
    Node.objects.create(id=name, name=name, seen_at=seen, started_at=seen - timedelta(hours=1), **columns)
    Mount.objects.filter(pk=mount.pk).update(node=name)


def text_of(space, path="/notes/a.md") -> str:
    return files.read(space, path).content.decode()


def test_it_belongs_to_the_node_that_mounted_it(mount):
    assert Mount.objects.get().node == "here"
    assert [one.pk for one in mounts_of_this_node()] == [mount.pk]


def test_of_another_node_the_last_revision_is_read_whatever_lies_here(space, mount, folder):
    give_to(mount, "other")
    (folder / "a.md").write_text("another text of this node\n")
    (folder / "b.md").write_text("and another file\n")
    assert files.read(space, "/notes/a.md").content == b"one\n"
    assert [entry.name for entry in files.list_entries(space, "/notes/")] == ["a.md"]
    assert [entry.path for entry in files.glob(space, "**", "/")[0]] == ["/notes/a.md"]
    assert [entry.path for entry in files.glob_oldest(space, "**", "/", 0, 9)[0]] == ["/notes/a.md"]
    assert [match.path for match in files.grep(space, "one")[0]] == ["/notes/a.md"]
    files.scan_all()
    (folder / "a.md").unlink()
    files.scan_all()
    assert text_of(space) == "one\n"
    assert File.objects.get(path="/notes/a.md").revision == 1
    assert not File.objects.filter(path="/notes/b.md").exists()
    with pytest.raises(NotFound):
        files.read(space, "/notes/b.md")


def test_of_another_node_a_prompt_shows_the_last_revision(space, mount, folder):
    agent = prompts.create_agent(space, HUB, "forge")
    prompts.add_source(space, HUB, "/notes/a.md")
    give_to(mount, "other")
    spaces.mark_setup(space)
    (folder / "a.md").unlink()
    made = prompts.assemble(space, agent)
    assert "one" in made.text
    assert [source["status"] for source in made.sources] == ["included"]


def test_a_write_waits_and_says_for_whom(space, mount, folder, django_capture_on_commit_callbacks):
    give_to(mount, "other", seen_ago=120)
    with django_capture_on_commit_callbacks(execute=True):
        revision = files.write(space, HUB, "/notes/a.md", b"two\n")
    assert (revision.number, text_of(space), (folder / "a.md").read_text()) == (2, "two\n", "one\n")
    assert files.why_unwritten(space, "/notes/a.md") == (
        "Revision 2 is not on disk yet. It waits for the node other, which is away."
    )
    Mount.objects.update(node="here")
    assert write_waiting(mounts_of_this_node()) == 1
    assert (folder / "a.md").read_text() == "two\n"
    assert files.why_unwritten(space, "/notes/a.md") == ""
    assert write_waiting(mounts_of_this_node()) == 0


def test_an_approval_on_another_node_is_one(space, mount, folder, django_capture_on_commit_callbacks):
    files.change_mount(space, HUB, mount, policy="review")
    agent = prompts.create_agent(space, HUB, "forge")
    asked = proposals.propose(
        space, agent, kind="edit", path="/notes/a.md", change={"old_string": "one", "new_string": "uno"}
    )
    give_to(mount, "other")
    (folder / "a.md").write_text("something else on this node\n")
    person = create_hub_owner("rk")
    spaces.add_member(space, HUB, person, "owner")
    with django_capture_on_commit_callbacks(execute=True):
        proposals.approve(space, Actor.of_person(person, "owner"), asked.number, seen=proposals.result(asked).sha256)
    assert text_of(space) == "uno\n"
    assert "waits for the node other, which writes it" in files.why_unwritten(space, "/notes/a.md")
    assert (folder / "a.md").read_text() == "something else on this node\n"


def test_the_one_put_in_charge_writes_what_the_hub_has_and_loses_no_text(space, mount, folder):
    give_to(mount, "other", seen_ago=120)
    (folder / "a.md").write_text("only on this node\n")
    (folder / "new.md").write_text("a file of this node\n")
    person = accounts.create_person(HUB, "olga")
    with pytest.raises(Forbidden):
        files.put_in_charge(space, Actor.of_person(person, "owner"), mount, "here")
    with pytest.raises(NotFound):
        files.put_in_charge(space, HUB, mount, "nowhere")
    files.put_in_charge(space, HUB, mount, "here")
    assert Mount.objects.get().node == ""
    assert [one.pk for one in mounts_of_this_node()] == [mount.pk]
    assert (Mount.objects.get().node, Mount.objects.get().next_node) == ("here", "")
    files.scan_all()
    assert ((folder / "a.md").read_text(), text_of(space)) == ("one\n", "one\n")
    assert "only on this node\n" in [
        one.content.decode() for one in files.revisions_of(File.objects.get(path="/notes/a.md"))
    ]
    assert text_of(space, "/notes/new.md") == "a file of this node\n"


class TestNobodys:
    """A mount of an older hub, which names no node."""

    @pytest.fixture(autouse=True)
    def _nobodys(self, mount):
        Mount.objects.update(node="")

    def test_the_first_node_that_has_the_folder_takes_it(self):
        assert [one.node for one in mounts_of_this_node()] == ["here"]

    def test_an_empty_folder_of_that_name_is_none_while_another_node_runs(self, folder):
        Node.objects.create(id="other", name="other")
        (folder / "a.md").unlink()
        assert mounts_of_this_node() == []
        assert Mount.objects.get().node == ""

    def test_who_runs_alone_goes_on_as_before(self, folder):
        (folder / "a.md").unlink()
        assert [one.node for one in mounts_of_this_node()] == ["here"]


class TestLostName:
    """A container that lost its data directory is another node, on the very same folder."""

    def test_alone_it_goes_on(self, mount):
        give_to(mount, "before", seen_ago=120)
        assert [one.node for one in mounts_of_this_node()] == ["here"]

    def test_not_beside_a_node_that_ran_at_the_same_time(self, mount):
        give_to(mount, "before", seen_ago=-1, stopped_at=timezone.now())
        assert mounts_of_this_node() == []

    def test_not_in_another_folder(self, mount, folder):
        give_to(mount, "before", seen_ago=120)
        text = (folder / "a.md").read_bytes()
        (folder / "a.md").unlink()
        (folder / "copy.md").write_bytes(text)  # its inode is another
        os.utime(folder / "copy.md", (1, 1))
        assert mounts_of_this_node() == []

    def test_a_machine_may_change_its_name(self, mount, settings):
        settings.NODE_NAME = "renamed"
        nodes.Run().register()
        assert [one.node for one in mounts_of_this_node()] == ["here"]
        assert Node.objects.get().name == "renamed"


def test_a_node_that_runs_is_not_forgotten():
    with pytest.raises(Conflict):
        nodes.forget_node("here")
    Node.objects.update(stopped_at=timezone.now())
    nodes.forget_node("here")
    assert not Node.objects.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="a disk of its own can be made by root alone")
def test_a_full_disk_keeps_nothing_from_counting(space, tmp_path, settings, django_capture_on_commit_callbacks):
    settings.SHARES_DATABASE = False
    (tmp_path / "small").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path / "small"]).returncode:
        pytest.skip("no disk of its own can be made here")
    try:
        files.add_mount(space, HUB, "/small/", store="filesystem", directory=str(tmp_path / "small"))
        with django_capture_on_commit_callbacks(execute=True):
            revision = files.write(space, HUB, "/small/a.md", b"x" * 100_000)
        assert "the disk is full" in files.Applied(revision, created=True).why_waiting
    finally:
        subprocess.run(["umount", "-l", tmp_path / "small"], check=False)
