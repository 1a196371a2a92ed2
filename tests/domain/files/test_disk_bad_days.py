"""Held files on bad days: programs that write all the time, two hubs on one folder, odd things in it, a kill at each step."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

import pytest

from memoryhub.domain import files, proposals, spaces, write_hooks
from memoryhub.domain.files.disk import arrivals, put_backs
from memoryhub.domain.files.disk.watch import scan
from memoryhub.domain.proposals import from_disk
from memoryhub.models import HUB, ActivityLine, File, Mount, Proposal, Revision
from tests.domain.files.test_disk_held import ONE, PATH, THREE, TWO, hold, mia, read, root, row, space, waiting  # noqa: F401  fixtures
from tests.domain.files.test_faults import in_a_process, killing, start_again


def known_texts(space):
    """Every text that a revision or a proposal keeps."""
    kept = [bytes(one.content).decode() for one in Revision.objects.within(space)]
    return {*kept, *(bytes(one.content or b"").decode() for one in Proposal.objects.within(space))}


def known_paths(space):
    return set(File.objects.within(space).filter(revision__gt=0).values_list("path", flat=True))


@pytest.mark.parametrize("put_back", [True, False])
def test_a_file_that_is_replaced_ten_times_a_second(space, root, put_back):
    hold(space, put_back=put_back)
    stop, written = threading.Event(), []

    def replace():
        for number in range(60):
            beside = root.parent / "beside"
            beside.write_text(f"{ONE}{number}\n")
            os.replace(beside, root / "AGENTS.md")
            written.append(number)
            if stop.wait(0.02):
                return

    thread = threading.Thread(target=replace)
    thread.start()
    seen = set()
    try:
        while thread.is_alive():
            scan(space, files.mounts_of_space(space)[0])
            seen.add((root / "AGENTS.md").read_text())
    finally:
        stop.set()
        thread.join()
    scan(space, files.mounts_of_space(space)[0])
    last = f"{ONE}{written[-1]}\n"
    assert (root / "AGENTS.md").read_text() == last and last in known_texts(space)
    assert len(waiting(space)) <= 1 and Proposal.objects.within(space).count() <= 28
    assert read(space) == (last if put_back else ONE)
    assert (row(space).applies_since is not None) == put_back


def test_two_hubs_that_hold_one_folder_come_to_rest(space, root, mia):
    hold(space, put_back=True)
    other = spaces.create(HUB, "other")
    mount = files.add_mount(other, HUB, "/notes/", store="filesystem", directory=str(root))
    files.take_in_mount(other, mount)
    files.change_on_disk(other, HUB, mount, "hold", put_back=True)
    files.write(space, mia, PATH, TWO.encode())
    for _ in range(12):
        scan(space, files.mounts_of_space(space)[0])
        scan(other, files.mounts_of_space(other)[0])
        before = os.stat(root / "AGENTS.md").st_ino
    scan(space, files.mounts_of_space(space)[0])
    scan(other, files.mounts_of_space(other)[0])
    assert os.stat(root / "AGENTS.md").st_ino == before, "nobody writes any more"
    on_disk = (root / "AGENTS.md").read_text()
    assert read(space) == on_disk == read(other, "/notes/AGENTS.md")
    assert {ONE, TWO} <= known_texts(space) | known_texts(other)


def test_of_two_mounts_the_first_puts_back_until_it_stops(space, root, mia):
    other = spaces.create(HUB, "other")
    for owner, prefix, directory in (
        (space, "/memories/", root),
        (other, "/notes/", root),
        (other, "/sub/", root / "sub"),
    ):
        directory.mkdir(exist_ok=True)
        mount = files.mounts_of_space(owner)[0] if owner == space else files.add_mount(
            owner, HUB, prefix, store="filesystem", directory=str(directory))  # fmt: skip
        files.take_in_mount(owner, mount)
        files.change_on_disk(owner, HUB, mount, "hold", put_back=True)

    def agree():
        put_backs.agree_on_put_backs(list(Mount.objects.select_related("space").order_by("pk")))
        return {one.prefix: one.put_back_elsewhere for one in Mount.objects.filter(put_back=True)}

    try:
        assert agree() == agree() == {"/memories/": False, "/notes/": True, "/sub/": True}
        (root / "AGENTS.md").write_text(TWO)
        scan(other, mount_at(other, "/notes/"))
        assert (root / "AGENTS.md").read_text() == TWO and waiting(other), "held, and left on disk"
        scan(space, mount_at(space, "/memories/"))
        assert (root / "AGENTS.md").read_text() == ONE == read(space)
        scan(other, mount_at(other, "/notes/"))
        assert not waiting(other) and read(other, "/notes/AGENTS.md") == ONE
        files.change_on_disk(space, HUB, mount_at(space, "/memories/"), "apply")
        assert agree() == {"/notes/": False, "/sub/": True}
        said = ActivityLine.objects.within(other).filter(verb="mounts.put_back").values_list("says", flat=True)
        assert list(said.order_by("pk")).count("puts changes back in") == 1
    finally:
        Mount.objects.update(put_back=False)
        put_backs.agree_on_put_backs([])


def mount_at(space, prefix):
    return next(one for one in files.mounts_of_space(space) if one.prefix == prefix)


def test_odd_things_in_a_held_folder(space, root, tmp_path):
    hold(space, put_back=True)
    (root / "loop.md").symlink_to(root / "loop.md")
    (root / "round").symlink_to(root)
    (root / "out.md").symlink_to("/etc/hostname")
    os.mkfifo(root / "pipe.md")
    with (root / "huge.md").open("wb") as file:
        file.truncate(5 << 30)
    (root / "shut").mkdir(mode=0)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(root / "s.md"))
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").mkdir()
    (root / "AGENTS.md" / "inside.md").write_text("in a folder that was a file\n")
    before = sorted(os.listdir(root))
    scan(space, files.mounts_of_space(space)[0])
    assert sorted(os.listdir(root)) == before and {"AGENTS.md"} == {
        path.rpartition("/")[2] for path in known_paths(space)
    }
    assert row(space).problem, "the file says that something else lies there"
    for name in ("loop.md", "pipe.md", "out.md", "s.md", "huge.md", "round/AGENTS.md", "shut/x.md"):
        decided = write_hooks.decide(
            "claude-code", "Write", {"file_path": str(root / name), "content": "x\n"}, str(root)
        )
        assert decided.allows or decided.says, name
    server.close()
    (root / "shut").chmod(0o700)


HOOK_STEPS = [
    (files, "sync_path", "after"), (from_disk, "_insert_write", "before"), (from_disk, "_insert_write", "after"),
    (write_hooks.decide.__globals__["proposals"], "propose_before_write", "after"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name", "when"), HOOK_STEPS, ids=str)
def test_kill_9_while_a_write_is_recorded(space, root, module, name, when):
    hold(space, put_back=True)

    def ask():
        return write_hooks.decide(
            "claude-code", "Write", {"file_path": str(root / "AGENTS.md"), "content": TWO}, str(root)
        )

    def die():
        killing(module, name, when)
        ask()

    assert in_a_process(die) == signal.SIGKILL
    assert (root / "AGENTS.md").read_text() == ONE == read(space)
    assert ask().proposal == 1, "what was recorded before the end is found again"
    assert [bytes(one.content).decode() for one in waiting(space)] == [TWO]


STOP_STEPS = [
    (arrivals, "_stop_holding", "before"),
    (arrivals, "_stop_holding", "after"),
    (arrivals, "_let_count", "after"),
]


@pytest.mark.parametrize(("module", "name", "when"), STOP_STEPS, ids=str)
def test_kill_9_while_the_hub_stops_holding(space, root, monkeypatch, module, name, when):
    hold(space, put_back=True)
    for text in (TWO, THREE, TWO + "more\n"):
        (root / "AGENTS.md").write_text(text)
        read(space)
    (root / "AGENTS.md").write_text("the fourth\n")

    def look():
        killing(module, name, when)
        files.read(space, PATH)

    assert in_a_process(look) == signal.SIGKILL
    start_again(space, monkeypatch)
    assert read(space) == "the fourth\n" == (root / "AGENTS.md").read_text()
    assert row(space).applies_since and row(space).unreviewed_from == 1
    assert {ONE, TWO, THREE, TWO + "more\n", "the fourth\n"} <= known_texts(space)


def test_five_agents_at_once_get_five_answers(space, root):
    from django.db import connections

    hold(space, put_back=True)
    answers = []

    def ask(number):
        try:
            arguments = {"file_path": str(root / "AGENTS.md"), "content": f"{ONE}{number % 2}\n"}
            answers.append(write_hooks.decide("claude-code", "Write", arguments, str(root)))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.proposal for one in answers) == [1, 1, 1, 2, 2, 2] and len(waiting(space)) == 2
    assert proposals.writes_waiting(space, "claude-code", PATH)


def test_a_held_file_that_grew_too_large_stays_as_it_is(space, root):
    hold(space, put_back=True)
    (root / "AGENTS.md").write_bytes(b"x" * (2 << 20))
    scan(space, files.mounts_of_space(space)[0])
    assert (root / "AGENTS.md").stat().st_size == 2 << 20 and "2,097,152" in row(space).problem
    (root / "AGENTS.md").write_text(TWO)
    time.sleep(0.02)
    scan(space, files.mounts_of_space(space)[0])
    assert (root / "AGENTS.md").read_text() == ONE and File.objects.get(path=PATH).problem == ""
