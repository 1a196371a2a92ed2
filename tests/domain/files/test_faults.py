"""No write is lost: real processes killed at each step, real limits of the system, a competing writer, sixteen people."""

from __future__ import annotations

import importlib
import os
import resource
import signal
import threading
import time

import pytest
from django.db import connection, connections
from django.utils import timezone

from memoryhub.domain import accounts, files, spaces
from memoryhub.domain.files import revisions
from memoryhub.domain.files.disk import sync as disk
from memoryhub.domain.files.disk.leftovers import recover_leftovers
from memoryhub.domain.files.disk.watch import scan
from memoryhub.domain.jobs import queue
from memoryhub.errors import Conflict
from memoryhub.models import HUB, Actor, File, Job, Revision
from memoryhub.stores import atomic

leftovers = importlib.import_module("memoryhub.domain.files.disk.leftovers")
watch_module = importlib.import_module("memoryhub.domain.files.disk.watch")

PATH = "/memories/AGENTS.md"
MEETINGS = 200  # of the hub and a competing writer: what is lost once in fifty times shows


@pytest.fixture
def space(transactional_db):
    return spaces.create(HUB, "ledger")


@pytest.fixture
def root(space, tmp_path):
    directory = tmp_path / "disk"
    directory.mkdir()
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(directory))
    return directory


def texts(space):
    return [bytes(r.content) for r in Revision.objects.within(space).filter(path=PATH).order_by("number")]


def in_a_process(act) -> int:
    """Run it in a process of its own, with a database connection of its own; answer how the process ended."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def die(*_args, **_more):
    os.kill(os.getpid(), signal.SIGKILL)


def killing(module, name, when):
    """The same function, with a `kill -9` of its own process before or after it."""
    real = getattr(module, name)

    def deadly(*args, **more):
        if when == "before":
            die()
        real(*args, **more)
        die()

    setattr(module, name, deadly)


def start_again(space, monkeypatch):
    monkeypatch.setattr(leftovers, "KEEP_DISPLACED_SECONDS", -1.0)
    for mount in files.mounts_of_space(space):
        recover_leftovers(space, mount)
        scan(space, mount)
    Job.objects.update(run_after=timezone.now())
    queue.run_waiting()


STEPS = [
    (revisions, "record_revision", "after", False),  # nothing is committed yet
    (disk, "push_revision", "before", True),
    (disk, "pull_from_disk", "after", True),
    (atomic, "_write_beside", "before", True),
    (atomic, "_write_beside", "after", True),
    (atomic, "_into_place", "before", True),
    (atomic, "exchange", "after", True),
    (atomic, "put", "after", True),
    (disk, "_after_write", "before", True),
    (disk, "_after_write", "after", True),
    (disk, "write_to_disk", "after", True),
]


@pytest.mark.parametrize(("module", "name", "when", "kept"), STEPS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_kill_9_at_each_step_loses_nothing(space, root, monkeypatch, module, name, when, kept):
    files.write(space, HUB, PATH, b"one\n")
    calls = []

    def save():
        if name == "pull_from_disk":  # the first one belongs to the first transaction
            real = disk.pull_from_disk

            def second(*args, **more):
                real(*args, **more)
                calls.append(1)
                if len(calls) == 2:
                    die()

            disk.pull_from_disk = second
        else:
            killing(module, name, when)
        files.write(space, HUB, PATH, b"two\n")

    assert in_a_process(save) == signal.SIGKILL
    start_again(space, monkeypatch)
    expected = b"two\n" if kept else b"one\n"
    assert files.read(space, PATH).content == expected == (root / "AGENTS.md").read_bytes()
    assert texts(space) == ([b"one\n", b"two\n"] if kept else [b"one\n"])
    assert os.listdir(root) == ["AGENTS.md"], "nothing temporary stays"


def test_kill_9_right_after_displacing_a_text_nobody_knew_keeps_that_text(space, root, monkeypatch):
    files.write(space, HUB, PATH, b"one\n")

    def save():
        real = atomic.exchange

        def slip_in_and_die(fd, swap, name):
            (root / "beside").write_bytes(b"unseen\n")
            (root / "beside").rename(root / "AGENTS.md")
            real(fd, swap, name)
            die()

        atomic.exchange = slip_in_and_die
        files.write(space, HUB, PATH, b"two\n")

    assert in_a_process(save) == signal.SIGKILL
    start_again(space, monkeypatch)
    assert b"unseen\n" in texts(space)
    assert files.read(space, PATH).content == b"two\n" == (root / "AGENTS.md").read_bytes()
    assert os.listdir(root) == ["AGENTS.md"]


def test_kill_9_while_deleting(space, root, monkeypatch):
    files.write(space, HUB, PATH, b"one\n")

    def delete():
        killing(atomic, "remove", "after")
        files.delete(space, HUB, PATH)

    assert in_a_process(delete) == signal.SIGKILL
    start_again(space, monkeypatch)
    assert not files.exists(space, PATH)
    assert os.listdir(root) == []
    files.restore(space, HUB, PATH, 1)
    assert (root / "AGENTS.md").read_bytes() == b"one\n"


def test_a_full_disk_is_told_and_mended_at_the_next_touch(space, root):
    files.write(space, HUB, PATH, b"one\n")
    large = b"x" * 100_000

    def save_under_a_limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
        files.write(space, HUB, PATH, large)

    assert in_a_process(save_under_a_limit) == 0
    file = File.objects.get()
    assert file.problem.startswith("Revision 2 is not on disk yet.")
    assert (root / "AGENTS.md").read_bytes() == b"one\n"
    assert os.listdir(root) == ["AGENTS.md"]
    assert files.read(space, PATH).content == large == (root / "AGENTS.md").read_bytes()
    assert not File.objects.get().problem


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a tiny disk")
def test_a_tiny_disk_that_is_really_full(space, tmp_path):
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    if os.system(f"mount -t tmpfs -o size=64k tmpfs {tiny} 2>/dev/null"):
        pytest.skip("this system does not let us mount")
    try:
        files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tiny))
        files.write(space, HUB, PATH, b"one\n")
        files.write(space, HUB, PATH, b"x" * 100_000)
        assert "disk is full" in File.objects.get().problem
        assert (tiny / "AGENTS.md").read_bytes() == b"one\n"
        files.write(space, HUB, PATH, b"small\n")
        assert (tiny / "AGENTS.md").read_bytes() == b"small\n"
        assert not File.objects.get().problem
    finally:
        os.system(f"umount {tiny}")


@pytest.mark.attack
def test_a_competing_writer_loses_nothing_to_the_hub(space, root):
    """The writer replaces the file by exchange and looks at what it displaced: what was its own, it overwrote itself;
    what was not, the hub had replaced before, and that text must be in the history."""
    target, beside = root / "AGENTS.md", root / "beside"
    target.write_bytes(b"theirs 0")
    stop, replaced_by_hub = threading.Event(), []

    def compete():
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        number, last = 0, b"theirs 0"
        while not stop.is_set():
            number += 1
            beside.write_bytes(b"theirs %d" % number)
            try:
                atomic.exchange(fd, "beside", "AGENTS.md")
            except FileNotFoundError:
                continue
            if beside.read_bytes() != last:
                replaced_by_hub.append(last)
            last = b"theirs %d" % number
            time.sleep(0.004)
        os.close(fd)

    thread = threading.Thread(target=compete)
    thread.start()
    saved = 0
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until and len(replaced_by_hub) < MEETINGS:
            files.write(space, HUB, PATH, b"ours %d" % saved)
            saved += 1
    finally:
        stop.set()
        thread.join()
    history = set(texts(space))
    lost = [text for text in replaced_by_hub if text not in history]
    assert not lost, f"{len(lost)} of {len(replaced_by_hub)} texts that the hub replaced are not in the history"
    assert len(replaced_by_hub) > 20 < saved, "the two hardly met"
    (root / "beside").unlink(missing_ok=True)
    time.sleep(0.02)
    assert files.read(space, PATH).content == target.read_bytes()


def test_sixteen_people_who_save_at_once_all_find_their_line(space, root):
    first = files.write(space, HUB, PATH, b"".join(b"line %d\n\n\n" % n for n in range(16)))
    names = [f"p{n}" for n in range(16)]
    actors = [Actor.of_person(accounts.create_person(HUB, name), "editor") for name in names]
    start, failures = threading.Barrier(16), []
    text = bytes(first.content)

    def save(n):
        try:
            start.wait(20)
            mine = text.replace(b"line %d\n" % n, b"line %d by %s\n" % (n, names[n].encode()))
            for _ in range(40):
                try:
                    files.write(space, actors[n], PATH, mine, base_revision=first.number)
                    return
                except Conflict:
                    time.sleep(0.02)
            failures.append(n)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=save, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    final = files.read(space, PATH)
    assert final.revision == 17
    assert all(b"line %d by p%d\n" % (n, n) in final.content for n in range(16))
    assert (root / "AGENTS.md").read_bytes() == final.content
    numbers = list(Revision.objects.within(space).filter(path=PATH).values_list("number", flat=True))
    assert sorted(numbers) == list(range(1, 18))


def test_pairs_of_saves_never_leave_the_disk_behind(space, root):
    """Two saves at one moment: whoever writes last writes the newest, not its own."""
    for turn in range(25):
        start = threading.Barrier(2)

        def save(who, turn=turn, start=start):
            start.wait(10)
            files.write(space, HUB, PATH, f"{turn} by {who}\n".encode())
            connection.close()

        pair = [threading.Thread(target=save, args=(who,)) for who in "ab"]
        for thread in pair:
            thread.start()
        for thread in pair:
            thread.join()
        file = File.objects.get()
        assert (root / "AGENTS.md").read_bytes() == bytes(files.content_of(file, file.revision))
        assert file.written_revision == file.revision


def test_displaced_texts_are_forgotten_by_the_background_process(space, root):
    files.write(space, HUB, PATH, b"one\n")
    files.write(space, HUB, PATH, b"two\n")
    assert len(os.listdir(root)) == 2
    Job.objects.update(run_after=timezone.now())
    queue.run_waiting()
    assert os.listdir(root) == ["AGENTS.md"]
    assert texts(space) == [b"one\n", b"two\n"]


def test_the_watcher_notices_what_nobody_reads(space, root):
    stop = threading.Event()

    def run():
        watch_module.watch(stop)
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        time.sleep(1)
        (root / "new.md").write_bytes(b"by a program\n")
        until = time.monotonic() + 15
        while time.monotonic() < until and not File.objects.filter(path="/memories/new.md", revision=1).exists():
            time.sleep(0.1)
    finally:
        stop.set()
        thread.join(20)
    assert Revision.objects.get(path="/memories/new.md").actor_kind == "disk"
