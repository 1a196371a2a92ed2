"""“It is no secret”: a person says so of one value; it is undone, noted, and kept as a keyed digest alone."""

from __future__ import annotations

import pytest

from memoryhub.domain import files, longterm, prompts, proposals, spaces
from memoryhub.domain.jobs import queue
from memoryhub.errors import Conflict, Invalid
from memoryhub.models import HUB, ActivityLine, Actor, AllowedValue, File, Proposal
from tests.domain.files.test_disk_held import hold, mount_of, row, waiting
from tests.domain.files.test_disk_secrets import KEY, MARK, assert_nowhere, mia, space, whole_database  # noqa: F401

PATH = "/memories/AGENTS.md"
TEXT = f"# Shop\n\nThe key is {KEY}, for payments.\n"


@pytest.fixture
def root(space, tmp_path):
    directory = tmp_path / "disk"
    directory.mkdir()
    (directory / "AGENTS.md").write_text(TEXT)
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(directory), policy="trusted")
    files.take_in_mount(space, mount_of(space))
    return directory


def read(space, path=PATH):
    return files.read(space, path).content.decode()


def digest(space, path=PATH):
    return row(space, path).disk_secrets[0]["digest"]


def test_from_disk_and_undone(space, root, mia):
    value = digest(space)
    allowed = files.allow_on_disk(space, mia, PATH, value)
    assert read(space) == TEXT and row(space).disk_secrets == [] and row(space).unreviewed_from is None
    assert KEY not in "".join(str(vars(one)) for one in AllowedValue.objects.all())
    assert ActivityLine.objects.filter(verb="secrets.allow", actor_name="mia").exists()
    (root / "AGENTS.md").write_text(TEXT + "more\n")
    assert read(space) == TEXT + "more\n" and waiting(space) == []
    files.forbid(space, mia, allowed.pk)
    assert MARK in read(space) and KEY not in read(space) and files.allowed_in_space(space) == []
    assert ActivityLine.objects.filter(verb="secrets.forbid").exists()
    assert KEY in (root / "AGENTS.md").read_text()


def test_other_files_with_the_value_follow(space, root, mia):
    (root / "b.md").write_text(TEXT)
    queue.run_waiting()
    assert File.objects.within(space).count() == 1
    from memoryhub.domain.files.disk.watch import scan

    scan(space, mount_of(space))
    (one,) = waiting(space)
    proposals.approve(space, mia, one.number, seen=proposals.result(one).seen)
    assert MARK in read(space, "/memories/b.md")
    files.allow_on_disk(space, mia, PATH, digest(space))
    queue.run_waiting()
    assert read(space, "/memories/b.md") == TEXT


def test_what_was_held_for_it_counts(space, root, mia):
    (root / "new.md").write_text(TEXT)
    with pytest.raises(Exception, match="not found"):
        read(space, "/memories/new.md")
    held = row(space, "/memories/new.md")
    files.allow_on_disk(space, mia, "/memories/new.md", held.disk_secrets[0]["digest"])
    assert read(space, "/memories/new.md") == TEXT
    assert [one.state for one in Proposal.objects.within(space)] == ["outdated"]


def test_under_hold_it_still_waits(space, root, mia):
    hold(space)
    (root / "new.md").write_text(TEXT)
    with pytest.raises(Exception, match="not found"):
        read(space, "/memories/new.md")
    files.allow_on_disk(space, mia, "/memories/new.md", digest(space, "/memories/new.md"))
    (one,) = waiting(space)
    assert bytes(one.content).decode() == TEXT


def test_a_persons_own_save(space, root, mia):
    path, content = "/memories/own.md", f"one\nkey {KEY}\n".encode()
    with pytest.raises(Invalid):
        proposals.check_content(space, path, content)
    (found,) = spaces.mark_secrets(space, content).secrets
    files.allow_in_text(space, mia, path, content, ["nonsense"])
    with pytest.raises(Invalid):
        proposals.check_content(space, path, content)
    files.allow_in_text(space, mia, path, content, [found.digest])
    proposals.check_content(space, path, content)
    proposals.submit(space, mia, files.ChangeRequest("write", path, content=content))
    assert read(space, path).encode() == content
    longterm.store(space, mia, f"The key {KEY} is a public one.")
    with pytest.raises(Invalid):
        proposals.check_content(space, path, content.replace(KEY.encode(), (KEY[:-4] + "9999").encode()))


def test_an_agents_text_with_it_waits(space, root, mia):
    agent = Actor.of_agent(prompts.create_agent(space, HUB, "scout", dialect="hub"))
    asked = files.ChangeRequest("write", "/memories/a.md", content=f"key {KEY}\n".encode())
    with pytest.raises(Invalid) as refusal:
        proposals.submit(space, agent, asked)
    assert refusal.value.code == "secret_found"
    files.allow_on_disk(space, mia, PATH, digest(space))
    assert proposals.submit(space, agent, asked).proposal.findings[0]["code"] == "secrets"
    plain = files.ChangeRequest("write", "/memories/plain.md", content=b"nothing\n")
    assert proposals.submit(space, agent, plain).revision.number == 1, "the path is trusted"
    edit = files.ChangeRequest("edit", "/memories/plain.md", old="nothing", new=f"key {KEY}")
    assert proposals.submit(space, agent, edit).proposal.state == "pending"


def test_another_space_knows_nothing_of_it(space, root, mia, tmp_path):
    files.allow_on_disk(space, mia, PATH, digest(space))
    other = spaces.create(HUB, "other")
    with pytest.raises(Invalid):
        proposals.check_content(other, PATH, TEXT.encode())


def test_a_value_that_is_gone_cannot_be_allowed(space, root, mia):
    with pytest.raises(Conflict):
        files.allow_on_disk(space, mia, PATH, "0" * 64)
    assert_nowhere(KEY)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_what_is_no_utf_8_is_looked_at_as_well(space, root, mia, encoding):
    agent = Actor.of_agent(prompts.create_agent(space, HUB, "scout", dialect="hub"))
    for content in (TEXT.encode(encoding), b"\x89\x00\xff" + KEY.encode("utf-16-le") + b"\xff\x00"):
        for actor in (agent, mia):
            with pytest.raises(Invalid) as refusal:
                proposals.submit(space, actor, files.ChangeRequest("write", "/memories/own.md", content=content))
            assert refusal.value.code == "secret_found"
    assert_nowhere(KEY)
